#include "filter/family/cells.h"

#include <math.h>
#include <stdlib.h>

#include "filter/mix.h"
#include "filter/family/packed.h"

/* Fuller than this, a search would take more than 16 places on average. */
#define LOAD_MOST   15 / 16
#define CELLS_LEAST 16

struct twice_cells {
	struct twice_packed codes; /* 0: empty */
	uint64_t keys;
};

struct twice_cells *
twice_cells_create(const struct twice_cells_shape *shape)
{
	struct twice_cells *c = calloc(1, sizeof(*c));
	if (c && (shape->cells < CELLS_LEAST ||
		  twice_packed_init(&c->codes, shape->cells, shape->width)))
		twice_cells_destroy(&c);
	return c;
}

void
twice_cells_destroy(struct twice_cells **c)
{
	if (*c)
		twice_packed_fini(&(*c)->codes);
	free(*c);
	*c = NULL;
}

/* Where the key's code is, or else the empty cell where it would go. */
static uint64_t
find(const struct twice_cells *c, struct twice_key_hash h, uint64_t *code)
{
	uint64_t row = h.lo;
	*code = 1 + mix_range(h.hi, twice_packed_top(&c->codes));
	for (;;) {
		uint64_t at = mix_range(mix_next(&row), c->codes.n);
		uint64_t x = twice_packed_get(&c->codes, at);
		if (!x || x == *code)
			return at;
	}
}

static bool
is_full(const struct twice_cells *c)
{
	return c->keys >= c->codes.n * LOAD_MOST;
}

int
twice_cells_add(struct twice_cells *c, struct twice_key_hash h)
{
	uint64_t code, at = find(c, h, &code);
	if (twice_packed_get(&c->codes, at))
		return 1;
	if (is_full(c))
		return -1;
	twice_packed_set(&c->codes, at, code);
	c->keys++;
	return 0;
}

bool
twice_cells_has(const struct twice_cells *c, struct twice_key_hash h)
{
	uint64_t code;
	return twice_packed_get(&c->codes, find(c, h, &code));
}

uint64_t
twice_cells_count(const struct twice_cells *c)
{
	return c->keys;
}

size_t
twice_cells_memory(const struct twice_cells *c)
{
	return sizeof(*c) + (size_t)twice_packed_bytes(c->codes.n, c->codes.width);
}

/* The chance that one occupied cell holds an absent key's code. */
static double
match(unsigned width)
{
	return 1 / (ldexp(1, (int)width) - 1);
}

double
twice_cells_fpr(const struct twice_cells *c)
{
	double a = (double)c->keys / (double)c->codes.n, q = match(c->codes.width);
	return a * q / (1 - a + a * q);
}

/* The load at which codes of this width reach the wanted rate. */
static double
load_for(unsigned width, double fpr)
{
	double q = match(width);
	return fmin(fpr / (q + fpr * (1 - q)), 1.0 * LOAD_MOST);
}

struct twice_cells_shape
twice_cells_shape(uint64_t keys, double fpr)
{
	unsigned best = 1;
	for (unsigned w = 2; w <= TWICE_PACKED_WIDTH_MOST; w++)
		if (w / load_for(w, fpr) < best / load_for(best, fpr))
			best = w;
	double cells = fmax(ceil((double)keys / load_for(best, fpr)) + 1, CELLS_LEAST);
	if (keys == 0 || !(cells <= (double)TWICE_PACKED_CELLS_MOST) || !(fpr > 0 && fpr < 1))
		return (struct twice_cells_shape){0};
	return (struct twice_cells_shape){.cells = (uint64_t)cells, .width = best};
}

int
twice_cells_save(const struct twice_cells *c, const struct twice_snapshot_sink *to)
{
	return twice_packed_save(&c->codes, to, TWICE_SNAPSHOT_CELLS,
				 (uint64_t[TWICE_SNAPSHOT_PARAMS]){c->keys});
}

static int
load(struct twice_cells *c, struct twice_snapshot_source *from)
{
	struct twice_snapshot_head head;
	if (twice_snapshot_open(from, TWICE_SNAPSHOT_CELLS, &head) ||
	    twice_packed_load(&c->codes, from, &head))
		return -1;
	c->keys = head.params[0];
	/* A search ends at an empty cell: there must be as many as we think. */
	if (c->codes.n < CELLS_LEAST || c->keys > c->codes.n * LOAD_MOST + 1 ||
	    c->keys != twice_packed_used(&c->codes))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	return 0;
}

struct twice_cells *
twice_cells_load(struct twice_snapshot_source *from)
{
	struct twice_cells *c = twice_snapshot_room(from, sizeof(*c));
	if (c && load(c, from))
		twice_cells_destroy(&c);
	return c;
}
