/* siblings.c - sets of eight URLs, found by the URL's hash; each has a list of its variants in the
 * order in which they were stored.
 */
#include "proxy/cache/siblings.h"

#include "filter/hash_equal.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAYS = 8,
	SETS = SIBLINGS_URLS / WAYS,
	STRIPES = 64,
	FIRST_ROOM = 4,
	CROWDED_BITS = 4096,
	ADDED_BITS = 1 << 20,
	USES_MOST = 1 << 20
};

struct sibling {
	struct twice_key_hash variant;
	uint32_t uses;
};

struct url {
	struct twice_key_hash hash;
	struct sibling *list; /* the first stored first; NULL: nobody lives here */
	unsigned n, room;
	unsigned replaced; /* since uses were halved */
	uint64_t at;	   /* when the last one was added, by the stripe's count */
};

struct stripe {
	_Alignas(64) pthread_mutex_t lock;
	uint64_t count;
};

struct siblings {
	struct stripe stripes[STRIPES];
	_Atomic uint64_t crowded[CROWDED_BITS / 64]; /* by the URL's hash; set once */
	/* By the variant's hash, set once: those without are from before the start. Two that share a
	 * bit are taken for one, so that one of them may count only when it is stored again. */
	_Atomic uint64_t added[ADDED_BITS / 64];
	struct url urls[SETS][WAYS];
};

struct siblings *
siblings_create(void)
{
	struct siblings *s = aligned_alloc(64, sizeof *s);
	if (!s)
		abort();
	memset(s, 0, sizeof *s);
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&s->stripes[i].lock, NULL);
	return s;
}

void
siblings_destroy(struct siblings **ps)
{
	struct siblings *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	for (int i = 0; i < SETS; i++)
		for (int w = 0; w < WAYS; w++)
			free(s->urls[i][w].list);
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_destroy(&s->stripes[i].lock);
	free(s);
}

static unsigned
set_of(struct twice_key_hash url)
{
	return (unsigned)(url.lo % SETS);
}

static struct stripe *
stripe_of(struct siblings *s, struct twice_key_hash url)
{
	return &s->stripes[set_of(url) % STRIPES];
}

static _Atomic uint64_t *
crowd_of(struct siblings *s, struct twice_key_hash url)
{
	return &s->crowded[url.hi % CROWDED_BITS / 64];
}

static uint64_t
crowd_bit(struct twice_key_hash url)
{
	return UINT64_C(1) << url.hi % 64;
}

static _Atomic uint64_t *
added_of(struct siblings *s, struct twice_key_hash variant)
{
	return &s->added[variant.lo % ADDED_BITS / 64];
}

static uint64_t
added_bit(struct twice_key_hash variant)
{
	return UINT64_C(1) << variant.lo % 64;
}

/* This must hold of a URL's list. */
static void
check(const struct url *u)
{
	assert(u->n <= u->room && (u->list != NULL) == (u->room > 0));
	assert(u->replaced == 0 || u->n > 0);
}

static struct url *
find(struct siblings *s, struct twice_key_hash url)
{
	struct url *set = s->urls[set_of(url)];
	for (int w = 0; w < WAYS; w++)
		if (set[w].n && key_hash_equal(set[w].hash, url))
			return &set[w];
	return NULL;
}

/* A place for a URL that has none: that of the one with the fewest variants, of several the one to
 * which none was added for longest. */
static struct url *
make_place(struct siblings *s, struct twice_key_hash url)
{
	struct url *set = s->urls[set_of(url)], *least = &set[0];
	for (int w = 1; w < WAYS; w++)
		if (set[w].n < least->n || (set[w].n == least->n && set[w].at < least->at))
			least = &set[w];
	least->hash = url;
	least->n = least->replaced = 0;
	return least;
}

static struct sibling *
find_variant(struct url *u, struct twice_key_hash variant)
{
	for (unsigned i = 0; i < u->n; i++)
		if (key_hash_equal(u->list[i].variant, variant))
			return &u->list[i];
	return NULL;
}

static void
halve_uses(struct url *u, unsigned most)
{
	if (++u->replaced < most)
		return;
	u->replaced = 0;
	for (unsigned i = 0; i < u->n; i++)
		u->list[i].uses /= 2;
}

static struct twice_key_hash
take_least(struct url *u)
{
	unsigned least = 0;
	for (unsigned i = 1; i < u->n; i++)
		if (u->list[i].uses < u->list[least].uses)
			least = i;
	struct twice_key_hash gone = u->list[least].variant;
	u->n--;
	memmove(u->list + least, u->list + least + 1, (u->n - least) * sizeof *u->list);
	return gone;
}

static void
append(struct url *u, struct twice_key_hash variant)
{
	if (u->n == u->room) {
		u->room = u->room ? 2 * u->room : FIRST_ROOM;
		u->list = mem_realloc(u->list, u->room * sizeof *u->list);
	}
	u->list[u->n++] = (struct sibling){.variant = variant};
	check(u);
}

unsigned
siblings_add(struct siblings *s, struct twice_key_hash url, struct twice_key_hash variant,
	     unsigned most, struct twice_key_hash gone[SIBLINGS_GONE])
{
	struct stripe *stripe = stripe_of(s, url);
	unsigned n = 0;
	assert(most > 0);
	pthread_mutex_lock(&stripe->lock);
	struct url *u = find(s, url);
	if (!u)
		u = make_place(s, url);
	u->at = ++stripe->count;
	atomic_fetch_or_explicit(added_of(s, variant), added_bit(variant), memory_order_relaxed);
	struct sibling *known = find_variant(u, variant);
	if (!known) {
		while (u->n >= most && n < SIBLINGS_GONE) {
			gone[n++] = take_least(u);
			halve_uses(u, most);
		}
		append(u, variant);
	}
	if (u->n >= most / 2)
		atomic_fetch_or_explicit(crowd_of(s, url), crowd_bit(url), memory_order_relaxed);
	pthread_mutex_unlock(&stripe->lock);
	return n;
}

unsigned
siblings_use(struct siblings *s, struct twice_key_hash url, struct twice_key_hash variant,
	     unsigned most, struct twice_key_hash gone[SIBLINGS_GONE])
{
	uint64_t added = atomic_load_explicit(added_of(s, variant), memory_order_relaxed);
	uint64_t crowd = atomic_load_explicit(crowd_of(s, url), memory_order_relaxed);
	if (!(added & added_bit(variant)))
		return siblings_add(s, url, variant, most, gone);
	if (!(crowd & crowd_bit(url)))
		return 0;
	struct stripe *stripe = stripe_of(s, url);
	pthread_mutex_lock(&stripe->lock);
	struct url *u = find(s, url);
	struct sibling *known = u ? find_variant(u, variant) : NULL;
	if (known && known->uses < USES_MOST)
		known->uses++;
	pthread_mutex_unlock(&stripe->lock);
	return 0;
}
