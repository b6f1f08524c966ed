/* cache_write.h - objects come into the cache, to the disk, get a new head, and go.
 *
 * Memory    what is returned is a reference, which the caller owes object_unref.
 * Threads   any worker; a write is its owner's.
 * Errors    what cannot be kept is not: a disk that fails or is full never fails a request.
 */
#ifndef CACHE_CACHE_WRITE_H
#define CACHE_CACHE_WRITE_H

#include "proxy/cache/store/object_facts.h"

struct block;
struct cache;

struct object_write;
struct write_options {
	struct twice_key_hash hash;
	struct str key, head, tags; /* copied */
	struct terms terms;
	enum object_kind kind;
	uint64_t whole_bytes; /* of SLICED and SLICE */
	uint64_t plain_bytes; /* object.plain_bytes */
	uint64_t begun;	      /* cache_now() before the request left; 0: now */
	uint64_t body_bytes;  /* UINT64_MAX: not known yet */
	bool disk;	      /* admitted: written to disk as the body comes */
	/* Raised by what goes to the disk because of this write, when it goes there; or NULL. */
	uint64_t *written;
};
/* Never NULL; what cannot be kept turns the write into one that commits to nothing. */
struct object_write *cache_write_begin(struct cache *c, const struct write_options *o);
/* Will it be kept, as far as can be said now? Of a dead write nothing is kept any more. */
bool cache_write_is_alive(const struct object_write *w);
/* The next bytes [at, at + n) of b; the block is referenced, not copied, as long as needed. */
void cache_write_body(struct object_write *w, struct block *b, uint32_t at, uint32_t n);
/* Its bytes do not come: what it keeps free in memory for them, and the segments that it keeps in their
 * place, are for others. It may go on all the same. False: others have little memory, and it holds some:
 * to be abandoned. */
bool cache_write_rest(struct object_write *w);
/* The body is whole: makes the object visible to every lookup before it returns. admit: write it to
 * disk now if it was not already being written (second sighting while it arrived). Returns a
 * reference, or NULL when it was kept nowhere (too large for RAM and not on disk, disk failing).
 * When body_bytes was announced and is not what came, nothing is stored (NULL). */
struct object *cache_write_commit(struct object_write **w, bool admit);
/* The same, to RAM and to disk, for another form of old's body: nothing is stored (NULL) if the key means something else
 * by now. */
struct object *cache_write_commit_over(struct object_write **w, struct object *old);
/* Before the commit of a body whose length was not known: it is for RAM alone, where RAM has room. False: some of it is
 * on disk, or nothing has changed for another reason. */
bool cache_write_turn(struct object_write *w);
void cache_write_abandon(struct object_write **w);

/* A second sighting of an object that lives in RAM only: writes it to disk from there. True when it
 * is on its way to the disk because of this call. */
bool cache_admit(struct cache *c, struct object *o);

/* RFC 9111 4.3.4: o with a new head and terms, body neither copied nor rewritten. While RAM holds
 * it the disk keeps the older head; when RAM lets go of it, or at cache_stop, and at once where RAM
 * does not hold it or the tags are others, a small record is written that points to the old body.
 * begun: cache_now() before the request left, and not later than o was clean. Returns a reference
 * to the new object; it takes o's place unless something covers the one or the other. */
struct object *cache_refresh(struct cache *c, struct object *o, struct str head, struct str tags,
			     const struct terms *terms, uint64_t begun);

/* This key alone is forgotten in RAM and on disk; true if there was one. Readers that hold the
 * object finish undisturbed. Also after a crash, once the purge log is written (not waited for). */
bool cache_remove(struct cache *c, struct twice_key_hash hash, struct str key);

#endif
