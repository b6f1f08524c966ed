#include "filter/family/retouched.h"

#include <stdlib.h>

#include "filter/family/counters.h"
#include "filter/mix.h"

#define COUNT_WIDTH 16

struct twice_retouched {
	struct twice_counters bits;
	struct twice_packed kept;    /* per bit: keys added that hold it */
	struct twice_packed trouble; /* per bit: troublesome keys that hold it */
	uint64_t row;
};

struct twice_retouched *
twice_retouched_create(const struct twice_probe *shape, uint64_t seed)
{
	struct twice_retouched *r = calloc(1, sizeof(*r));
	if (r && (twice_counters_init(&r->bits, shape, 1) ||
		  twice_packed_init(&r->kept, shape->range, COUNT_WIDTH) ||
		  twice_packed_init(&r->trouble, shape->range, COUNT_WIDTH)))
		twice_retouched_destroy(&r);
	else if (r)
		r->row = seed;
	return r;
}

void
twice_retouched_destroy(struct twice_retouched **r)
{
	if (*r) {
		twice_counters_fini(&(*r)->bits);
		twice_packed_fini(&(*r)->kept);
		twice_packed_fini(&(*r)->trouble);
	}
	free(*r);
	*r = NULL;
}

/* One more in each of the key's counts. */
static void
note(const struct twice_retouched *r, struct twice_packed *counts, struct twice_key_hash h)
{
	uint64_t place[TWICE_PROBE_MOST];
	unsigned n = twice_probe_distinct(&r->bits.probe, h, place);
	for (unsigned i = 0; i < n; i++) {
		uint64_t x = twice_packed_get(counts, place[i]);
		if (x < twice_packed_top(counts))
			twice_packed_set(counts, place[i], x + 1);
	}
}

bool
twice_retouched_add(struct twice_retouched *r, struct twice_key_hash h)
{
	uint64_t place[TWICE_PROBE_MOST];
	bool was = twice_retouched_has(r, h);
	twice_probe_places(&r->bits.probe, h, place);
	for (unsigned i = 0; i < r->bits.probe.n; i++)
		twice_counters_put(&r->bits, place[i], 1);
	note(r, &r->kept, h);
	r->bits.keys += !was;
	return was;
}

bool
twice_retouched_has(const struct twice_retouched *r, struct twice_key_hash h)
{
	return twice_counters_least(&r->bits, h);
}

void
twice_retouched_trouble(struct twice_retouched *r, struct twice_key_hash h)
{
	note(r, &r->trouble, h);
}

/* Is clearing bit a better than clearing bit b, by this rule? */
static bool
better(const struct twice_retouched *r, enum twice_retouched_rule rule, uint64_t a, uint64_t b)
{
	uint64_t kept_a = twice_packed_get(&r->kept, a), kept_b = twice_packed_get(&r->kept, b);
	uint64_t trouble_a = twice_packed_get(&r->trouble, a),
		 trouble_b = twice_packed_get(&r->trouble, b);
	switch (rule) {
	case TWICE_RETOUCHED_FEWEST_FALSE_NEGATIVES:
		return kept_a < kept_b;
	case TWICE_RETOUCHED_MOST_FALSE_POSITIVES:
		return trouble_a > trouble_b;
	default: /* kept/trouble, multiplied out: trouble may be 0 */
		return kept_a * trouble_b < kept_b * trouble_a;
	}
}

static uint64_t
choose(struct twice_retouched *r, enum twice_retouched_rule rule, struct twice_key_hash h)
{
	uint64_t place[TWICE_PROBE_MOST];
	unsigned n = twice_probe_distinct(&r->bits.probe, h, place);
	if (rule == TWICE_RETOUCHED_RANDOM)
		return place[mix_range(mix_next(&r->row), n)];
	uint64_t best = place[0];
	for (unsigned i = 1; i < n; i++)
		if (better(r, rule, place[i], best))
			best = place[i];
	return best;
}

bool
twice_retouched_clear(struct twice_retouched *r, struct twice_key_hash h,
		      enum twice_retouched_rule rule)
{
	if (rule >= TWICE_RETOUCHED_RULE_COUNT || !twice_retouched_has(r, h))
		return false;
	uint64_t at = choose(r, rule, h);
	twice_counters_put(&r->bits, at, 0);
	twice_packed_set(&r->kept, at, 0);
	twice_packed_set(&r->trouble, at, 0);
	return true;
}

uint64_t
twice_retouched_count(const struct twice_retouched *r)
{
	return r->bits.keys;
}

size_t
twice_retouched_memory(const struct twice_retouched *r)
{
	return sizeof(*r) + twice_counters_memory(&r->bits) +
	       2 * (size_t)twice_packed_bytes(r->kept.n, COUNT_WIDTH);
}

double
twice_retouched_fpr(const struct twice_retouched *r)
{
	return twice_counters_fpr(&r->bits);
}

const char *
twice_retouched_word(enum twice_retouched_rule rule)
{
	static const char *const words[] = {
#define X(name, word) [TWICE_RETOUCHED_##name] = word,
		TWICE_RETOUCHED_RULES(X)
#undef X
	};
	return rule < TWICE_RETOUCHED_RULE_COUNT ? words[rule] : "unknown";
}

int
twice_retouched_save(const struct twice_retouched *r, const struct twice_snapshot_sink *to)
{
	static const uint64_t none[TWICE_SNAPSHOT_PARAMS];
	if (twice_counters_save(&r->bits, to, TWICE_SNAPSHOT_RETOUCHED,
				(uint64_t[TWICE_COUNTERS_OWN]){r->row}) ||
	    twice_packed_save(&r->kept, to, TWICE_SNAPSHOT_RETOUCHED, none))
		return -1;
	return twice_packed_save(&r->trouble, to, TWICE_SNAPSHOT_RETOUCHED, none);
}

int
twice_retouched_save_bits(const struct twice_retouched *r, const struct twice_snapshot_sink *to)
{
	return twice_counters_save(&r->bits, to, TWICE_SNAPSHOT_BLOOM,
				   (uint64_t[TWICE_COUNTERS_OWN]){0});
}

static int
load_counts(const struct twice_retouched *r, struct twice_packed *counts,
	    struct twice_snapshot_source *from)
{
	struct twice_snapshot_head head;
	if (twice_snapshot_open(from, TWICE_SNAPSHOT_RETOUCHED, &head) ||
	    twice_packed_load(counts, from, &head))
		return -1;
	if (counts->n != r->bits.probe.range || counts->width != COUNT_WIDTH)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	return 0;
}

static int
load(struct twice_retouched *r, struct twice_snapshot_source *from)
{
	uint64_t own[TWICE_COUNTERS_OWN];
	if (twice_counters_load(&r->bits, from, TWICE_SNAPSHOT_RETOUCHED, 1, own) ||
	    load_counts(r, &r->kept, from) || load_counts(r, &r->trouble, from))
		return -1;
	r->row = own[0];
	return 0;
}

struct twice_retouched *
twice_retouched_load(struct twice_snapshot_source *from)
{
	struct twice_retouched *r = twice_snapshot_room(from, sizeof(*r));
	if (r && load(r, from))
		twice_retouched_destroy(&r);
	return r;
}
