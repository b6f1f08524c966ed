#include "filter/family/retouched.h"

#include <stdlib.h>

#include "filter/family/grid.h"
#include "filter/mix.h"

#define COUNT_WIDTH 16

struct retouched {
	struct grid bits;
	struct packed kept;    /* per bit: keys added that hold it */
	struct packed trouble; /* per bit: troublesome keys that hold it */
	uint64_t row;
};

struct retouched *
retouched_create(const struct probe *shape, uint64_t seed)
{
	struct retouched *r = calloc(1, sizeof(*r));
	if (r &&
	    (grid_init(&r->bits, shape, 1) || packed_init(&r->kept, shape->range, COUNT_WIDTH) ||
	     packed_init(&r->trouble, shape->range, COUNT_WIDTH)))
		retouched_destroy(&r);
	else if (r)
		r->row = seed;
	return r;
}

void
retouched_destroy(struct retouched **r)
{
	if (*r) {
		grid_fini(&(*r)->bits);
		packed_fini(&(*r)->kept);
		packed_fini(&(*r)->trouble);
	}
	free(*r);
	*r = NULL;
}

/* One more in each of the key's counts. */
static void
note(const struct retouched *r, struct packed *counts, struct key_hash h)
{
	uint64_t place[PROBE_MOST];
	unsigned n = probe_distinct(&r->bits.probe, h, place);
	for (unsigned i = 0; i < n; i++) {
		uint64_t x = packed_get(counts, place[i]);
		if (x < packed_top(counts))
			packed_set(counts, place[i], x + 1);
	}
}

bool
retouched_add(struct retouched *r, struct key_hash h)
{
	uint64_t place[PROBE_MOST];
	bool was = retouched_has(r, h);
	probe_places(&r->bits.probe, h, place);
	for (unsigned i = 0; i < r->bits.probe.n; i++)
		grid_put(&r->bits, place[i], 1);
	note(r, &r->kept, h);
	r->bits.keys += !was;
	return was;
}

bool
retouched_has(const struct retouched *r, struct key_hash h)
{
	return grid_least(&r->bits, h);
}

void
retouched_trouble(struct retouched *r, struct key_hash h)
{
	note(r, &r->trouble, h);
}

/* Is clearing bit a better than clearing bit b, by this rule? */
static bool
better(const struct retouched *r, enum retouched_rule rule, uint64_t a, uint64_t b)
{
	uint64_t kept_a = packed_get(&r->kept, a), kept_b = packed_get(&r->kept, b);
	uint64_t trouble_a = packed_get(&r->trouble, a), trouble_b = packed_get(&r->trouble, b);
	switch (rule) {
	case RETOUCHED_FEWEST_FALSE_NEGATIVES:
		return kept_a < kept_b;
	case RETOUCHED_MOST_FALSE_POSITIVES:
		return trouble_a > trouble_b;
	default: /* kept/trouble, multiplied out: trouble may be 0 */
		return kept_a * trouble_b < kept_b * trouble_a;
	}
}

static uint64_t
choose(struct retouched *r, enum retouched_rule rule, struct key_hash h)
{
	uint64_t place[PROBE_MOST];
	unsigned n = probe_distinct(&r->bits.probe, h, place);
	if (rule == RETOUCHED_RANDOM)
		return place[mix_range(mix_next(&r->row), n)];
	uint64_t best = place[0];
	for (unsigned i = 1; i < n; i++)
		if (better(r, rule, place[i], best))
			best = place[i];
	return best;
}

bool
retouched_clear(struct retouched *r, struct key_hash h, enum retouched_rule rule)
{
	if (!retouched_has(r, h))
		return false;
	uint64_t at = choose(r, rule, h);
	grid_put(&r->bits, at, 0);
	packed_set(&r->kept, at, 0);
	packed_set(&r->trouble, at, 0);
	return true;
}

uint64_t
retouched_count(const struct retouched *r)
{
	return r->bits.keys;
}

size_t
retouched_memory(const struct retouched *r)
{
	return sizeof(*r) + grid_memory(&r->bits) +
	       2 * (size_t)packed_bytes(r->kept.n, COUNT_WIDTH);
}

double
retouched_fpr(const struct retouched *r)
{
	return grid_fpr(&r->bits);
}

const char *
retouched_word(enum retouched_rule rule)
{
	static const char *const words[] = {
#define X(name, word) [RETOUCHED_##name] = word,
		RETOUCHED_RULES(X)
#undef X
	};
	return rule < RETOUCHED_RULE_COUNT ? words[rule] : "unknown";
}

int
retouched_save(const struct retouched *r, const struct seal_sink *to)
{
	static const uint64_t none[SEAL_PARAMS];
	if (grid_save(&r->bits, to, SEAL_RETOUCHED, (uint64_t[GRID_OWN]){r->row}) ||
	    packed_save(&r->kept, to, SEAL_RETOUCHED, none))
		return -1;
	return packed_save(&r->trouble, to, SEAL_RETOUCHED, none);
}

static int
load_counts(const struct retouched *r, struct packed *counts, struct seal_source *from)
{
	struct seal_head head;
	if (seal_open(from, SEAL_RETOUCHED, &head) || packed_load(counts, from, &head))
		return -1;
	if (counts->n != r->bits.probe.range || counts->width != COUNT_WIDTH)
		return seal_refuse(from, SEAL_ABSURD);
	return 0;
}

static int
load(struct retouched *r, struct seal_source *from)
{
	uint64_t own[GRID_OWN];
	if (grid_load(&r->bits, from, SEAL_RETOUCHED, 1, own) || load_counts(r, &r->kept, from) ||
	    load_counts(r, &r->trouble, from))
		return -1;
	r->row = own[0];
	return 0;
}

struct retouched *
retouched_load(struct seal_source *from)
{
	struct retouched *r = seal_room(from, sizeof(*r));
	if (r && load(r, from))
		retouched_destroy(&r);
	return r;
}
