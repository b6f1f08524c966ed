/* cascade.h - how often has this key been seen, up to N times? N - 1 rotating pairs (pair.h), each of which holds
 * only keys that the one before had seen.
 *
 *	sighting    1st        2nd            3rd              4th of N = 4
 *	pair 0      adds it    knows it       knows it         knows it
 *	pair 1                 adds it        knows it         knows it
 *	pair 2                                adds it          knows it
 *	times       0          1              2                3: it is admitted
 *
 * Most keys never come back, so all pairs but the first have a quarter of the capacity (sizing.h), and most sightings ask one
 * line of one pair. All turn together: when one of them is full, too old (the first), or is told to.
 *
 * Answers   a key is known for at least the next `capacity` other new ones, unless a quarter of that many that
 *           came back fill a later pair before; times is never too low for it. It is too high by one with
 *           probability false_positives at most.
 * Memory    at 1% about 25.2 bits per key of capacity for the first pair, and 6.3 for each other.
 * Threads   any, without locks, as the pair; only create, load and destroy need it to themselves. Of several
 *           threads that record the same new key, exactly one is told each number of times below N - 1.
 * Errors    create: NULL; load: a reason in words.
 */
#ifndef TWICE_CASCADE_H
#define TWICE_CASCADE_H

#include "filter/family/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_cascade;

/* NULL: the options are out of range (those of the pair, and 2 to 15 sightings), or memory is out. */
struct twice_cascade *twice_cascade_create(const struct twice_filter_options *o, int64_t now_s);
void twice_cascade_destroy(struct twice_cascade **c);

/* times: 0 to N - 1. sight: TWICE_SIGHT_CURRENT where all pairs that know the key have it in their current
 * generation: then, if times is N - 1, recording it changes nothing. */
struct twice_filter_sight
twice_cascade_test(const struct twice_cascade *c, struct twice_key_hash h);
struct twice_filter_sight twice_cascade_record(struct twice_cascade *c, struct twice_key_hash h);
void twice_cascade_prefetch(const struct twice_cascade *c, struct twice_key_hash h);

/* n keys at once: the same answers as n calls in this order, but for a generation that ends meanwhile. */
void twice_cascade_test_batch(const struct twice_cascade *c, const struct twice_key_hash *h,
			      struct twice_filter_sight *out, size_t n);
void twice_cascade_record_batch(struct twice_cascade *c, const struct twice_key_hash *h,
				struct twice_filter_sight *out, size_t n);

/* As of a pair (pair.h). */
void twice_cascade_tick(struct twice_cascade *c, int64_t now_s);
void twice_cascade_rotate(struct twice_cascade *c, int64_t now_s);
bool twice_cascade_try_rotate(struct twice_cascade *c, uint64_t number);
uint64_t twice_cascade_number(const struct twice_cascade *c);

/* Of the first pair, whose keys are all keys; but memory_bytes and bits_per_key of all. */
void twice_cascade_stats(const struct twice_cascade *c, struct twice_pair_stats *out);
/* Keys that the current generations of all pairs hold, together: while it and the number stay, a snapshot would
 * say nothing new. */
uint64_t twice_cascade_keys(const struct twice_cascade *c);

/* The pairs' snapshots, one behind the other. 0, or -1 when write said so. load: NULL and *out set, or why not and
 * *out untouched. */
int twice_cascade_save(const struct twice_cascade *c, const struct twice_seed *seed, int64_t now_s,
		       twice_pair_write_fn *write, void *ctx);
const char *twice_cascade_load(struct twice_cascade **out, const struct twice_filter_options *o,
			       const struct twice_seed *seed, int64_t now_s,
			       twice_pair_read_fn *read, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
