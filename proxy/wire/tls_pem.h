/* tls_pem.h - what files and directories hold in PEM form: certificates and private keys, not yet
 * matched.
 *
 * Of a directory every file is read, and those of its directories, as ACME clients lay them out:
 * which key belongs to which certificate is told by what they hold, not by their names. Files
 * without PEM in them are left alone.
 *
 * Errors    each is told in a sentence that names the file; reading goes on behind it.
 * Memory    tls_pem_fini frees what was read.
 */
#ifndef WIRE_TLS_PEM_H
#define WIRE_TLS_PEM_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These hear of what is wrong; of: which entry of the list of files and directories. */
struct tls_problems {
	void (*tell)(void *ctx, unsigned of, const char *text);
	/* Of what is used all the same, and not counted; NULL: nobody hears. */
	void (*warn)(void *ctx, unsigned of, const char *text);
	void *ctx;
	unsigned told;
};
void tls_problems_tell(struct tls_problems *p, unsigned of, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tls_problems_warn(struct tls_problems *p, unsigned of, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct tls_pem_file {
	char *path;
	unsigned of;
	STACK_OF(X509) * certificates; /* in the file's order; may be empty */
	EVP_PKEY *key;		       /* NULL: none */
	bool named;		       /* in the list itself, and not found in a directory */
	uint64_t leaf_id, key_id;      /* equal where key and first certificate belong together */
};

struct tls_pem {
	struct tls_pem_file *v;
	size_t n;
};

/* Adds what path holds, and of a file without a key the key beside it. */
void tls_pem_read(struct tls_pem *p, const char *path, unsigned of, struct tls_problems *problems);
void tls_pem_fini(struct tls_pem *p);

#endif
