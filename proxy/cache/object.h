/* object.h - what stands behind a struct object: its text, its body in memory, its place on disk.
 *
 * Threads   constant once published, but for the count of references, the placement (replaced
 *           whole, old ones live as long as the object) and the node (its RAM shard's lock).
 */
#ifndef CACHE_OBJECT_H
#define CACHE_OBJECT_H

#include "proxy/cache/cache.h"
#include "proxy/cache/ram_policy.h"
#include "proxy/cache/store.h"

/* Where the record lies and, fragment by fragment, the body. */
struct placement {
	struct placement *older; /* owned; freed with the object */
	struct locator at;
	uint32_t fragments_n;
	struct fragment *fragments; /* owned, or &one */
	struct fragment one;
};

struct stored {
	struct object pub;		       /* first */
	struct store *store;		       /* for leases; NULL without a disk */
	_Atomic(struct placement *) placement; /* NULL: was never on disk */
	struct block *text; /* ref: the record that key and head (and body) are views of, or NULL */
	const char *whole;  /* body bytes within text, or NULL */
	struct block **blocks; /* ref each: the body, block_bytes each but the last; or NULL */
	struct block *one;     /* room for a list of one */
	uint32_t blocks_n, block_bytes;
	bool leased;
	/* From a lookup on disk, for the one reader that looked it up: a fragment read already. */
	uint32_t ahead_i;
	struct block *ahead;

	/* The RAM tier's, under the shard's lock. */
	struct ram_node node;
	struct stored *chain;
	bool in_ram;

	char bytes[]; /* key and head, when there is no text */
};

static inline struct stored *
stored_of(struct object *o)
{
	return (struct stored *)o;
}

/* One reference; key and head are copied. */
struct stored *stored_create(struct store *st, struct key_hash hash, struct str key,
			     struct str head, const struct terms *terms, enum object_kind kind);
/* From a record that was parsed from text: takes a reference on it. */
struct stored *stored_of_record(struct store *st, struct block *text, const struct record *r);
/* A second object over the same bytes, to live in RAM. */
struct stored *stored_clone(const struct stored *o);
void stored_unref(struct stored **o);

/* Body blocks become references of to's as well. */
void stored_share_body(struct stored *to, const struct stored *from);
void stored_add_block(struct stored *o, struct block *b); /* takes the caller's reference */
void stored_drop_blocks(struct stored *o);		  /* of one that nobody else knows */
bool stored_has_body(const struct stored *o);		  /* in memory */
/* The part of the body at an offset that lies in memory in one piece. */
struct str stored_piece(const struct stored *o, uint64_t at);

/* fragments are copied. Publishes the placement and pub.on_disk. */
void stored_place(struct stored *o, const struct locator *at, const struct fragment *fragments,
		  uint32_t fragments_n);
/* The placement, if its record has not been evicted; else NULL and on_disk becomes false. */
const struct placement *stored_placement(struct stored *o);
/* All segments that hold the body are asked to stay while the object lives. False: gone. */
bool stored_lease(struct stored *o);
/* Memory that the object takes, overheads of malloc included. */
uint64_t stored_memory(const struct stored *o);

#endif
