/* fuzz_tls_pem.c - a file that is said to hold certificates, and the set that becomes of it.
 * rooms: wire base
 *
 * The input is the file; if it begins with a plus sign, a certificate and its key come before the
 * rest. Either there is a set, or it was told why not.
 */
#include "proxy/wire/tls_certs.h"

#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { NOW = 1800000000 };

static void
on_problem(void *ctx, unsigned of, const char *text)
{
	(void)ctx;
	if (of > 1 || !*text)
		abort();
}

/* A certificate that signs itself, and its key, in PEM. */
static void
write_good(int fd)
{
	static char *text;
	static size_t bytes;
	if (!text) {
		FILE *f = open_memstream(&text, &bytes);
		EVP_PKEY *key = EVP_EC_gen("P-256");
		X509 *x = X509_new();
		ASN1_TIME_set(X509_getm_notBefore(x), NOW - 60);
		ASN1_TIME_set(X509_getm_notAfter(x), NOW + 60);
		X509_set_pubkey(x, key);
		if (!X509_sign(x, key, EVP_sha256()) || !PEM_write_X509(f, x) ||
		    !PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) || fclose(f))
			abort();
		X509_free(x);
		EVP_PKEY_free(key);
	}
	if (write(fd, text, bytes) != (ssize_t)bytes)
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char path[64];
	char *const paths[] = {path};
	int fd = memfd_create("pem", MFD_CLOEXEC);
	bool plus = n && data[0] == '+';
	if (fd >= 0 && plus)
		write_good(fd);
	data += plus;
	n -= plus;
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct tls_problems problems = {.tell = on_problem};
	struct tls_certs_options o = {
		.paths = paths, .path_count = 1, .client_ca = path, .now_s = NOW};
	struct tls_certs *s = tls_certs_load(&o, &problems);
	if (!s != (problems.told > 0))
		abort();
	if (plus && n == 0 && !s)
		abort();
	if (s && !tls_certs_find(s, "a.example"))
		abort();
	tls_certs_unref(&s);
	/* A start makes a set of whatever is left, be it empty. */
	o.client_ca = NULL;
	o.lenient = true;
	s = tls_certs_load(&o, &problems);
	if (!s || !tls_certs_find(s, "a.example") || (plus && n == 0 && !tls_certs_count(s)))
		abort();
	tls_certs_unref(&s);
	close(fd);
	return 0;
}
