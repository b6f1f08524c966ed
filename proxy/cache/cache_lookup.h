/* cache_lookup.h - what lies under a key: in RAM at once, from the disk by letter.
 *
 * Memory    an object that was found is the caller's to give back (object_unref).
 * Threads   any worker; a lookup under way is its owner's.
 * Errors    a damaged record is a miss.
 */
#ifndef CACHE_CACHE_LOOKUP_H
#define CACHE_CACHE_LOOKUP_H

#include "filter/hash.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct object;
struct terms;

enum found {
	FOUND_NOT,
	FOUND_OBJECT, /* *out is set, a reference is the caller's */
	FOUND_LATER   /* the record is being read; l->done will be called on l->home's thread */
};

/* This byte of the body will be asked for first. Of a body in several pieces that piece is read
 * and checked before it counts as found: a damaged one is a miss, as long as that is a way out. */
enum lookup_first {
	LOOKUP_FROM, /* the one at first_at: 0 unless set */
	LOOKUP_LAST, /* the first of the last first_at bytes */
	LOOKUP_HEAD  /* none */
};

struct cache_lookup {
	struct letter letter; /* private; must be first */
	struct mailbox *home; /* set by the caller */
	enum lookup_first first;
	uint64_t first_at;
	/* Of a slice: the head that the asker began with, and holds. What was forgotten since then is
	 * found all the same, for it alone (cache_was_forgotten). NULL: none. */
	const struct object *head;
	void (*done)(struct cache_lookup *l,
		     struct object *o); /* o NULL: not found; else a reference */
	/* private: */
	struct cache *cache;
	struct twice_key_hash hash;
	void *job;
};

/* key must hold until found or done. A lookup under way cannot be cancelled; its owner waits. */
enum found cache_lookup(struct cache *c, struct cache_lookup *l, struct twice_key_hash hash,
			struct str key, struct object **out);

/* Finds the object that is under the key now, if it can at once: FOUND_LATER is on disk. Nothing
 * is called back, and no hit is counted on disk. */
enum found
cache_peek(struct cache *c, struct twice_key_hash hash, struct str key, struct object **out);
/* The same for who only wants to know: nothing is counted, carried or moved. Waits for the disk:
 * not for workers. NULL, or a reference; *terms: its terms, as a soft purge has left them. */
struct object *
cache_look(struct cache *c, struct twice_key_hash hash, struct str key, struct terms *terms);
/* Is o still what its key means? */
bool cache_is_current(struct cache *c, struct object *o);

/* Was it forgotten since it was found? */
bool cache_was_forgotten(struct cache *c, struct object *o);

/* An answer to a GET took so many bytes of o's body, from wherever it was served: what is asked for
 * stays on disk. Only answers of 200 and 206: a client that is told 304 has cost nobody a fetch. */
void cache_pay(struct cache *c, struct object *o, uint64_t bytes);

#endif
