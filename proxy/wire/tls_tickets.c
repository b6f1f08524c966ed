/* tls_tickets.c - a few keys, each of a period. */
#include "proxy/wire/tls_tickets.h"

#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/base/mem.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, SECRET_MOST = 4096 };

struct slot {
	int64_t period;
	bool used;  /* it has a key, for opening */
	bool makes; /* and tickets are made with it */
	struct tls_ticket_key key;
};

struct tls_tickets {
	pthread_mutex_t lock;
	int64_t period_s;
	struct slot slots[SLOTS]; /* under lock, as all that follows; slots[0]: the newest */
	unsigned char secret[SECRET_MOST];
	size_t secret_bytes;
};

struct tls_tickets *
tls_tickets_create(int64_t period_s)
{
	struct tls_tickets *t = NEW(struct tls_tickets);
	pthread_mutex_init(&t->lock, NULL);
	t->period_s = period_s;
	return t;
}

void
tls_tickets_destroy(struct tls_tickets **tp)
{
	struct tls_tickets *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	OPENSSL_cleanse(t, sizeof *t);
	free(t);
}

int64_t
tls_tickets_period(const struct tls_tickets *t)
{
	return t->period_s;
}

void
tls_tickets_set_secret(struct tls_tickets *t, struct str secret)
{
	size_t n = secret.n < SECRET_MOST ? secret.n : SECRET_MOST;
	pthread_mutex_lock(&t->lock);
	if (n != t->secret_bytes || (n && memcmp(t->secret, secret.p, n) != 0)) {
		OPENSSL_cleanse(t->secret, sizeof t->secret);
		if (n)
			memcpy(t->secret, secret.p, n);
		t->secret_bytes = n;
		/* Keys made so far still open tickets, and make no more. */
		for (int i = 0; i < SLOTS; i++)
			t->slots[i].makes = false;
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* HMAC-SHA256(secret, "twice ticket" period part), for each 32 bytes. */
static bool
derive(const struct tls_tickets *t, int64_t period, struct tls_ticket_key *out)
{
	unsigned char text[32] = "twice ticket", mac[EVP_MAX_MD_SIZE];
	unsigned char *to[] = {out->name, out->cipher, out->mac};
	const size_t bytes[] = {sizeof out->name, sizeof out->cipher, sizeof out->mac};
	for (int i = 0; i < 8; i++)
		text[16 + i] = (unsigned char)((uint64_t)period >> (56 - 8 * i));
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = 0;
		text[24] = (unsigned char)i;
		if (!HMAC(EVP_sha256(), t->secret, (int)t->secret_bytes, text, sizeof text, mac,
			  &n))
			return false;
		memcpy(to[i], mac, bytes[i]);
	}
	OPENSSL_cleanse(mac, sizeof mac);
	return true;
}

static bool
make(const struct tls_tickets *t, int64_t period, struct tls_ticket_key *out)
{
	return t->secret_bytes ? derive(t, period, out)
			       : RAND_bytes((unsigned char *)out, sizeof *out) == 1;
}

/* The slot that makes tickets in this period; NULL: no randomness. */
static struct slot *
slot_of(struct tls_tickets *t, int64_t period)
{
	struct slot fresh = {.period = period, .used = true, .makes = true};
	for (int i = 0; i < SLOTS; i++)
		if (t->slots[i].makes && t->slots[i].period == period)
			return &t->slots[i];
	if (!make(t, period, &fresh.key))
		return NULL;
	memmove(t->slots + 1, t->slots, (SLOTS - 1) * sizeof *t->slots);
	t->slots[0] = fresh;
	return &t->slots[0];
}

bool
tls_tickets_key(struct tls_tickets *t, int64_t now_s, struct tls_ticket_key *out)
{
	pthread_mutex_lock(&t->lock);
	const struct slot *s = slot_of(t, now_s / t->period_s);
	if (s)
		*out = s->key;
	pthread_mutex_unlock(&t->lock);
	return s != NULL;
}

/* Nodes of a fleet are asked with tickets of the others: their keys are known before they made any
 * of their own. */
static void
make_all(struct tls_tickets *t, int64_t period)
{
	for (int64_t p = period - 1; t->secret_bytes && p <= period + 1; p++)
		slot_of(t, p);
}

bool
tls_tickets_find(struct tls_tickets *t, const unsigned char name[16], int64_t now_s,
		 struct tls_ticket_key *out, bool *is_old)
{
	int64_t period = now_s / t->period_s;
	bool found = false;
	pthread_mutex_lock(&t->lock);
	make_all(t, period);
	for (int i = 0; i < SLOTS && !found; i++) {
		const struct slot *s = &t->slots[i];
		bool good = s->used && s->period >= period - 1 && s->period <= period + 1;
		if (!good || memcmp(s->key.name, name, sizeof s->key.name) != 0)
			continue;
		*out = s->key;
		*is_old = s->period < period || !s->makes;
		found = true;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

/* ---- another process ----------------------------------------------------------------------- */

/* u64 seconds of a period; then of each key u64 period, u64 1 if tickets are made with it, and the key. */
enum { SAVED_KEY = 8 + 8 + sizeof(struct tls_ticket_key) };

void
tls_tickets_save(struct tls_tickets *t, struct buf *out)
{
	char number[8];
	pthread_mutex_lock(&t->lock);
	le_put64(number, (uint64_t)t->period_s);
	buf_add(out, number, sizeof number);
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *s = &t->slots[i];
		if (!s->used)
			continue;
		le_put64(number, (uint64_t)s->period);
		buf_add(out, number, sizeof number);
		le_put64(number, s->makes);
		buf_add(out, number, sizeof number);
		buf_add(out, (const char *)&s->key, sizeof s->key);
	}
	pthread_mutex_unlock(&t->lock);
}

bool
tls_tickets_load(struct tls_tickets *t, struct str bytes)
{
	size_t n = bytes.n >= 8 ? (bytes.n - 8) / SAVED_KEY : 0;
	if (bytes.n < 8 || (bytes.n - 8) % SAVED_KEY != 0 || n > SLOTS ||
	    (int64_t)le_get64(bytes.p) != t->period_s)
		return false;
	pthread_mutex_lock(&t->lock);
	for (size_t i = n; i-- > 0;) { /* the newest comes first, here and there */
		const char *p = bytes.p + 8 + i * SAVED_KEY;
		struct slot s = {.period = (int64_t)le_get64(p), .used = true};
		/* With a secret they are derived, and both processes know them. */
		s.makes = le_get64(p + 8) == 1 && t->secret_bytes == 0;
		memcpy(&s.key, p + 16, sizeof s.key);
		memmove(t->slots + 1, t->slots, (SLOTS - 1) * sizeof *t->slots);
		t->slots[0] = s;
	}
	pthread_mutex_unlock(&t->lock);
	return true;
}
