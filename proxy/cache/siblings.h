/* siblings.h - the variants of one URL (RFC 9111 4.1): how many are kept, and which goes first.
 *
 * Anybody can make variants of a URL whose answers vary on a field with many values: a thousand
 * User-Agents, twice each, would fill RAM and disk with one page. So a URL keeps a number of them.
 * When one more is stored, the least used goes; of several the one stored first. A use is a hit;
 * after as many replacements as there are places all uses count half, so that what was popular once
 * does not stay for good.
 *
 * Uses are counted only for URLs that are crowded, with at least half of their places taken: others
 * cost a look at one bit.
 *
 * Memory    bounded: SIBLINGS_URLS URLs with a list each, 24 bytes a variant. The URL with the
 *           fewest variants of eight is dropped for another: it is the farthest from its bound.
 * Lifetime  nothing of it is on disk, and a footer names no URLs. After a restart a variant from
 *           before counts again when it answers for the first time; those that nobody asks for go
 *           with their segments.
 * Threads   any; a lock per stripe.
 */
#ifndef CACHE_SIBLINGS_H
#define CACHE_SIBLINGS_H

#include "filter/hash.h"

#include <stdbool.h>

enum { SIBLINGS_URLS = 8192, SIBLINGS_GONE = 2 };

struct siblings;

struct siblings *siblings_create(void);
void siblings_destroy(struct siblings **s);

/* A variant of the URL was stored, and at most `most` (1 or more) are kept. gone is set to those
 * that go for it, which are to be removed; returns how many: two where most was lowered. */
unsigned siblings_add(struct siblings *s, struct twice_key_hash url, struct twice_key_hash variant,
		      unsigned most, struct twice_key_hash gone[SIBLINGS_GONE]);
/* The variant answered. One that was not added since siblings_create is added by that: as
 * siblings_add. */
unsigned siblings_use(struct siblings *s, struct twice_key_hash url, struct twice_key_hash variant,
		      unsigned most, struct twice_key_hash gone[SIBLINGS_GONE]);

#endif
