/* forget_table.h - when was the thing with this hash forgotten? Exact, and bounded by its owner.
 *
 * Threads   any; a lock per shard. drop and list may run beside everything else.
 * Memory    40 bytes an entry, at most 3/4 full: 54 to 107 bytes each.
 */
#ifndef CACHE_FORGET_TABLE_H
#define CACHE_FORGET_TABLE_H

#include "proxy/cache/forget/purge_log.h"

struct forget_table;

void forget_table_create(struct forget_table **out);
void forget_table_destroy(struct forget_table **t);

/* The latest entry of the hash. Its time, or 0: there is none. */
uint64_t
forget_table_find(struct forget_table *t, struct twice_key_hash hash, struct purge_entry *out);
/* Those of a class are counted and dropped together. */
enum forget_class {
	FORGET_CLASS_PASSING, /* for fetches under way; not in the purge log */
	FORGET_CLASS_UNORDERED,
	FORGET_CLASS_ORDERED,
	FORGET_CLASSES
};
/* Enters e over an older time of the hash. host: of a URL or a prefix, 32 bits of its host's hash; 0:
 * unknown. lasting: it is in the purge log as well, for good. Of one hash that was ordered once and
 * comes again otherwise, the later time counts, and it stays ordered. */
void
forget_table_put(struct forget_table *t, const struct purge_entry *e, uint32_t host, bool lasting);
/* Drops all entries of each class up to a time of its own. */
void forget_table_drop(struct forget_table *t, const uint64_t up_to[FORGET_CLASSES]);
/* The same of the ordered URLs and prefixes of some hosts, which it sorts. */
void forget_table_drop_hosts(struct forget_table *t, uint64_t up_to, uint32_t *hosts, size_t n);
/* The entries of a class, in no order; the caller frees the list. */
size_t
forget_table_list(struct forget_table *t, enum forget_class class, struct purge_entry **list);
/* The ordered URLs and prefixes whose host is known and whose time is not later, sorted by host; the caller
 * frees the list. */
struct forget_hosted {
	uint64_t at;
	uint32_t host;
	bool is_soft;
};
size_t forget_table_hosted(struct forget_table *t, uint64_t up_to, struct forget_hosted **list);
uint64_t forget_table_count(const struct forget_table *t, enum forget_class class);

#endif
