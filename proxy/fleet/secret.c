/* secret.c - HKDF and HMAC by OpenSSL. */
#include "proxy/fleet/secret.h"

#include "proxy/base/le.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>

enum { SEED_MOST = 4096 };

/* ---- keys ---------------------------------------------------------------------------------- */

/* The parameters only name what is read. */
static OSSL_PARAM
bytes_param(const char *key, const void *p, size_t n)
{
	return OSSL_PARAM_construct_octet_string(key, (void *)(uintptr_t)p, n);
}

static void
hkdf(int mode, struct str key, const char *label, void *out, size_t n)
{
	static char digest[] = "SHA256";
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		bytes_param(OSSL_KDF_PARAM_KEY, key.p, key.n),
		bytes_param(mode == EVP_KDF_HKDF_MODE_EXTRACT_ONLY ? OSSL_KDF_PARAM_SALT
								   : OSSL_KDF_PARAM_INFO,
			    label, strlen(label)),
		OSSL_PARAM_construct_end(),
	};
	bool made = ctx && EVP_KDF_derive(ctx, out, n, params) == 1;
	assert(made);
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
}

static void
expand(const struct secret *s, const char *label, void *out, size_t n)
{
	hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, (struct str){(const char *)s->root, sizeof s->root},
	     label, out, n);
}

static void
put_hex(char *to, const unsigned char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		to[2 * i] = digits[p[i] >> 4];
		to[2 * i + 1] = digits[p[i] & 15];
	}
}

int
secret_make(struct secret *s, struct str bytes)
{
	static const char *const labels[] = {
#define SECRET_USE(id, label) label,
#include "proxy/fleet/secret_uses.h"
#undef SECRET_USE
	};
	unsigned char print[8];
	while (bytes.n && (bytes.p[bytes.n - 1] == '\n' || bytes.p[bytes.n - 1] == '\r'))
		bytes.n--;
	if (bytes.n < SECRET_LEAST || bytes.n > SECRET_MOST)
		return -1;
	*s = (struct secret){0};
	hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, bytes, "twice fleet 1", s->root, sizeof s->root);
	for (unsigned i = 0; i < SECRET_USES; i++)
		expand(s, labels[i], s->keys[i], sizeof s->keys[i]);
	expand(s, "twice fleet fingerprint 1", print, sizeof print);
	put_hex(s->fingerprint, print, sizeof print);
	return 0;
}

void
secret_seed(const struct secret *s, void *out, size_t n)
{
	assert(n <= SEED_MOST);
	expand(s, "twice fleet cache seed 1", out, n);
}

void
secret_forget(struct secret *s)
{
	OPENSSL_cleanse(s, sizeof *s);
}

/* ---- signatures ---------------------------------------------------------------------------- */

/* A thread's own, which knows the digest already, and the last key: to make one costs more than a signature, and to
 * tell it a key half of one. */
struct signer {
	EVP_MAC_CTX *ctx;
	unsigned char key[SECRET_KEY];
	bool keyed, begins_anew;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t kept;

static void
free_kept(void *p)
{
	struct signer *s = p;
	EVP_MAC_CTX_free(s->ctx);
	OPENSSL_cleanse(s, sizeof *s);
	free(s);
}

static void
make_key(void)
{
	int failed = pthread_key_create(&kept, free_kept);
	assert(!failed);
	(void)failed;
}

/* Begun without a key: with the last one. There are versions of OpenSSL 3.0 in which it goes on instead. */
static bool
begins_anew(EVP_MAC_CTX *ctx)
{
	static const unsigned char key[SECRET_KEY];
	unsigned char macs[2][SECRET_KEY];
	size_t made;
	bool fine = true;
	for (int i = 0; i < 2 && fine; i++)
		fine = EVP_MAC_init(ctx, i ? NULL : key, i ? 0 : sizeof key, NULL) == 1 &&
		       EVP_MAC_update(ctx, key, sizeof key) == 1 &&
		       EVP_MAC_final(ctx, macs[i], &made, SECRET_KEY) == 1;
	return fine && memcmp(macs[0], macs[1], SECRET_KEY) == 0;
}

static struct signer *
signer(void)
{
	static char digest[] = "SHA256";
	pthread_once(&once, make_key);
	struct signer *s = pthread_getspecific(kept);
	if (s)
		return s;
	s = NEW(struct signer);
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_end(),
	};
	s->ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
	bool fine = s->ctx && EVP_MAC_CTX_set_params(s->ctx, params) == 1 &&
		    pthread_setspecific(kept, s) == 0;
	assert(fine);
	(void)fine;
	EVP_MAC_free(mac); /* the context has a count of its own */
	s->begins_anew = begins_anew(s->ctx);
	return s;
}

static bool
begin(struct signer *s, const unsigned char key[SECRET_KEY])
{
	if (s->keyed && s->begins_anew && CRYPTO_memcmp(s->key, key, SECRET_KEY) == 0)
		return EVP_MAC_init(s->ctx, NULL, 0, NULL) == 1;
	memcpy(s->key, key, SECRET_KEY);
	s->keyed = EVP_MAC_init(s->ctx, key, SECRET_KEY, NULL) == 1;
	return s->keyed;
}

static void
sign(const struct secret *s, enum secret_use use, const struct str *parts, unsigned n,
     unsigned char out[SECRET_KEY])
{
	struct signer *signs = signer();
	EVP_MAC_CTX *ctx = signs->ctx;
	size_t made = 0;
	bool fine = begin(signs, s->keys[use]);
	for (unsigned i = 0; i < n && fine; i++) {
		char bytes[8];
		le_put64(bytes, parts[i].n);
		fine = EVP_MAC_update(ctx, (unsigned char *)bytes, sizeof bytes) == 1 &&
		       EVP_MAC_update(ctx, (const unsigned char *)parts[i].p, parts[i].n) == 1;
	}
	fine = fine && EVP_MAC_final(ctx, out, &made, SECRET_KEY) == 1;
	assert(fine && made == SECRET_KEY);
}

void
secret_sign(const struct secret *s, enum secret_use use, const struct str *parts, unsigned n,
	    char out[SECRET_MAC_TEXT])
{
	unsigned char mac[SECRET_KEY];
	sign(s, use, parts, n, mac);
	put_hex(out, mac, sizeof mac);
}

bool
secret_is_signed(const struct secret *s, enum secret_use use, const struct str *parts, unsigned n,
		 struct str mac)
{
	char want[SECRET_MAC_TEXT];
	if (mac.n != sizeof want)
		return false;
	secret_sign(s, use, parts, n, want);
	return CRYPTO_memcmp(want, mac.p, sizeof want) == 0;
}
