/* chain.h - Bloom filters in a row, the last one open: how a filter grows.
 *
 * A chain follows its plan: link i holds keys * growth^i keys at the rate
 * fpr * ratio^i. With growth and ratio 1 it is a dynamic filter (dynamic.h),
 * with a tightening ratio a scalable one (scalable.h).
 *
 * Answers   a key is there when any link has it; it is added to the last link
 *           only when none has.
 * Lifetime  twice_dynamic_create or twice_scalable_create / twice_chain_destroy.
 * Threads   one writer at a time.
 * Errors    when memory is out, the last link takes the keys beyond its plan:
 *           no key is lost, and twice_chain_fpr tells the price.
 */
#ifndef TWICE_CHAIN_H
#define TWICE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TWICE_CHAIN_GROWTH_MOST 16

struct twice_chain;

struct twice_chain_plan {
	uint64_t keys;	 /* of the first link */
	double fpr;	 /* of the first link */
	double ratio;	 /* of a link's rate to the one before: at most 1 */
	uint64_t growth; /* of a link's keys to the one before: at least 1 */
};

/* NULL for an impossible plan or when memory is out. */
struct twice_chain *twice_chain_create(const struct twice_chain_plan *plan);
void twice_chain_destroy(struct twice_chain **c);

bool twice_chain_add(struct twice_chain *c, struct twice_key_hash h);
bool twice_chain_has(const struct twice_chain *c, struct twice_key_hash h);

uint64_t twice_chain_count(const struct twice_chain *c);
size_t twice_chain_memory(const struct twice_chain *c);
size_t twice_chain_links(const struct twice_chain *c);

/* For a caller with a bound on memory: what a new chain will take, and what the next new key
 * will add to it (0 while the open link has room). */
size_t twice_chain_first_bytes(const struct twice_chain_plan *plan);
size_t twice_chain_next_bytes(const struct twice_chain *c);

/* The chance that an absent key is found: at this fill, and with all links full. */
double twice_chain_fpr(const struct twice_chain *c);
double twice_chain_fpr_full(const struct twice_chain *c);

/* Share of ones in all links. */
double twice_chain_fill(const struct twice_chain *c);

/* into gets the other's keys: rows that fit together are OR-ed, the rest is appended.
 * -1 when their plans differ, when growth is not 1 (the rates of a scalable chain hang
 * on the order of its links), or when memory is out; then into holds a part of the keys. */
int twice_chain_merge(struct twice_chain *into, const struct twice_chain *other);

int twice_chain_save(const struct twice_chain *c, const struct twice_snapshot_sink *to);
struct twice_chain *twice_chain_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
