/* tls_cert.h - one certificate with its chain and key: found among files, and judged.
 *
 * Memory    a cert shares what it takes from the files by OpenSSL's counts.
 */
#ifndef WIRE_TLS_CERT_H
#define WIRE_TLS_CERT_H

#include "proxy/wire/tls_pem.h"

/* Servers have one of each for a name, and clients take what they know. */
enum tls_kind { TLS_RSA, TLS_ECDSA, TLS_EDDSA, TLS_KINDS };

struct tls_cert {
	X509 *leaf;
	STACK_OF(X509) * chain; /* behind the leaf */
	EVP_PKEY *key;
	enum tls_kind kind;
	char **names; /* plain (tls_name.h); of a star: "*.example.com" */
	unsigned name_count;
	int64_t from, until; /* unix times */
	bool shown;	     /* it answers for a name, and no better one does */
	char *path;
	unsigned of;
};

struct tls_cert_list {
	struct tls_cert *v;
	size_t n;
};

/* Each certificate that has its key, in the order of the files; what has none is told. */
void
tls_cert_match(const struct tls_pem *p, struct tls_cert_list *out, struct tls_problems *problems);
void tls_cert_list_drop(struct tls_cert_list *l, size_t i);
void tls_cert_list_fini(struct tls_cert_list *l);

/* Whether it is valid at this time. */
bool tls_cert_is_valid(const struct tls_cert *c, int64_t now_s);
/* Warns why it is not. */
void tls_cert_warn_time(const struct tls_cert *c, int64_t now_s, struct tls_problems *problems);
/* Whether it has this plain name, itself or by a star. */
bool tls_cert_covers(const struct tls_cert *c, const char *name);

#endif
