/* bill.h - what a request was, told to the baseline (cache/ghost/baseline.h): so that the report can say
 * what a cache that admits at first sight would have written and asked the origin for.
 *
 * Threads   the worker's own: notes go to its ring.
 */
#ifndef SERVE_BILL_H
#define SERVE_BILL_H

#include "proxy/cache/ghost/ghost.h"
#include "proxy/serve/fill.h"

/* By this the baseline tells events of t from those of others. */
uint32_t bill_request(const struct txn *t);
/* t was answered from o, a stored object or a part of one of body_bytes, and no origin was asked.
 */
void bill_hit(const struct txn *t, const struct object *o, uint64_t body_bytes);
/* An origin was asked; origin_bytes of a body came. body_bytes: of the whole. f->terms,
 * f->filed.validator and what is said of the stored object are set, but for GHOST_ASKED. */
void
bill_fetch(const struct fill *f, enum ghost_deed deed, uint64_t body_bytes, uint64_t origin_bytes);
/* A slice was read from where it is kept / came from the origin. key: the slice's; its whole has
 * events of its own, for its head. joins: the request that asked for it is counted already. */
void bill_slice_hit(const struct txn *t, const struct key *key, const struct object *o);
void bill_slice_fetched(const struct fill *f, const struct key *key, uint64_t bytes,
			uint64_t whole_bytes, bool joins);
/* Comparing these shows whether an object is still the same; 0: it has nothing of the kind. */
uint32_t bill_validator(struct str head, const struct terms *terms);
/* A URL, with its variants, is forgotten. key: of any request for it. */
void bill_forget(const struct shelves *sh, struct str key);
/* All of a host's, whatever the scheme. host: as it stands in keys. */
void bill_forget_host(const struct shelves *sh, struct str host);

#endif
