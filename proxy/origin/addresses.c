/* addresses.c - a small list under a lock. */
#include "proxy/origin/addresses.h"

#include "proxy/base/mem.h"
#include "proxy/base/network.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Those of the newest lookup, and behind them those that only the one before named. */
enum { KNOWN_MOST = 2 * ADDRESSES_MOST };

struct known {
	struct ip ip;
	int64_t last_until_ms; /* it comes last until then; 0: it does not */
};

struct addresses {
	_Atomic unsigned users, edition;
	char *name;
	pthread_mutex_t lock; /* the rest */
	unsigned turn, count, named;
	struct known *of; /* the first `named` may get new connections */
};

/* These must hold between any two calls. */
static void
check(const struct addresses *a)
{
	assert(a->named <= ADDRESSES_MOST && a->named <= a->count && a->count <= KNOWN_MOST);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct addresses *
addresses_create(const char *name)
{
	struct addresses *a = NEW(struct addresses);
	atomic_init(&a->users, 1);
	a->name = mem_strdup(name);
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

struct addresses *
addresses_ref(struct addresses *a)
{
	atomic_fetch_add_explicit(&a->users, 1, memory_order_relaxed);
	return a;
}

void
addresses_destroy(struct addresses **pa)
{
	struct addresses *a = *pa;
	*pa = NULL;
	if (!a || atomic_fetch_sub_explicit(&a->users, 1, memory_order_acq_rel) > 1)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a->of);
	free(a->name);
	free(a);
}

bool
addresses_is_shared(const struct addresses *a)
{
	return atomic_load_explicit(&a->users, memory_order_acquire) > 1;
}

const char *
addresses_name(const struct addresses *a)
{
	return a->name;
}

unsigned
addresses_edition(const struct addresses *a)
{
	return atomic_load_explicit(&a->edition, memory_order_relaxed);
}

void
addresses_print(const struct ip *ip, char out[ADDRESS_HOST_BYTES])
{
	bool v4 = network_is_v4(ip->bytes);
	address_print_host(v4 ? AF_INET : AF_INET6, ip->bytes + (v4 ? 12 : 0), out);
}

/* ---- what lookups say ------------------------------------------------------------------------ */

static bool
is_ip(const struct ip *a, const struct ip *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* The one of v; NULL: it is not there. */
static const struct known *
find(const struct known *v, unsigned n, const struct ip *ip)
{
	for (unsigned i = 0; i < n; i++)
		if (is_ip(&v[i].ip, ip))
			return &v[i];
	return NULL;
}

/* Those of v, each once, with what is known of them. */
static unsigned
take_named(const struct addresses *a, const struct ip *v, unsigned n, struct known *out)
{
	unsigned count = 0;
	for (unsigned i = 0; i < n && count < ADDRESSES_MOST; i++) {
		const struct known *was = find(a->of, a->count, &v[i]);
		if (!find(out, count, &v[i]))
			out[count++] = was ? *was : (struct known){.ip = v[i]};
	}
	return count;
}

/* Adds the addresses that only the lookup before named, behind those of this one. */
static unsigned
take_unnamed(const struct addresses *a, struct known *out, unsigned named)
{
	unsigned count = named;
	for (unsigned i = 0; i < a->named; i++)
		if (!find(out, named, &a->of[i].ip))
			out[count++] = a->of[i];
	return count;
}

static bool
loses_one(const struct addresses *a, const struct known *v, unsigned n)
{
	for (unsigned i = 0; i < a->count; i++)
		if (!find(v, n, &a->of[i].ip))
			return true;
	return false;
}

static enum addresses_news
compare(const struct addresses *a, const struct known *v, unsigned n)
{
	unsigned known = 0;
	for (unsigned i = 0; i < n; i++)
		known += find(a->of, a->named, &v[i].ip) != NULL;
	return known == n ? ADDRESSES_SAME : known ? ADDRESSES_OTHER : ADDRESSES_MOVED;
}

enum addresses_news
addresses_found(struct addresses *a, const struct ip *v, unsigned n)
{
	struct known fresh[KNOWN_MOST];
	assert(n > 0);
	pthread_mutex_lock(&a->lock);
	unsigned named = take_named(a, v, n, fresh);
	enum addresses_news news = compare(a, fresh, named);
	unsigned count = take_unnamed(a, fresh, named);
	bool lost = loses_one(a, fresh, count);
	a->of = mem_realloc(a->of, count * sizeof *a->of);
	memcpy(a->of, fresh, count * sizeof *a->of);
	a->count = count;
	a->named = named;
	check(a);
	pthread_mutex_unlock(&a->lock);
	if (lost)
		atomic_fetch_add_explicit(&a->edition, 1, memory_order_relaxed);
	return news;
}

unsigned
addresses_list(struct addresses *a, struct ip *out, unsigned most)
{
	pthread_mutex_lock(&a->lock);
	unsigned n = a->named;
	for (unsigned i = 0; i < n && i < most; i++)
		out[i] = a->of[i].ip;
	pthread_mutex_unlock(&a->lock);
	return n;
}

/* ---- what connections do --------------------------------------------------------------------- */

/* Adds those of one family that come last, or those that do not, beginning with the one whose turn
 * it is. */
static unsigned
add_family(const struct addresses *a, bool v4, bool last, int64_t now_ms, struct ip *out,
	   unsigned n)
{
	for (unsigned i = 0; i < a->named && n < ADDRESSES_TRIED; i++) {
		const struct known *k = &a->of[(a->turn + i) % a->named];
		if (network_is_v4(k->ip.bytes) == v4 && (k->last_until_ms > now_ms) == last)
			out[n++] = k->ip;
	}
	return n;
}

/* Its time is over: this connection finds out, and others do not wait with it. */
static void
begin_trial(struct addresses *a, const struct ip *first, int64_t now_ms)
{
	struct known *k = (struct known *)(uintptr_t)find(a->of, a->named, first);
	if (k && k->last_until_ms && k->last_until_ms <= now_ms)
		k->last_until_ms = now_ms + ADDRESSES_HOLD_MS;
}

unsigned
addresses_order(struct addresses *a, struct ip out[ADDRESSES_TRIED], int64_t now_ms)
{
	unsigned n = 0;
	pthread_mutex_lock(&a->lock);
	bool v4 = a->named && network_is_v4(a->of[0].ip.bytes);
	for (int last = 0; last < 2; last++) {
		n = add_family(a, v4, last, now_ms, out, n);
		n = add_family(a, !v4, last, now_ms, out, n);
	}
	assert(n == (a->named < ADDRESSES_TRIED ? a->named : ADDRESSES_TRIED));
	if (n)
		begin_trial(a, &out[0], now_ms);
	a->turn++;
	pthread_mutex_unlock(&a->lock);
	return n;
}

void
addresses_tell(struct addresses *a, const struct ip *of, unsigned n, unsigned answered,
	       int64_t now_ms)
{
	unsigned silent = answered < n ? answered : n ? 1 : 0;
	pthread_mutex_lock(&a->lock);
	for (unsigned i = 0; i < a->named; i++) {
		struct known *k = &a->of[i];
		for (unsigned j = 0; j < silent; j++)
			if (is_ip(&k->ip, &of[j]))
				k->last_until_ms = now_ms + ADDRESSES_HOLD_MS;
		if (answered < n && is_ip(&k->ip, &of[answered]))
			k->last_until_ms = 0;
	}
	pthread_mutex_unlock(&a->lock);
}

bool
addresses_is_known(struct addresses *a)
{
	pthread_mutex_lock(&a->lock);
	bool known = a->named > 0;
	pthread_mutex_unlock(&a->lock);
	return known;
}

bool
addresses_has(struct addresses *a, const struct ip *ip)
{
	pthread_mutex_lock(&a->lock);
	bool has = find(a->of, a->count, ip) != NULL;
	pthread_mutex_unlock(&a->lock);
	return has;
}
