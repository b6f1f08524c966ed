/* retouched.h - a Bloom filter from which known false positives are cleared, at a chosen price.
 *
 * [Donnet, Baynat, Friedman: Retouched Bloom Filters: Allowing Networked
 * Applications to Trade Off Selected False Positives Against False Negatives,
 * CoNEXT 2006.] Clearing one bit of a troublesome key rids us of it, of every
 * false positive that shares the bit, and of some keys that are truly in.
 * Which of the key's bits goes is the rule:
 *
 *	random        any one bit OF THE KEY. (A widely used implementation clears
 *	              any bit of the filter, which need not be the key's at all.)
 *	fewest-false-negatives   the bit that the fewest keys hold
 *	most-false-positives     the bit that the most troublesome keys share
 *	best-ratio    fewest keys held per troublesome key cleared
 *
 * The selective rules need counts: of keys added and of troublesome keys told
 * about, per bit. That is 33 bits of memory for each bit of filter, where
 * it is prepared; only the filter itself is sent out.
 *
 * Threads   one writer at a time.
 * Errors    create: NULL. Counts stop at 65535. No merge: cleared bits of one
 *           would return from the other.
 */
#ifndef TWICE_RETOUCHED_H
#define TWICE_RETOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/probe.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define TWICE_RETOUCHED_RULES(X)                                 \
	X(RANDOM,                 "random")                \
	X(FEWEST_FALSE_NEGATIVES, "fewest-false-negatives")\
	X(MOST_FALSE_POSITIVES,   "most-false-positives")  \
	X(BEST_RATIO,             "best-ratio")
/* clang-format on */

enum twice_retouched_rule {
#define X(name, word) TWICE_RETOUCHED_##name,
	TWICE_RETOUCHED_RULES(X)
#undef X
		TWICE_RETOUCHED_RULE_COUNT
};

struct twice_retouched;

/* seed: where the random rule's draws begin. */
struct twice_retouched *twice_retouched_create(const struct twice_probe *shape, uint64_t seed);
void twice_retouched_destroy(struct twice_retouched **r);

/* Adds the key; says whether it was (or seemed to be) there. */
bool twice_retouched_add(struct twice_retouched *r, struct twice_key_hash h);
bool twice_retouched_has(const struct twice_retouched *r, struct twice_key_hash h);

/* Notes a key that is not in and does harm when found; call for all of them, then clear each. */
void twice_retouched_trouble(struct twice_retouched *r, struct twice_key_hash h);

/* Clears one bit of the key; says whether it had to: false when it was not found anyway. */
bool twice_retouched_clear(struct twice_retouched *r, struct twice_key_hash h,
			   enum twice_retouched_rule rule);

uint64_t twice_retouched_count(const struct twice_retouched *r); /* adds that answered "new" */
size_t twice_retouched_memory(const struct twice_retouched *r);
double twice_retouched_fpr(const struct twice_retouched *r);
const char *twice_retouched_word(enum twice_retouched_rule rule);

/* The filter alone, without the counts that it was prepared with: a 33rd of the bytes, restored
 * by twice_bloom_load, and asked by twice_bloom_has. It can be cleared no further. */
int
twice_retouched_save_bits(const struct twice_retouched *r, const struct twice_snapshot_sink *to);

/* The filter with its counts, to be prepared further elsewhere. */
int twice_retouched_save(const struct twice_retouched *r, const struct twice_snapshot_sink *to);
struct twice_retouched *twice_retouched_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
