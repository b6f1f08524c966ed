/* purges.h - the purges of a log, by which a request learns that its URL was purged since it was asked for
 * last.
 *
 * Memory    the last 64 Ki URLs, and 256 prefixes and hosts; of more, the oldest are forgotten.
 */
#ifndef SIMULATE_PURGES_H
#define SIMULATE_PURGES_H

#include "proxy/base/buf.h"

#include <stdbool.h>

struct purges;
struct purges *purges_create(void);
void purges_destroy(struct purges **p);

void purges_add_url(struct purges *p, uint64_t url, bool soft);
/* All URLs that begin so ("http://host/path"). */
void purges_add_prefix(struct purges *p, struct str prefix, bool soft);
/* A host as it stands in keys, whatever the scheme. */
void purges_add_host(struct purges *p, struct str host, bool soft);

/* The numbers, from 1 on, of the last purge of each kind that covers the URL; 0: none does. */
struct purged {
	uint32_t gone, stale;
};
struct purged purges_find(const struct purges *p, uint64_t url, struct str key);

/* Of these, a URL has heard so far; times: of hard ones, so often. */
struct heard {
	uint32_t gone, stale, times;
};
/* True: it was purged since it heard last. softly: it was so softly, and not hard. */
bool purges_tell(struct heard *h, struct purged now, bool *softly);

#endif
