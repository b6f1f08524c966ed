/* tls_resume.c - what OpenSSL asks when a session is to be kept by a client, or comes back. */
#include "proxy/wire/tls_resume.h"

#include "proxy/base/clock.h"
#include "proxy/wire/tls_tickets.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>

enum { IV_BYTES = 16 };

static int at_context = -1; /* of a struct tls_tickets * in an SSL_CTX */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_index(void)
{
	at_context = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

static int
start(const struct tls_ticket_key *k, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
      int encrypts)
{
	OSSL_PARAM of_mac[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)k->mac,
						  sizeof k->mac),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"sha256"}, 0),
		OSSL_PARAM_construct_end(),
	};
	return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, k->cipher, iv, encrypts) &&
	       EVP_MAC_CTX_set_params(mac, of_mac);
}

/* 1 fine, 2 fine and a new ticket is due, 0 unknown: a full handshake, -1 an error. */
static int
on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
	  EVP_MAC_CTX *mac, int encrypts)
{
	/* The context that the connection began with: another one's callback is not asked. */
	struct tls_tickets *t = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), at_context);
	struct tls_ticket_key key = {0};
	bool is_old = false;
	int result = 0;
	if (encrypts) {
		bool fine = tls_tickets_key(t, now_s(), &key) && RAND_bytes(iv, IV_BYTES) == 1;
		memcpy(name, key.name, sizeof key.name);
		result = fine && start(&key, iv, cipher, mac, 1) ? 1 : -1;
	} else if (tls_tickets_find(t, name, now_s(), &key, &is_old)) {
		/* A ticket of TLS 1.3 is for one use (RFC 8446 C.4): the next one is due. */
		bool renew = is_old || SSL_version(ssl) == TLS1_3_VERSION;
		result = !start(&key, iv, cipher, mac, 0) ? -1 : renew ? 2 : 1;
	}
	OPENSSL_cleanse(&key, sizeof key);
	return result;
}

void
tls_resume_use(struct tls_tickets *t, SSL_CTX *ctx)
{
	pthread_once(&once, make_index);
	SSL_CTX_set_ex_data(ctx, at_context, t);
	SSL_CTX_set_timeout(ctx, (long)tls_tickets_period(t));
	SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket);
}
