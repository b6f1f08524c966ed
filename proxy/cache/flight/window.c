/* window.c - a deque of blocks with a count of readers on each. */
#include "proxy/cache/flight/window.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* This must hold between any two calls; cheap enough for each. */
static void
check(const struct window *w)
{
	assert(w->first + w->count <= w->cap && w->base <= w->total);
	assert((w->pieces != NULL) == (w->cap > 0));
	if (w->count)
		assert(w->pieces && w->pieces[w->first].at == w->base);
	else
		assert(w->base == w->total);
}

void
window_init(struct window *w, uint64_t at, _Atomic uint64_t *held)
{
	*w = (struct window){.number = 1, .base = at, .total = at, .held = held};
}

static void
drop_first(struct window *w)
{
	struct piece *p = &w->pieces[w->first];
	w->base = p->at + p->block->n;
	if (w->held)
		atomic_fetch_sub_explicit(w->held, p->block->cap, memory_order_relaxed);
	block_unref(&p->block);
	w->first++;
	w->count--;
	w->number++;
}

void
window_fini(struct window *w)
{
	while (w->count)
		drop_first(w);
	block_unref(&w->spare);
	free(w->pieces);
	*w = (struct window){0};
}

void
window_lend(struct window *w, struct piece **pieces, unsigned *cap)
{
	w->pieces = *pieces;
	w->cap = *cap;
	*pieces = NULL;
	*cap = 0;
	check(w);
}

void
window_take_back(struct window *w, struct piece **pieces, unsigned *cap)
{
	while (w->count)
		drop_first(w);
	*pieces = w->pieces;
	*cap = w->cap;
	w->pieces = NULL;
	w->first = w->cap = 0;
}

void
window_lend_block(struct window *w, struct block **b)
{
	assert(!w->spare && (*b)->n == 0);
	w->spare = *b;
	*b = NULL;
}

struct block *
window_take_block(struct window *w)
{
	struct block *b = w->spare;
	w->spare = NULL;
	if (b || w->count == 0)
		return b;
	b = block_ref(w->pieces[w->first].block);
	drop_first(w);
	if (!block_renew(b))
		block_unref(&b);
	return b;
}

/* ---- readers ------------------------------------------------------------------------------- */

static unsigned *
readers_at(struct window *w, uint64_t piece)
{
	uint64_t i = piece - w->number;
	assert(piece >= w->number && i <= w->count);
	return i == w->count ? &w->ahead : &w->pieces[w->first + i].readers;
}

static bool
is_open(const struct piece *p)
{
	return p->block->n < p->block->cap;
}

/* The next byte begins a new piece. */
static bool
is_full(const struct window *w)
{
	return w->count == 0 || !is_open(&w->pieces[w->first + w->count - 1]);
}

/* The index, from first, of the piece that holds offset at, or will. */
static unsigned
index_of(const struct window *w, uint64_t at)
{
	unsigned low = 0, high = w->count;
	if (at >= w->total)
		return is_full(w) ? w->count : w->count - 1;
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;
		if (w->pieces[w->first + middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool
window_lost(const struct window *w, const struct mark *m)
{
	return m->piece < w->number;
}

void
window_enter(struct window *w, struct mark *m)
{
	m->piece = w->number + index_of(w, w->base);
	++*readers_at(w, m->piece);
}

void
window_leave(struct window *w, struct mark *m)
{
	if (window_lost(w, m))
		return;
	unsigned *n = readers_at(w, m->piece);
	assert(*n);
	--*n;
}

void
window_move(struct window *w, struct mark *m, uint64_t at)
{
	if (window_lost(w, m) || at < w->base)
		return;
	uint64_t to = w->number + index_of(w, at);
	if (to == m->piece)
		return;
	window_leave(w, m);
	m->piece = to;
	++*readers_at(w, to);
}

/* ---- bytes --------------------------------------------------------------------------------- */

enum { LEAST_BYTES = 4096 };

static void
push(struct window *w, uint32_t cap)
{
	if (w->first + w->count == w->cap) {
		if (w->first > w->cap / 2) {
			memmove(w->pieces, w->pieces + w->first, w->count * sizeof *w->pieces);
			w->first = 0;
		} else {
			w->cap = w->cap ? w->cap * 2 : 4;
			w->pieces = mem_realloc(w->pieces, w->cap * sizeof *w->pieces);
		}
	}
	struct block *b = w->spare && w->spare->cap >= cap ? w->spare : block_try(cap);
	if (!b) /* a body goes by in small pieces where there is no memory for large ones */
		b = block_create(LEAST_BYTES);
	if (b == w->spare)
		w->spare = NULL;
	w->pieces[w->first + w->count++] = (struct piece){w->total, b, w->ahead};
	w->ahead = 0;
	if (w->held)
		atomic_fetch_add_explicit(w->held, b->cap, memory_order_relaxed);
}

struct block *
window_add(struct window *w, const char *p, size_t n, uint32_t cap, uint32_t *at, uint32_t *got)
{
	if (is_full(w))
		push(w, cap);
	struct block *b = w->pieces[w->first + w->count - 1].block;
	uint32_t room = b->cap - b->n;
	*got = n < room ? (uint32_t)n : room;
	*at = b->n;
	memcpy(b->p + b->n, p, *got);
	b->n += *got;
	w->total += *got;
	check(w);
	return b;
}

void
window_trim(struct window *w)
{
	while (w->count > 1 && !w->pieces[w->first].readers)
		drop_first(w);
	check(w);
}

uint64_t
window_behind(const struct window *w)
{
	if (w->count == 0 || !w->pieces[w->first].readers || is_open(&w->pieces[w->first]))
		return 0;
	return w->total - w->pieces[w->first].at;
}

unsigned
window_shed(struct window *w)
{
	if (w->count <= 1)
		return 0;
	unsigned n = w->pieces[w->first].readers;
	drop_first(w);
	check(w);
	return n;
}

const struct piece *
window_find(const struct window *w, uint64_t at)
{
	assert(at >= w->base && at < w->total);
	return &w->pieces[w->first + index_of(w, at)];
}
