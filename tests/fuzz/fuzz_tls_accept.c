/* fuzz_tls_accept.c - bytes that a client sends to a TLS listener, from the first on.
 * rooms: wire base
 *
 * The first byte says in what pieces they come. No handshake of such bytes may succeed, nothing is
 * kept of them beyond its bounds, and what is freed is freed.
 */
#include "proxy/wire/tls.h"
#include "proxy/wire/tls_server.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
on_problem(void *ctx, unsigned of, const char *text)
{
	(void)ctx, (void)of;
	fprintf(stderr, "%s\n", text);
	abort();
}

/* A certificate that signs itself, in memory. */
static int
certificate(void)
{
	int fd = memfd_create("pem", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400L * 365);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)"a.example", -1, -1, 0);
	X509_set_pubkey(x, key);
	if (!X509_sign(x, key, EVP_sha256()) || !PEM_write_X509(f, x) ||
	    !PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) || fclose(f))
		abort();
	X509_free(x);
	EVP_PKEY_free(key);
	return fd;
}

static struct tls_server *
server(void)
{
	static struct tls_server *s;
	static char path[64];
	static char *const paths[] = {path};
	if (s)
		return s;
	snprintf(path, sizeof path, "/proc/self/fd/%d", certificate());
	struct tls_problems problems = {.tell = on_problem};
	const struct tls_server_options o = {.certs = {.paths = paths, .path_count = 1},
					     .ticket_period_s = 100,
					     .handshakes = 10};
	s = tls_server_create(&o, &problems);
	return s;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct tls_desk desk;
	int pair[2];
	if (n == 0 || n > 60000)
		return 0;
	if (!desk.raw)
		tls_desk_init(&desk);
	struct tls_certs *certs = tls_server_certs(server());
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		abort();
	struct tls *t = tls_create(&desk, certs, pair[0]);
	tls_certs_unref(&certs);
	size_t piece = data[0] ? data[0] : n;
	enum tls_step step = TLS_WAITS;
	for (size_t at = 1; at < n && step == TLS_WAITS; at += piece) {
		size_t k = n - at < piece ? n - at : piece;
		if (send(pair[1], data + at, k, MSG_NOSIGNAL) != (ssize_t)k)
			abort();
		step = tls_accept(t);
	}
	if (step == TLS_DONE || tls_unsent(t) > TLS_UNSENT_MOST)
		abort();
	tls_say_end(t);
	tls_destroy(&t);
	if (desk.raw_of)
		abort();
	close(pair[0]);
	close(pair[1]);
	return 0;
}
