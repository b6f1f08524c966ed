/* tls_certs.h - certificates with their keys, matched, judged, and chosen by the name that a client
 * asks for.
 *
 * A set is made whole or not at all, and constant from then on: connections hold it by a count, so
 * that another can take its place while they go on.
 *
 * Threads   any; only the count is written.
 * Errors    each is told in a sentence that names the file.
 */
#ifndef WIRE_TLS_CERTS_H
#define WIRE_TLS_CERTS_H

#include "proxy/wire/tls_pem.h"

#include <openssl/ssl.h>

struct tls_certs;
struct tls_cert;

struct tls_certs_options {
	char *const *paths; /* files and directories */
	unsigned path_count;
	bool self_signed; /* one that is made here, behind those */
	bool lenient; /* what is wrong with some of paths is told, and the others make the set, be it empty */
	const char *client_ca; /* file; NULL: no client is asked for a certificate */
	bool client_required;
	bool only_1_3;
	bool in_kernel; /* the kernel encrypts, where it can (tls_kernel.h) */
	int64_t now_s;	/* unix time that certificates should be valid at */
	/* Each SSL_CTX needs this too: tickets, ALPN. NULL: nothing. */
	void (*prepare)(SSL_CTX *ctx, void *arg);
	void *arg;
};

/* NULL: told why. By an empty set no handshake succeeds. of in what is told: the entry of paths; path_count: client_ca. */
struct tls_certs *tls_certs_load(const struct tls_certs_options *o, struct tls_problems *problems);
struct tls_certs *tls_certs_ref(struct tls_certs *s);
void tls_certs_unref(struct tls_certs **s);
size_t tls_certs_count(const struct tls_certs *s);
/* The n-th that clients are shown, in the order in which they end; NULL: there are no more. */
const struct tls_cert *tls_certs_ending(const struct tls_certs *s, size_t n);

/* The certificates for a plain name (tls_name.h): those that have it, those that have it under a
 * star, or the first of all. Holds as long as the set. */
SSL_CTX *tls_certs_find(const struct tls_certs *s, const char *name);
/* Whether the certificate a connection uses has this plain name. */
bool tls_certs_cover(const struct tls_certs *s, const SSL *ssl, const char *name);

#endif
