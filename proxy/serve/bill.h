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
/* A slice, whose whole has events of its own, for its head. */
struct billed_slice {
	const struct key *key; /* the slice's */
	uint64_t number, bytes, whole_bytes;
	unsigned sightings; /* of the slice itself, that no event has told yet */
	bool joins;	    /* the request that asked for it is counted already */
};
/* It was read from where it is kept; it came from the origin; it was asked for, but less than all of it came. */
void bill_slice_hit(const struct txn *t, const struct billed_slice *s, const struct object *o);
void bill_slice_fetched(const struct fill *f, const struct billed_slice *s);
void bill_slice_asked(const struct fill *f, const struct billed_slice *s);
/* Comparing these shows whether an object is still the same; 0: it has nothing of the kind. */
uint32_t bill_validator(struct str head, const struct terms *terms);
/* A URL, with its variants, is forgotten. key: of any request for it. */
void bill_forget(const struct shelves *sh, struct str key);
/* All of a host's, whatever the scheme. host: as it stands in keys. */
void bill_forget_host(const struct shelves *sh, struct str host);

#endif
