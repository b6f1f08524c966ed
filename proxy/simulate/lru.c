/* lru.c - a hash table and a list. */
#include "proxy/simulate/lru.h"

#include "proxy/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, FIRST_ROWS = 1024, MOST_HALVINGS = 30 };

struct row {
	uint64_t key, bytes;
	uint32_t fresh_until, validator;
	uint32_t newer, older; /* free rows: older is the next free one */
	bool used;
};

struct lru {
	struct row *rows; /* owned */
	uint32_t *table;  /* owned; 2 * rows_n, a row or NONE */
	uint32_t rows_n, used, free, most;
	uint32_t newest, oldest;
	uint64_t limit, bytes;
	unsigned halvings;
};

static uint32_t
slot_of(const struct lru *l, uint64_t key)
{
	uint32_t mask = 2 * l->rows_n - 1, i = (uint32_t)key & mask;
	while (l->table[i] != NONE && l->rows[l->table[i]].key != key)
		i = (i + 1) & mask;
	return i;
}

static void
unlink_row(struct lru *l, uint32_t i)
{
	struct row *r = &l->rows[i];
	*(r->newer == NONE ? &l->newest : &l->rows[r->newer].older) = r->older;
	*(r->older == NONE ? &l->oldest : &l->rows[r->older].newer) = r->newer;
}

static void
link_newest(struct lru *l, uint32_t i)
{
	struct row *r = &l->rows[i];
	r->newer = NONE;
	r->older = l->newest;
	*(l->newest == NONE ? &l->oldest : &l->rows[l->newest].newer) = i;
	l->newest = i;
}

static void
erase_slot(struct lru *l, uint32_t hole)
{
	uint32_t mask = 2 * l->rows_n - 1;
	for (uint32_t i = (hole + 1) & mask; l->table[i] != NONE; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)l->rows[l->table[i]].key & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		l->table[hole] = l->table[i];
		hole = i;
	}
	l->table[hole] = NONE;
}

static void
drop(struct lru *l, uint32_t i)
{
	unlink_row(l, i);
	erase_slot(l, slot_of(l, l->rows[i].key));
	l->bytes -= l->rows[i].bytes;
	l->rows[i].used = false;
	l->rows[i].older = l->free;
	l->free = i;
	l->used--;
}

static void
grow(struct lru *l, uint32_t n)
{
	uint32_t had = l->rows_n;
	l->rows = mem_realloc(l->rows, n * sizeof *l->rows);
	free(l->table);
	l->table = mem_alloc(2 * (size_t)n * sizeof *l->table);
	memset(l->table, 0xff, 2 * (size_t)n * sizeof *l->table);
	l->rows_n = n;
	for (uint32_t i = n; i-- > had;) {
		l->rows[i] = (struct row){.older = l->free};
		l->free = i;
	}
	for (uint32_t i = 0; i < had; i++)
		if (l->rows[i].used)
			l->table[slot_of(l, l->rows[i].key)] = i;
}

struct lru *
lru_create(uint64_t bytes, uint32_t most_rows)
{
	struct lru *l = NEW(struct lru);
	l->limit = bytes;
	l->free = l->newest = l->oldest = NONE;
	l->most = FIRST_ROWS;
	while (l->most <= most_rows / 2)
		l->most *= 2;
	grow(l, FIRST_ROWS);
	return l;
}

void
lru_destroy(struct lru **pl)
{
	struct lru *l = *pl;
	*pl = NULL;
	if (!l)
		return;
	free(l->rows);
	free(l->table);
	free(l);
}

static void
shrink_to(struct lru *l, uint64_t bytes)
{
	while (l->oldest != NONE && l->bytes > bytes)
		drop(l, l->oldest);
}

void
lru_thin(struct lru *l, unsigned halvings)
{
	while (l->halvings < halvings && l->halvings < MOST_HALVINGS) {
		l->halvings++;
		l->limit /= 2;
		for (uint32_t i = 0; i < l->rows_n; i++)
			if (l->rows[i].used && l->rows[i].key > UINT64_MAX >> l->halvings)
				drop(l, i);
		shrink_to(l, l->limit);
	}
}

static uint32_t
fresh_until(const struct ghost_event *e)
{
	uint32_t left = UINT32_MAX - e->now_s;
	return e->now_s + (e->fresh_s < left ? e->fresh_s : left);
}

static void
add(struct lru *l, const struct ghost_event *e)
{
	if (l->free == NONE && 2 * l->rows_n <= l->most)
		grow(l, 2 * l->rows_n);
	while (l->free == NONE && l->halvings < MOST_HALVINGS)
		lru_thin(l, l->halvings + 1);
	if (l->free == NONE || e->key > UINT64_MAX >> l->halvings || e->body_bytes > l->limit)
		return;
	shrink_to(l, l->limit - e->body_bytes);
	uint32_t i = l->free;
	l->free = l->rows[i].older;
	l->rows[i] = (struct row){.key = e->key,
				  .bytes = e->body_bytes,
				  .validator = e->validator,
				  .fresh_until = fresh_until(e),
				  .used = true};
	l->table[slot_of(l, e->key)] = i;
	l->bytes += e->body_bytes;
	l->used++;
	link_newest(l, i);
}

void
lru_forget(struct lru *l, uint64_t key)
{
	uint32_t i = l->table[slot_of(l, key)];
	if (i != NONE)
		drop(l, i);
}

static struct ghost_did
fetch(struct lru *l, const struct ghost_event *e, struct ghost_did did)
{
	if (!e->whole) {
		did.answer = GHOST_PASSED;
		return did;
	}
	lru_forget(l, e->key);
	did.answer = GHOST_MISSED;
	did.wrote = !e->refused && e->body_bytes <= l->limit;
	did.written_bytes = did.wrote ? e->body_bytes * did.weight : 0;
	if (did.wrote)
		add(l, e);
	return did;
}

struct ghost_did
lru_see(struct lru *l, const struct ghost_event *e)
{
	struct ghost_did did = {.answer = GHOST_IGNORED};
	if (e->key > UINT64_MAX >> l->halvings)
		return did;
	did.weight = UINT32_C(1) << l->halvings;
	uint32_t i = l->table[slot_of(l, e->key)];
	if (i == NONE)
		return fetch(l, e, did);
	struct row *r = &l->rows[i];
	bool fresh = e->now_s < r->fresh_until;
	if (!fresh && (!r->validator || r->validator != e->validator))
		return fetch(l, e, did);
	if (!fresh)
		r->fresh_until = fresh_until(e);
	unlink_row(l, i);
	link_newest(l, i);
	did.answer = fresh ? GHOST_FROM_DISK : GHOST_VALIDATED;
	return did;
}

uint64_t
lru_memory(const struct lru *l)
{
	return l->rows_n * (sizeof *l->rows + 2 * sizeof *l->table);
}

double
lru_share(const struct lru *l)
{
	return 1.0 / (double)(UINT64_C(1) << l->halvings);
}
