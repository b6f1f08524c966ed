/* forget_table.h - when was the thing with this hash forgotten? Exact, and bounded by its owner.
 *
 * Threads   any; a lock per shard. drop and list may run beside everything else.
 * Memory    32 bytes an entry, at most 3/4 full: 43 to 86 bytes each.
 */
#ifndef CACHE_FORGET_TABLE_H
#define CACHE_FORGET_TABLE_H

#include "proxy/cache/purge_log.h"

struct forget_table;

void forget_table_create(struct forget_table **out);
void forget_table_destroy(struct forget_table **t);

/* The latest entry of the hash. Its time, or 0: there is none. */
uint64_t
forget_table_find(struct forget_table *t, struct twice_key_hash hash, struct purge_entry *out);
/* Enters e over an older time of the hash. lasting: it is in the purge log as well, for good. */
void forget_table_put(struct forget_table *t, const struct purge_entry *e, bool lasting);
/* Drops all entries up to a time; passing ones (not lasting) up to a later one. */
void forget_table_drop(struct forget_table *t, uint64_t lasting_up_to, uint64_t passing_up_to);
/* The lasting (or the passing) entries, in no order; the caller frees the list. */
size_t forget_table_list(struct forget_table *t, bool lasting, struct purge_entry **list);
/* How many entries there are of each sort. */
void forget_table_count(const struct forget_table *t, uint64_t *lasting, uint64_t *passing);

#endif
