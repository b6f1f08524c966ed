/* chain.h - Bloom filters in a row, the last one open: how a filter grows.
 *
 * A chain follows its plan: link i holds keys * growth^i keys at the rate
 * fpr * ratio^i. With growth and ratio 1 it is a dynamic filter (dynamic.h),
 * with a tightening ratio a scalable one (scalable.h).
 *
 * Answers   a key is there when any link has it; it is added to the last link
 *           only when none has.
 * Lifetime  dynamic_create or scalable_create / chain_destroy.
 * Threads   one writer at a time.
 * Errors    when memory is out, the last link takes the keys beyond its plan:
 *           no key is lost, and chain_fpr tells the price.
 */
#ifndef FILTER_CHAIN_H
#define FILTER_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/seal.h"

#define CHAIN_GROWTH_MOST 16

struct chain;

struct chain_plan {
	uint64_t keys;	 /* of the first link */
	double fpr;	 /* of the first link */
	double ratio;	 /* of a link's rate to the one before: at most 1 */
	uint64_t growth; /* of a link's keys to the one before: at least 1 */
};

/* NULL for an impossible plan or when memory is out. */
struct chain *chain_create(const struct chain_plan *plan);
void chain_destroy(struct chain **c);

bool chain_add(struct chain *c, struct key_hash h);
bool chain_has(const struct chain *c, struct key_hash h);

uint64_t chain_count(const struct chain *c);
size_t chain_memory(const struct chain *c);
size_t chain_links(const struct chain *c);

/* For a caller with a bound on memory: what a new chain will take, and what the next new key
 * will add to it (0 while the open link has room). */
size_t chain_first_bytes(const struct chain_plan *plan);
size_t chain_next_bytes(const struct chain *c);

/* The chance that an absent key is found: at this fill, and with all links full. */
double chain_fpr(const struct chain *c);
double chain_fpr_full(const struct chain *c);

/* Share of ones in all links. */
double chain_fill(const struct chain *c);

/* into gets the other's keys: rows that fit together are OR-ed, the rest is appended.
 * -1 when their plans differ, when growth is not 1 (the rates of a scalable chain hang
 * on the order of its links), or when memory is out; then into holds a part of the keys. */
int chain_merge(struct chain *into, const struct chain *other);

int chain_save(const struct chain *c, const struct seal_sink *to);
struct chain *chain_load(struct seal_source *from);

#endif
