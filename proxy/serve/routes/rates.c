/* rates.c - a count-min sketch whose counters are times: raised, never lowered, and forgotten by
 * the clock alone. */
#include "proxy/serve/routes/rates.h"

#include "proxy/base/mem.h"
#include "proxy/base/network.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { PLACES = 4, ROW_BITS = 19, ROW = 1 << ROW_BITS, TIERS = 4 };

static const int64_t second_ns = 1000000000;

/* Each of a client's places is in a row of its own, so that they are never the same cell. */
struct tier {
	_Atomic int64_t cells[PLACES][ROW];
};

struct rates {
	uint64_t seed; /* clients choose their addresses */
	struct tier *_Atomic tiers[TIERS];
};

/* ---- the table ------------------------------------------------------------------------------- */

struct rates *
rates_create(void)
{
	struct rates *r = NEW(struct rates);
	if (getrandom(&r->seed, sizeof r->seed, 0) != (ssize_t)sizeof r->seed)
		r->seed = (uintptr_t)r; /* an old kernel without entropy: better than a constant */
	return r;
}

void
rates_destroy(struct rates **rp)
{
	struct rates *r = *rp;
	*rp = NULL;
	for (unsigned i = 0; r && i < TIERS; i++)
		free(atomic_load_explicit(&r->tiers[i], memory_order_relaxed));
	free(r);
}

/* By how long a burst takes to come back: to 16 s, to 4 minutes, to an hour, longer. */
static struct tier *
tier_of(struct rates *r, const struct rate_rule *rule)
{
	unsigned i = 0;
	for (int64_t most = 16 * second_ns; i + 1 < TIERS && rule->burst_ns > most; most *= 16)
		i++;
	struct tier *t = atomic_load_explicit(&r->tiers[i], memory_order_acquire);
	if (t)
		return t;
	struct tier *made = NEW(struct tier);
	if (atomic_compare_exchange_strong(&r->tiers[i], &t, made))
		return made;
	free(made); /* another worker was first: t is its */
	return t;
}

/* The cells of one client by one rule. */
struct account {
	const struct rate_rule *rule;
	_Atomic int64_t *cells[PLACES];
};

/* The steps from the 64 bits of an IPv6 client to its cell in a row: all clients of a network of that length
 * are brought down to so many numbers, which the next step scatters. One who owns a whole network has no more
 * cells than that, and those lie anywhere. 29 bits are what a registry gives to a provider that asks. */
static const struct step {
	unsigned length, number_bits;
} steps[] = {{64, 14}, {48, 16}, {32, 17}, {29, ROW_BITS}};

struct place {
	unsigned char network[16];
	uint64_t rule, row, number;
};

static uint64_t
scatter(const struct rates *r, const struct place *p, unsigned bits)
{
	return XXH3_64bits_withSeed(p, sizeof *p, r->seed) >> (64 - bits);
}

static uint64_t
cell_of(const struct rates *r, const unsigned char client[16], uint64_t rule, unsigned row)
{
	struct place p = {.rule = rule, .row = row};
	memcpy(p.network, client, 16);
	if (network_is_v4(client))
		return scatter(r, &p, ROW_BITS);
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		network_cut(p.network, steps[i].length);
		p.number = scatter(r, &p, steps[i].number_bits);
	}
	return p.number;
}

static void
open_account(struct rates *r, const struct rate_rule *rule, const unsigned char client[16],
	     struct account *a)
{
	struct tier *t = tier_of(r, rule);
	a->rule = rule;
	for (unsigned i = 0; i < PLACES; i++)
		a->cells[i] = &t->cells[i][cell_of(r, client, rule->id, i)];
}

/* The first cell is read before all others: see charge. */
static struct rate_verdict
look(const struct account *a, int64_t now_ns, int64_t *first)
{
	int64_t least = *first = atomic_load_explicit(a->cells[0], memory_order_acquire);
	for (unsigned i = 1; i < PLACES; i++) {
		int64_t one = atomic_load_explicit(a->cells[i], memory_order_relaxed);
		least = one < least ? one : least;
	}
	return rate_decide(a->rule, least, now_ns);
}

static void
raise_to(_Atomic int64_t *cell, int64_t to)
{
	int64_t is = atomic_load_explicit(cell, memory_order_relaxed);
	while (is < to && !atomic_compare_exchange_weak_explicit(
				  cell, &is, to, memory_order_relaxed, memory_order_relaxed))
		;
}

/* The first cell commits. It is read first, written last and changed by each charge, so two that began with the same
 * state cannot both succeed, and who reads what one wrote there finds the others raised. */
static int64_t
charge(const struct account *a, int64_t now_ns)
{
	for (;;) {
		int64_t first;
		struct rate_verdict v = look(a, now_ns, &first);
		if (v.wait_ns)
			return v.wait_ns;
		for (unsigned i = 1; i < PLACES; i++)
			raise_to(a->cells[i], v.until_ns);
		int64_t next = first < v.until_ns ? v.until_ns : first + 1;
		if (atomic_compare_exchange_strong_explicit(
			    a->cells[0], &first, next, memory_order_release, memory_order_relaxed))
			return 0;
	}
}

int64_t
rates_take(struct rates *r, const struct rate_rules *rules, bool hits, struct str client,
	   int64_t now_ns)
{
	struct account accounts[RATE_RULES_MOST];
	unsigned char address[16];
	unsigned n = 0;
	int64_t wait = 0, first;
	assert(rules->count <= RATE_RULES_MOST);
	network_client(client, address);
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->of[i].hits == hits)
			open_account(r, &rules->of[i], address, &accounts[n++]);
	for (unsigned i = 0; i < n; i++) {
		int64_t one = look(&accounts[i], now_ns, &first).wait_ns;
		wait = one > wait ? one : wait;
	}
	for (unsigned i = 0; i < n && !wait; i++)
		wait = charge(&accounts[i], now_ns);
	return wait;
}
