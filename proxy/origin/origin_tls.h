/* origin_tls.h - what TLS to an origin needs beside its address: the authorities to trust, and the
 * certificate that is shown to an origin that asks for one. Read once, from files in PEM form.
 *
 * Threads   constant once open; shared by all workers.
 * Memory    origin_tls_close frees what was read.
 */
#ifndef ORIGIN_ORIGIN_TLS_H
#define ORIGIN_ORIGIN_TLS_H

#include "proxy/origin/origin.h"

#include <openssl/ssl.h>
#include <sys/stat.h>
#include <time.h>

struct origin_file { /* as it was when it was read */
	char *path;  /* NULL: there is none */
	struct timespec changed;
	ino_t inode;
	off_t bytes;
};

struct origin_tls {
	struct origin_file ca, cert, key;
	X509_STORE *trust; /* CA certificates; NULL: nothing is verified */
	X509 *own;	   /* NULL: none is shown */
	STACK_OF(X509) * chain;
	EVP_PKEY *own_key;
};

/* t: zeroed. -1: *setting is the option that is wrong ("key_file"), err a sentence; t is to be
 * closed in any case. */
int origin_tls_open(struct origin_tls *t, const struct origin_options *o, const char **setting,
		    char *err, size_t err_bytes);
/* No connection is safe from here on, whatever was read. */
void origin_tls_trust_none(struct origin_tls *t);
/* Whether these options would read the same files, none of which was changed since. */
bool origin_tls_is(const struct origin_tls *t, const struct origin_options *o);
/* Puts all of it in the context of one connection, which takes references. */
void origin_tls_use(const struct origin_tls *t, SSL_CTX *ctx);
void origin_tls_close(struct origin_tls *t);

#endif
