/* h2_memory.c - slots of six pages: a table, then a frame. */
#include "proxy/wire/h2_memory.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* FRAME_LEAST: what libnghttp2 takes for a frame, at the least. WARM: slots whose pages are kept for the next session. */
enum {
	TABLE = 4096,
	FRAME = 5 * 4096,
	SLOT = TABLE + FRAME,
	FRAME_LEAST = 16 << 10,
	SLOTS = 64,
	REGION = SLOTS * SLOT,
	WARM = 64
};

struct region {
	struct region *next;
	char *at;
};

struct h2_pages {
	struct region *regions;
	char **free; /* room for all slots */
	unsigned n, all;
};

struct h2_pages *
h2_pages_create(void)
{
	return NEW(struct h2_pages);
}

void
h2_pages_destroy(struct h2_pages **pp)
{
	struct h2_pages *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	assert(p->n == p->all);
	for (struct region *r; (r = p->regions);) {
		p->regions = r->next;
		munmap(r->at, REGION);
		free(r);
	}
	free(p->free);
	free(p);
}

static void
add_region(struct h2_pages *p)
{
	char *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return;
	struct region *r = NEW(struct region);
	*r = (struct region){p->regions, at};
	p->regions = r;
	p->all += SLOTS;
	p->free = mem_realloc(p->free, p->all * sizeof *p->free);
	for (unsigned i = 0; i < SLOTS; i++)
		p->free[p->n++] = at + (size_t)i * SLOT;
}

static char *
take(struct h2_pages *p)
{
	if (!p->n)
		add_region(p);
	return p->n ? p->free[--p->n] : NULL;
}

static void
give(struct h2_pages *p, char *slot)
{
	if (p->n >= WARM)
		madvise(slot, SLOT, MADV_DONTNEED);
	p->free[p->n++] = slot;
}

/* ---- what libnghttp2 asks for -------------------------------------------------------------- */

static bool
is_in_slot(const struct h2_memory *m, const void *p)
{
	return m->slot && (const char *)p >= m->slot && (const char *)p < m->slot + SLOT;
}

static void *
on_malloc(size_t n, void *ctx)
{
	struct h2_memory *m = ctx;
	if (!m->begins || !m->slot || m->framing || n < FRAME_LEAST || n > FRAME)
		return malloc(n);
	m->framing = true;
	return m->slot + TABLE;
}

static void *
on_calloc(size_t n, size_t size, void *ctx)
{
	struct h2_memory *m = ctx;
	if (!m->begins || !m->slot || m->tabling || n != TABLE / size || n * size != TABLE)
		return calloc(n, size);
	m->tabling = true;
	return memset(m->slot, 0, TABLE);
}

static void
on_free(void *p, void *ctx)
{
	struct h2_memory *m = ctx;
	if (!is_in_slot(m, p))
		free(p);
	else if (p == m->slot)
		m->tabling = false;
	else
		m->framing = false;
}

static void *
on_realloc(void *p, size_t n, void *ctx)
{
	struct h2_memory *m = ctx;
	if (!p)
		return on_malloc(n, ctx);
	if (!is_in_slot(m, p))
		return realloc(p, n);
	size_t had = p == m->slot ? TABLE : FRAME;
	void *other = malloc(n);
	if (other) {
		memcpy(other, p, n < had ? n : had);
		on_free(p, ctx);
	}
	return other;
}

nghttp2_mem
h2_memory_begin(struct h2_memory *m, struct h2_pages *pages)
{
	*m = (struct h2_memory){.pages = pages, .slot = take(pages), .begins = true};
	return (nghttp2_mem){m, on_malloc, on_free, on_calloc, on_realloc};
}

void
h2_memory_made(struct h2_memory *m)
{
	m->begins = false;
}

void
h2_memory_end(struct h2_memory *m)
{
	assert(!m->framing && !m->tabling);
	if (m->slot)
		give(m->pages, m->slot);
	m->slot = NULL;
}

/* ---- a session that rests ------------------------------------------------------------------ */

static bool
is_zero(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

void
h2_memory_rest(struct h2_memory *m)
{
	if (m->framing)
		madvise(m->slot + TABLE, FRAME, MADV_DONTNEED);
	if (m->tabling && is_zero(m->slot, TABLE))
		madvise(m->slot, TABLE, MADV_DONTNEED);
}
