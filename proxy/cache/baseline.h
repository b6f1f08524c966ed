/* baseline.h - what the same requests would have written to a disk cache of the same size that
 * admits at first sight, with the same eviction and the same freshness rules (DESIGN 3).
 *
 * A ghost of the log: it runs the real ledger over sizes instead of bytes. Up to about a million
 * objects it is exact; beyond, it keeps a sample of keys chosen by hash (SHARDS: Waldspurger et
 * al., FAST 2015) with the disk scaled by the same share.
 *
 * Threads   any.
 */
#ifndef CACHE_BASELINE_H
#define CACHE_BASELINE_H

#include "filter/hash.h"
#include "filter/short.h"

#include <stdbool.h>
#include <stdint.h>

struct baseline;

struct baseline_options {
	uint64_t disk_bytes;	/* as the cache's; 0: no disk, and nothing to compare with */
	uint64_t segment_bytes; /* 0, or as the cache's */
	uint64_t reserve_bytes;
	uint64_t max_object_bytes;
	uint32_t max_entries; /* 0: 1 Mi */
};
int baseline_create(struct baseline **out, const struct baseline_options *o);
void baseline_destroy(struct baseline **b);

struct baseline_request {
	struct key_hash hash;
	uint64_t record_bytes; /* cache_record_bytes of the object answered with */
	int64_t fresh_until;   /* unix seconds: response_time - initial_age + lifetime */
	bool validated; /* the origin answered 304: a copy that the ghost holds is good again */
	int64_t now;
};
enum baseline_answer {
	BASELINE_UNKNOWN, /* not in the sample */
	BASELINE_MISS,	  /* it would have fetched and written this */
	BASELINE_HIT	  /* it would have answered */
};
/* A request for a storable object was answered (hit or fetched): what would the baseline have done?
 */
enum baseline_answer baseline_request(struct baseline *b, const struct baseline_request *r);
void baseline_remove(struct baseline *b, struct key_hash hash);

struct baseline_stats {
	uint64_t written_bytes, hits, misses; /* scaled up from the sample */
	double sample_share;
	uint64_t entries, memory_bytes;
};
void baseline_stats(struct baseline *b, struct baseline_stats *out);
/* Weight of one sampled request (1 when exact): what a BASELINE_HIT on our miss counts as. */
double baseline_weight(const struct baseline *b);

#endif
