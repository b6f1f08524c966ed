/* arena.h - the memory of one request: handed out in a row, given back all at once.
 *
 * A fetch or a disk read may outlive the client: it takes a reference. Chunks come from a pool that
 * keeps some warm, so that the steady state calls neither malloc nor free.
 *
 * Memory    what arena_alloc returns holds until the last arena_unref. It is not zeroed.
 * Threads   a pool and its arenas live on one thread; the count of references is a plain number.
 * Errors    out of memory aborts: every caller bounds what it asks for.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "proxy/base/str.h"

enum { ARENA_CHUNK_BYTES = 4 << 10 };

struct arena_chunk;
struct arena;

struct arena_pool { /* {0} keeps nothing */
	struct arena_chunk *spare;
	unsigned spare_count;
	unsigned spare_most; /* chunks kept for the next arenas */
	unsigned arenas;     /* that are alive */
};
void arena_pool_fini(struct arena_pool *p); /* when all its arenas are gone */

struct arena *arena_create(struct arena_pool *p); /* one reference, the caller's */
struct arena *arena_ref(struct arena *a);	  /* returns a */
bool arena_is_shared(const struct arena *a);	  /* somebody else has a reference too */
void arena_unref(struct arena **a);		  /* sets *a to NULL; NULL is fine */
size_t arena_held(const struct arena *a);	  /* bytes of memory that it has */

/* n bytes, aligned for everything. More than a chunk holds is an allocation of its own. */
void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull));
struct str arena_copy(struct arena *a, struct str s);

#define ARENA_NEW(arena, type) ((type *)memset(arena_alloc(arena, sizeof(type)), 0, sizeof(type)))

#endif
