/* blocked.c - lines of eight words, a key in two of them; sized by the exact model in
 * sizing.h. Of two threads that add the same key the one is new whose own OR set the
 * missing bits of the last word that needed any: see pair.c.
 */
#include "filter/family/blocked.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "filter/pattern.h"
#include "filter/sizing.h"

enum { WORDS = 8, WORD_BITS = 64, LINE_BYTES = 64 };

struct line {
	alignas(LINE_BYTES) _Atomic uint64_t word[WORDS];
};

struct twice_blocked {
	struct line *lines; /* owned */
	uint64_t line_count;
	uint64_t keys; /* created for */
	double fpr;
	struct twice_sizing_plan plan;
	uint64_t pattern[PATTERNS];
	alignas(LINE_BYTES) _Atomic uint64_t count;
};

struct spot {
	_Atomic uint64_t *word[2]; /* lower one first */
	uint64_t bits[2];
};

static inline uint64_t
line_of(const struct twice_blocked *b, struct twice_key_hash h)
{
	return (uint64_t)((unsigned __int128)h.hi * b->line_count >> 64);
}

/* hi picks the line; lo the bits (25 each) and, with the other 14, a pair of words. */
static inline struct spot
spot_of(const struct twice_blocked *b, struct twice_key_hash h)
{
	static const unsigned char pairs[28][2] = {
		{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}, {1, 2}, {1, 3}, {1, 4},
		{1, 5}, {1, 6}, {1, 7}, {2, 3}, {2, 4}, {2, 5}, {2, 6}, {2, 7}, {3, 4}, {3, 5},
		{3, 6}, {3, 7}, {4, 5}, {4, 6}, {4, 7}, {5, 6}, {5, 7}, {6, 7},
	};
	const unsigned char *two = pairs[(h.lo >> 2 * PATTERN_HASH) * 28 >> 14];
	_Atomic uint64_t *word = b->lines[line_of(b, h)].word;

	return (struct spot){
		.word = {word + two[0], word + two[1]},
		.bits = {pattern_bits(b->pattern, WORD_BITS, h.lo),
			 pattern_bits(b->pattern, WORD_BITS, h.lo >> PATTERN_HASH)},
	};
}

struct twice_blocked *
twice_blocked_create(uint64_t keys, double fpr)
{
	struct twice_sizing_plan plan;

	if (!twice_sizing_plan_lines(&plan, WORDS, WORD_BITS, 1, keys, fpr))
		return NULL;
	struct twice_blocked *b = aligned_alloc(LINE_BYTES, sizeof(*b));
	struct line *lines = b ? aligned_alloc(LINE_BYTES, plan.lines * LINE_BYTES) : NULL;
	if (!lines) {
		free(b);
		return NULL;
	}
	memset((void *)lines, 0, plan.lines * LINE_BYTES);
	memset((void *)b, 0, sizeof(*b));
	b->lines = lines;
	b->line_count = plan.lines;
	b->keys = keys;
	b->fpr = fpr;
	b->plan = plan;
	twice_pattern_fill(b->pattern, WORD_BITS, plan.line.per_word);
	return b;
}

void
twice_blocked_destroy(struct twice_blocked **b)
{
	if (!*b)
		return;
	free((*b)->lines);
	free(*b);
	*b = NULL;
}

bool
twice_blocked_add(struct twice_blocked *b, struct twice_key_hash h)
{
	struct spot s = spot_of(b, h);
	bool missing[2], was_there = true;

	for (unsigned i = 0; i < 2; i++)
		missing[i] = s.bits[i] & ~atomic_load_explicit(s.word[i], memory_order_acquire);
	for (unsigned i = 0; i < 2; i++)
		if (missing[i])
			was_there = !(s.bits[i] & ~atomic_fetch_or(s.word[i], s.bits[i]));
	if (!was_there)
		atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
	return was_there;
}

bool
twice_blocked_has(const struct twice_blocked *b, struct twice_key_hash h)
{
	struct spot s = spot_of(b, h);

	return !((s.bits[0] & ~atomic_load_explicit(s.word[0], memory_order_acquire)) |
		 (s.bits[1] & ~atomic_load_explicit(s.word[1], memory_order_acquire)));
}

void
twice_blocked_prefetch(const struct twice_blocked *b, struct twice_key_hash h)
{
	__builtin_prefetch(&b->lines[line_of(b, h)]);
}

uint64_t
twice_blocked_count(const struct twice_blocked *b)
{
	return atomic_load_explicit(&b->count, memory_order_relaxed);
}

static inline _Atomic uint64_t *
word_at(const struct twice_blocked *b, uint64_t i)
{
	return &b->lines[i / WORDS].word[i % WORDS];
}

uint64_t
twice_blocked_ones(const struct twice_blocked *b)
{
	uint64_t ones = 0;

	for (uint64_t i = 0; i < b->line_count * WORDS; i++)
		ones += (unsigned)__builtin_popcountll(atomic_load(word_at(b, i)));
	return ones;
}

size_t
twice_blocked_memory(const struct twice_blocked *b)
{
	return sizeof(*b) + b->line_count * LINE_BYTES;
}

static double
keys_per_line(const struct twice_blocked *b)
{
	double bits = (double)(b->line_count * LINE_BYTES * 8);

	return twice_sizing_line_keys(&b->plan.line, (double)twice_blocked_ones(b) / bits);
}

double
twice_blocked_fpr(const struct twice_blocked *b)
{
	return twice_sizing_line_fpr(&b->plan.line, keys_per_line(b));
}

double
twice_blocked_estimate(const struct twice_blocked *b)
{
	return keys_per_line(b) * (double)b->line_count;
}

int
twice_blocked_union(struct twice_blocked *into, const struct twice_blocked *other)
{
	if (into->keys != other->keys || into->fpr != other->fpr)
		return -1;
	for (uint64_t i = 0; i < into->line_count * WORDS; i++)
		atomic_fetch_or(word_at(into, i), atomic_load(word_at(other, i)));

	double keys = twice_blocked_estimate(into);
	atomic_store(&into->count, keys < 0x1p63 ? (uint64_t)keys : UINT64_MAX);
	return 0;
}

int
twice_blocked_save(const struct twice_blocked *b, const struct twice_snapshot_sink *to)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {b->keys, twice_snapshot_from_double(b->fpr),
						  twice_blocked_count(b)};

	return twice_snapshot_write(to, TWICE_SNAPSHOT_BLOCKED, params, b->lines,
				    b->line_count * LINE_BYTES);
}

struct twice_blocked *
twice_blocked_load(struct twice_snapshot_source *from)
{
	struct twice_snapshot_head head;

	if (twice_snapshot_open(from, TWICE_SNAPSHOT_BLOCKED, &head) != 0)
		return NULL;
	struct twice_sizing_plan plan;
	uint64_t keys = head.params[0];
	double fpr = twice_snapshot_to_double(head.params[1]);
	if (!twice_sizing_plan_lines(&plan, WORDS, WORD_BITS, 1, keys, fpr) ||
	    plan.lines * LINE_BYTES != head.payload_bytes) {
		twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
		return NULL;
	}
	struct twice_blocked *b = twice_blocked_create(keys, fpr);
	if (!b) {
		twice_snapshot_refuse(from, TWICE_SNAPSHOT_NO_MEMORY);
		return NULL;
	}
	if (twice_snapshot_take(from, &head, b->lines) != 0)
		twice_blocked_destroy(&b);
	else
		atomic_store(&b->count, head.params[2]);
	return b;
}
