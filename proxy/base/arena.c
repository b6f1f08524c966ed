/* arena.c - a list of chunks; the arena itself lies in its first one. */
#include "proxy/base/arena.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

enum { ALIGN = 16 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap; /* of bytes */
	_Alignas(ALIGN) char bytes[];
};

struct arena {
	struct arena_pool *pool;
	struct arena_chunk *chunks; /* the one in use first */
	size_t used;		    /* of that one */
	size_t held;		    /* bytes of all chunks */
	unsigned refs;
};

static const size_t chunk_cap = ARENA_CHUNK_BYTES - sizeof(struct arena_chunk);

static size_t
aligned(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static struct arena_chunk *
take_chunk(struct arena_pool *p, size_t least)
{
	struct arena_chunk *c = p->spare;
	if (c && least <= chunk_cap) {
		p->spare = c->next;
		p->spare_count--;
		return c;
	}
	size_t cap = least > chunk_cap ? least : chunk_cap;
	c = mem_alloc(sizeof *c + cap);
	c->cap = cap;
	return c;
}

static void
give_chunk(struct arena_pool *p, struct arena_chunk *c)
{
	if (c->cap != chunk_cap || p->spare_count >= p->spare_most) {
		free(c);
		return;
	}
	c->next = p->spare;
	p->spare = c;
	p->spare_count++;
}

void
arena_pool_fini(struct arena_pool *p)
{
	assert(p->arenas == 0);
	while (p->spare) {
		struct arena_chunk *c = p->spare;
		p->spare = c->next;
		free(c);
	}
	p->spare_count = 0;
}

struct arena *
arena_create(struct arena_pool *p)
{
	struct arena_chunk *c = take_chunk(p, 0);
	struct arena *a = (struct arena *)(void *)c->bytes;
	c->next = NULL;
	*a = (struct arena){
		.pool = p,
		.chunks = c,
		.used = aligned(sizeof *a),
		.held = sizeof *c + c->cap,
		.refs = 1,
	};
	p->arenas++;
	return a;
}

struct arena *
arena_ref(struct arena *a)
{
	assert(a->refs > 0);
	a->refs++;
	return a;
}

bool
arena_is_shared(const struct arena *a)
{
	return a->refs > 1;
}

size_t
arena_held(const struct arena *a)
{
	return a->held;
}

void
arena_unref(struct arena **ap)
{
	struct arena *a = *ap;
	*ap = NULL;
	if (!a)
		return;
	assert(a->refs > 0);
	if (--a->refs)
		return;
	struct arena_pool *p = a->pool;
	p->arenas--;
	for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
		next = c->next; /* a itself lies in the last one */
		give_chunk(p, c);
	}
}

/* A chunk for this request alone goes behind the one in use, which may still have room. Apart from
 * arena_alloc, which needs no stack then. */
__attribute__((noinline)) static void *
alloc_anew(struct arena *a, size_t n)
{
	bool alone = n > chunk_cap / 4;
	struct arena_chunk *c = take_chunk(a->pool, alone ? n : 0);
	struct arena_chunk **behind = alone ? &a->chunks->next : &a->chunks;
	c->next = *behind;
	*behind = c;
	a->held += sizeof *c + c->cap;
	if (!alone)
		a->used = n;
	return c->bytes;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	n = aligned(n ? n : 1);
	if (n > a->chunks->cap - a->used)
		return alloc_anew(a, n);
	void *p = a->chunks->bytes + a->used;
	a->used += n;
	return p;
}

struct str
arena_copy(struct arena *a, struct str s)
{
	if (s.n == 0)
		return (struct str){0};
	return (struct str){memcpy(arena_alloc(a, s.n), s.p, s.n), s.n};
}
