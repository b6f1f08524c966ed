/* pair_batch.c - many keys at once: while one block of keys is worked on, the lines of the
 * next block are on their way from memory.
 */
#include "filter/pair_key.h"

enum {
	AHEAD = 32, /* keys in a block */
};

/* The hashes come from here. */
struct source {
	const struct twice_key_hash *hashes; /* these, or */
	const struct twice_key_bytes *keys;  /* these with */
	const struct twice_seed *seed;
};

static inline struct twice_key_hash
source_hash(const struct source *from, size_t i)
{
	if (from->hashes)
		return from->hashes[i];
	return twice_key_hash_of(from->seed, from->keys[i].p, from->keys[i].n);
}

static inline size_t
block_fetch(const struct twice_pair *p, struct spot spots[AHEAD], const struct source *from,
	    size_t at, size_t n, bool to_write)
{
	size_t m = n - at < AHEAD ? n - at : AHEAD;

	for (size_t i = 0; i < m; i++) {
		spots[i] = spot_of(p, source_hash(from, at + i));
		if (to_write)
			prefetch_to_write(spots[i].a.column);
		else
			__builtin_prefetch(spots[i].a.column);
	}
	return m;
}

static void
test_all(const struct twice_pair *p, const struct source *from, enum twice_sight *out, size_t n)
{
	struct view v = view_of(now_at(p));
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n, false);

	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n, false);

		for (size_t i = 0; i < m; i++)
			out[at + i] = test_spot(p, &spots[block][i], &v);
		at += m;
		m = next;
	}
}

static void
record_all(struct twice_pair *p, const struct source *from, enum twice_sight *out, size_t n)
{
	struct tally t = {.stripe = stripe_here(p)};
	struct view v = view_of(now_at(p));
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n, true);

	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n, true);

		for (size_t i = 0; i < m; i++)
			out[at + i] = record_spot(p, &spots[block][i], &v, &t);
		at += m;
		m = next;
	}
	tally_end(p, &t);
}

void
twice_pair_test_batch(const struct twice_pair *p, const struct twice_key_hash *h,
		      enum twice_sight *out, size_t n)
{
	test_all(p, &(struct source){.hashes = h}, out, n);
}

void
twice_pair_record_batch(struct twice_pair *p, const struct twice_key_hash *h, enum twice_sight *out,
			size_t n)
{
	record_all(p, &(struct source){.hashes = h}, out, n);
}

void
twice_pair_test_keys(const struct twice_pair *p, const struct twice_seed *seed,
		     const struct twice_key_bytes *keys, enum twice_sight *out, size_t n)
{
	test_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}

void
twice_pair_record_keys(struct twice_pair *p, const struct twice_seed *seed,
		       const struct twice_key_bytes *keys, enum twice_sight *out, size_t n)
{
	record_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}
