/* object.h - what is behind a struct object: its text, its body in memory, its place on disk.
 *
 * Threads   constant once published, but for the count of references, the node (its RAM shard's
 * lock), and the placement of an object whose body is in memory: another one is put in its place
 *           (under placing), so it is read as a copy. Without its body an object never moves, and
 *           its own placement may be looked at.
 */
#ifndef CACHE_OBJECT_H
#define CACHE_OBJECT_H

#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/ram_policy.h"
#include "proxy/cache/store/store.h"

/* The record lies at one place (bytes 0: nowhere), and the body in fragments. */
struct placement {
	struct locator at;
	uint32_t fragments_n;
	struct fragment *fragments; /* owned; NULL: none or one */
	struct fragment one;
};

static inline const struct fragment *
placement_fragment(const struct placement *p, uint32_t i)
{
	return p->fragments ? &p->fragments[i] : &p->one;
}
/* From a record with its own places; an inline body is one fragment. */
void placement_of_record(struct placement *p, const struct record *r);
void placement_fini(struct placement *p);

struct stored {
	struct object pub;	    /* first */
	struct store *store;	    /* for leases; NULL without a disk */
	struct placement placement; /* owned */
	_Atomic uint8_t placing;    /* a lock around placement */
	/* Generation << 32 | segment, of the record and of the oldest piece of its body, for a
	 * record that was refreshed points to its old body; 0: never on disk. */
	_Atomic uint64_t lies_in, body_in;
	struct block *text; /* ref: the record that key and head (and body) are views of, or NULL */
	const char *whole; /* body bytes within whole_in, or if that is NULL within text; or NULL */
	struct block *whole_in; /* ref */
	struct block **blocks;	/* ref each: the body, block_bytes each but the last; or NULL */
	struct block *one;	/* room for a list of one */
	uint32_t blocks_n, block_bytes;
	bool leased;
	_Atomic bool pays; /* the segments that it lies in, for the answer it is asked for now */
	/* From a lookup on disk: a fragment read already. Whoever reads that first takes it, once. */
	uint32_t ahead_i;
	_Atomic(struct block *) ahead;

	/* The RAM tier's, under the shard's lock; all that a walk along a chain and an eviction
	 * look at, side by side. */
	struct stored *chain;
	uint64_t chain_hash; /* pub.hash.lo */
	struct ram_node node;
	bool in_ram;
	bool unwritten; /* the record on disk has an older head */
	uint8_t told; /* hits that the disk heard of, since the fade and for the place it lies in */
	uint32_t fade;

	char bytes[]; /* key, head and tags, when there is no text */
};

static inline struct stored *
stored_of(struct object *o)
{
	return (struct stored *)o;
}

/* One reference; key, head and tags are copied. */
struct stored *
stored_create(struct store *st, struct twice_key_hash hash, struct str key, struct str head,
	      struct str tags, const struct terms *terms, enum object_kind kind);
/* From a record that was parsed from text: takes a reference on it. */
struct stored *stored_of_record(struct store *st, struct block *text, const struct record *r);
/* A second object over the same bytes, to live in RAM. */
struct stored *stored_clone(const struct stored *o);
void stored_unref(struct stored **o);

/* Body blocks become references of to's as well. */
void stored_share_body(struct stored *to, const struct stored *from);
void stored_add_block(struct stored *o, struct block *b); /* takes the caller's reference */
void stored_drop_blocks(struct stored *o);		  /* of one that nobody else knows */
/* The body is read again when it is wanted: of one that its one reader looked up on disk, if that
 * frees any memory. */
void stored_let_body_go(struct stored *o);
bool stored_has_body(const struct stored *o); /* in memory */
/* The part of the body at an offset that lies in memory in one piece. */
struct str stored_piece(const struct stored *o, uint64_t at);

/* p is copied. Sets pub.on_disk. */
void stored_place(struct stored *o, const struct placement *p);
/* The record that o was at from was carried to where r says. False: o was not there. */
bool stored_follow(struct stored *o, const struct record *r, const struct locator *from);
/* Are the record and its body still where they were placed? If not (they were evicted), on_disk
 * becomes false. */
bool stored_lies_there(struct stored *o);
/* A copy of the placement, which the caller ends with placement_fini; false when the record was
 * evicted or never there, and on_disk becomes false. */
bool stored_placement(struct stored *o, struct placement *out);
/* All segments that hold the body are asked to stay while the object lives. False: gone. */
bool stored_lease(struct stored *o);
/* Memory that a copy in RAM takes of a record of so many bytes, body and all: of what was read from
 * the disk. */
uint64_t stored_copy_memory(uint64_t record_bytes);
/* Memory that the object takes, overheads of malloc included. */
uint64_t stored_memory(const struct stored *o);

#endif
