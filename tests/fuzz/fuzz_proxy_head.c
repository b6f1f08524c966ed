/* fuzz_proxy_head.c - the head of the PROXY protocol, from anybody who is taken for a forwarder.
 * rooms: wire
 *
 * What is said of a head does not change with how many of its bytes came at once, nor with what
 * follows it; nothing is read behind the input.
 */
#include "proxy/wire/proxy_head.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static enum proxy_head_step
read_copy(const unsigned char *data, size_t n, struct proxy_head *h)
{
	char *copy = malloc(n + !n);
	if (n)
		memcpy(copy, data, n);
	memset(h, 0, sizeof *h);
	enum proxy_head_step step = proxy_head_read((struct str){copy, n}, h);
	free(copy);
	return step;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct proxy_head whole, part;
	n = n < 600 ? n : 600;
	enum proxy_head_step step = read_copy(data, n, &whole);
	size_t end = step == PROXY_HEAD_DONE ? whole.bytes : n;
	if (end > n || end > PROXY_HEAD_MOST)
		abort();
	int family = whole.client.ss_family;
	bool known = step == PROXY_HEAD_DONE && whole.who == PROXY_HEAD_CLIENT;
	if (known ? family != AF_INET && family != AF_INET6 : family != 0)
		abort();
	for (size_t k = 0; k < end; k++) {
		enum proxy_head_step early = read_copy(data, k, &part);
		if (early == PROXY_HEAD_DONE ||
		    (early == PROXY_HEAD_BROKEN && step != PROXY_HEAD_BROKEN))
			abort();
	}
	if (step == PROXY_HEAD_DONE && (read_copy(data, end, &part) != PROXY_HEAD_DONE ||
					memcmp(&whole, &part, sizeof whole) != 0))
		abort();
	return 0;
}
