/* pair.h - has this key been seen before? Two Bloom filters that take turns.
 *
 * The current generation learns; the previous one still remembers. Both halves
 * of a key lie in one 64-byte line, so a question costs one access to memory,
 * and rotation is one increment: a line notices later that its halves are stale.
 *
 * Answers   a key recorded in the current or the previous generation is always
 *           seen. One never recorded is seen with probability false_positives at
 *           most, when both generations are full.
 * Units     seconds, handed in: there is no clock here. A clock that is set back leaves every
 *           age as it is; one that is set forward has made everything older.
 * Memory    at most 25.5 bits per key of capacity for both generations at 1%.
 * Threads   any, at any time, without locks. Of several threads that record the
 *           same new key exactly one is told TWICE_SIGHT_FIRST, also while generations
 *           change. Only create, load and destroy need the pair to themselves.
 * Errors    create: -1 with errno; load: a reason in words.
 */
#ifndef TWICE_PAIR_H
#define TWICE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum twice_sight {
	TWICE_SIGHT_FIRST,    /* in neither generation */
	TWICE_SIGHT_CURRENT,  /* in the current one */
	TWICE_SIGHT_PREVIOUS, /* in the previous one only */
};

struct twice_pair;

struct twice_pair_options {
	uint64_t capacity;	 /* distinct keys per generation, 1 to 2^30 */
	double false_positives;	 /* of the pair, both generations full: 1e-6 to 0.5 */
	uint64_t rotate_after_s; /* 0: never by age */
};

/* 0, or -1 with errno EINVAL (options out of range) or ENOMEM; *out only on success. */
int twice_pair_create(struct twice_pair **out, const struct twice_pair_options *o, int64_t now_s);
void twice_pair_destroy(struct twice_pair **p);

/* Looks and changes nothing. */
enum twice_sight twice_pair_test(const struct twice_pair *p, struct twice_key_hash h);

/* Looks, adds the key to the current generation, and says what it was before.
 * Rotates by itself when this key filled the generation: `capacity` new keys, or half
 * of its bits ones. */
enum twice_sight twice_pair_record(struct twice_pair *p, struct twice_key_hash h);

/* Asks for the key's line, to be there when test or record comes some 100 ns later. */
void twice_pair_prefetch(const struct twice_pair *p, struct twice_key_hash h);

/* n keys at once: the same answers as n calls in this order, two to three times faster
 * when the filter is larger than the processor's caches. */
void twice_pair_test_batch(const struct twice_pair *p, const struct twice_key_hash *h,
			   enum twice_sight *out, size_t n);
void twice_pair_record_batch(struct twice_pair *p, const struct twice_key_hash *h,
			     enum twice_sight *out, size_t n);

/* The same from the keys themselves. */
void twice_pair_test_keys(const struct twice_pair *p, const struct twice_seed *seed,
			  const struct twice_key_bytes *keys, enum twice_sight *out, size_t n);
void twice_pair_record_keys(struct twice_pair *p, const struct twice_seed *seed,
			    const struct twice_key_bytes *keys, enum twice_sight *out, size_t n);

/* Call it about once a second: rotates when the generation is older than
 * rotate_after_s, and does a little of the tidying that rotation put off.
 * True if it rotated. */
bool twice_pair_tick(struct twice_pair *p, int64_t now_s);

/* Rotates now. */
void twice_pair_rotate(struct twice_pair *p, int64_t now_s);

/* Rotates, if the current generation is still this one (twice_pair_number) and nothing has to be
 * waited for; else does a part of what it would wait for. True if it rotated: ask again until it
 * did.
 */
bool twice_pair_try_rotate(struct twice_pair *p, uint64_t number);

/* Of the current generation, from 0: twice_pair_stats().number without the rest. */
uint64_t twice_pair_number(const struct twice_pair *p);

struct twice_pair_stats {
	uint64_t number; /* of the current generation, from 0 */
	uint64_t keys;	 /* distinct keys added to the current generation */
	uint64_t capacity;
	uint64_t previous_keys;
	uint64_t recurring_keys; /* of `keys`: known to the previous generation too */
	uint64_t rotations;	 /* since create or load */
	double fill_ratio;	 /* ones in the current generation, 0 to 1 */
	double previous_fill_ratio;
	double estimated_fpr;		   /* of the pair as it is filled now */
	double forecast_fpr;		   /* of the pair with both generations full */
	double distinct_estimate;	   /* keys of the current generation, from its ones; */
	double previous_distinct_estimate; /* a saturated one says infinity */
	double recurring_share;		   /* of current keys, false positives taken out */
	int64_t born_s;			   /* when the current generation began */
	size_t memory_bytes;
	unsigned hashes;     /* bits set per key */
	double bits_per_key; /* memory for both generations / capacity */
};

void twice_pair_stats(const struct twice_pair *p, struct twice_pair_stats *out);

/* ---- snapshot: bytes out, bytes in; files are the caller's ---- */

typedef int twice_pair_write_fn(void *ctx, const void *bytes, size_t n); /* 0, else stop */
typedef size_t twice_pair_read_fn(void *ctx, void *buf, size_t n); /* got; less than n is the end */

size_t twice_pair_snapshot_bytes(const struct twice_pair *p);

/* Streams the pair out in pieces, while others may record: a sighting that races
 * with it is in the snapshot or not. 0, or -1 when write said so. */
int twice_pair_save(const struct twice_pair *p, const struct twice_seed *seed, int64_t now_s,
		    twice_pair_write_fn *write, void *ctx);

/* Reads a snapshot back. NULL and *out set; or why not (a constant sentence) and *out
 * untouched: damaged, cut short, of another seed, capacity or error rate, no memory. */
const char *
twice_pair_load(struct twice_pair **out, const struct twice_pair_options *o,
		const struct twice_seed *seed, int64_t now_s, twice_pair_read_fn *read, void *ctx);

/* The options of the pair that the first TWICE_PAIR_HEAD bytes of a snapshot begin, but for its age; false: they begin
 * none that this program could load with this seed. */
#define TWICE_PAIR_HEAD 64
bool twice_pair_saved_options(const void *head, const struct twice_seed *seed,
			      struct twice_pair_options *out);

/* The key in 64 bits, as far as a pair of these options can tell it from others; and a hash that is the same
 * key to such a pair. So what was recorded since a snapshot can be kept beside it, 8 bytes a key. */
uint64_t twice_pair_pack_key(const struct twice_pair *p, struct twice_key_hash h);
struct twice_key_hash twice_pair_unpack_key(const struct twice_pair *p, uint64_t packed);

#ifdef __cplusplus
}
#endif

#endif
