/* secret.h - the secret that all nodes of a fleet share, and the keys that are made from it.
 *
 * It is the content of a file of at least SECRET_LEAST bytes, without the ends of lines behind it. HKDF
 * (RFC 5869, SHA-256) makes a key of its own for each purpose, so that none of them tells another.
 *
 * Threads   constant once read.
 * Memory    struct secret is the caller's; secret_forget clears it.
 * Errors    -1 with a sentence that names the way out.
 */
#ifndef FLEET_SECRET_H
#define FLEET_SECRET_H

#include "proxy/base/str.h"

enum { SECRET_LEAST = 32, SECRET_MOST = 4096, SECRET_KEY = 32, SECRET_MAC_TEXT = 64 };

/* The purposes of signatures. */
enum secret_use {
#define SECRET_USE(id, label) SECRET_##id,
#include "proxy/fleet/secret_uses.h"
#undef SECRET_USE
	SECRET_USES
};

struct secret {
	unsigned char root[SECRET_KEY]; /* of which all others are made */
	unsigned char keys[SECRET_USES][SECRET_KEY];
	char fingerprint[17]; /* public: tells one secret from another, and nothing else of it */
};

/* Reads the file. It is refused where it is too short or too long, where it cannot be read, and where every user of
 * the machine may read it. */
int secret_read(struct secret *s, const char *path, char *err, size_t err_bytes);
/* The same of bytes that were read already: -1, they are too few or too many. */
int secret_make(struct secret *s, struct str bytes);
/* The n bytes for the seed of the cache's hashes, at most 4096; the same on every node. */
void secret_seed(const struct secret *s, void *out, size_t n);
/* HMAC-SHA256 of the parts of a text, in hexadecimal digits; no NUL follows. The lengths of the parts count too. */
void secret_sign(const struct secret *s, enum secret_use use, const struct str *parts, unsigned n,
		 char out[SECRET_MAC_TEXT]);
/* Whether that is what secret_sign makes; takes the same time wherever it differs. */
bool secret_is_signed(const struct secret *s, enum secret_use use, const struct str *parts,
		      unsigned n, struct str mac);
void secret_forget(struct secret *s);

#endif
