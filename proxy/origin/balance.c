/* balance.c - the four rules. */
#include "proxy/origin/balance.h"

#include <assert.h>
#include <math.h>

static int
first(const struct balance_server *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (v[i].may)
			return (int)i;
	return BALANCE_NONE;
}

/* Of those that may, all weights together. */
static uint64_t
total_weight(const struct balance_server *v, unsigned n)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += v[i].may ? v[i].weight : 0;
	return sum;
}

/* ---- least ----------------------------------------------------------------------------------- */

/* With one more request a would be less loaded than b. */
static bool
is_freer(const struct balance_server *a, const struct balance_server *b)
{
	return ((uint64_t)a->active + 1) * b->weight < ((uint64_t)b->active + 1) * a->weight;
}

/* The search begins at another server each time, so that equals take turns. */
static int
least(const struct balance_server *v, unsigned n, uint64_t turn)
{
	int best = BALANCE_NONE;
	for (unsigned k = 0; k < n; k++) {
		unsigned i = (unsigned)((turn + k) % n);
		if (v[i].may && (best < 0 || is_freer(&v[i], &v[best])))
			best = (int)i;
	}
	return best;
}

/* ---- round robin ----------------------------------------------------------------------------- */

/* How many of the first `place` turns of a round belong to a server, at least: its part, of a
 * round of `total` turns, up to half a turn of each server before that place. */
static uint64_t
turns_before(uint64_t weight, uint64_t place, uint64_t total, unsigned n)
{
	return 2 * place < n ? 0 : (weight * (2 * place - n) + total) / (2 * total);
}

/* A round has as many turns as all weights together. Turn k of a server of weight w is due at
 * (2k + 1) / 2w of the round (the method of Sainte-Lague), so turns of one server are far apart. The
 * count begins close before this turn, at most n turns. */
static int
round_robin(const struct balance_server *v, unsigned n, uint64_t turn)
{
	uint64_t total = total_weight(v, n), place, given = 0;
	uint64_t had[BALANCE_MOST];
	int next = BALANCE_NONE;
	if (!total)
		return BALANCE_NONE;
	place = turn % total;
	for (unsigned i = 0; i < n; i++)
		if (v[i].may)
			given += had[i] = turns_before(v[i].weight, place, total, n);
	for (; given <= place; given++) {
		next = BALANCE_NONE;
		for (unsigned i = 0; i < n; i++)
			if (v[i].may && (next < 0 || (2 * had[i] + 1) * v[next].weight <
							     (2 * had[next] + 1) * v[i].weight))
				next = (int)i;
		assert(next >= 0); /* total is not 0: somebody may be asked */
		had[next]++;
	}
	return next;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* MurmurHash3's last step: all bits of the sum matter for all of the result. */
static uint64_t
mixed(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* The server with the highest score has the key; each is it in proportion to its weight. */
static double
score(const struct balance_server *s, uint64_t key)
{
	double evenly = ((double)(mixed(mixed(key) ^ s->name) >> 11) + 0.5) / 9007199254740992.0;
	return -(double)s->weight / log(evenly);
}

/* Not above 1.25 times its part of all that is under way, this request included; rounded up, so
 * one of them has room always. */
static bool
has_room(const struct balance_server *s, uint64_t active, uint64_t weights)
{
	uint64_t most = (5 * (active + 1) * s->weight + 4 * weights - 1) / (4 * weights);
	return s->active < most;
}

static int
by_hash(const struct balance_server *v, unsigned n, uint64_t key)
{
	uint64_t weights = total_weight(v, n), active = 0;
	double best_score = 0;
	int best = BALANCE_NONE;
	for (unsigned i = 0; i < n; i++)
		active += v[i].may ? v[i].active : 0;
	for (unsigned i = 0; i < n; i++) {
		if (!v[i].may || !has_room(&v[i], active, weights))
			continue;
		double s = score(&v[i], key);
		if (best < 0 || s > best_score) {
			best = (int)i;
			best_score = s;
		}
	}
	return best;
}

int
balance_pick(enum balance how, const struct balance_server *v, unsigned n, uint64_t turn,
	     uint64_t key)
{
	switch (how) {
	case BALANCE_LEAST:
		return least(v, n, turn);
	case BALANCE_ROUND_ROBIN:
		return round_robin(v, n, turn);
	case BALANCE_HASH:
		return by_hash(v, n, key);
	case BALANCE_ORDER:
		break;
	}
	return first(v, n);
}
