/* fuzz_tls_name.c - the name of a ClientHello, and what a name covers.
 * rooms: wire
 *
 * The input is a server_name extension, and as it stands a host and a certificate's name. A name
 * covers itself; what is plain stays plain; nothing is read behind the input.
 */
#include "proxy/wire/tls_name.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
check_plain(struct str host)
{
	char once[TLS_NAME_BYTES], twice[TLS_NAME_BYTES];
	size_t k = tls_name_plain(host, once);
	if (k == 0)
		return;
	if (k != strlen(once) || strpbrk(once, "ABCDEFGHIJKLMNOPQRSTUVWXYZ/ "))
		abort();
	if (strncmp(once, "*.", 2) != 0 && !tls_name_covers(once, once))
		abort();
	bool bare = !strchr(once, ':') && !strchr(once, '[') && once[k - 1] != '.';
	if (bare && (tls_name_plain(str_of(once), twice) != k || strcmp(once, twice) != 0))
		abort();
	char star[TLS_NAME_BYTES + 2] = "*.";
	strcat(star, once);
	if (tls_name_covers(star, once))
		abort();
	tls_name_is_address(once);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct str name = tls_name_of_hello(data, n);
	if (name.n && (name.p < (const char *)data || name.p + name.n > (const char *)data + n))
		abort();
	check_plain(name);
	check_plain((struct str){(const char *)data, n});
	return 0;
}
