#include "filter/family/cells.h"

#include <math.h>
#include <stdlib.h>

#include "filter/mix.h"
#include "filter/family/packed.h"

/* Fuller than this, a search would take more than 16 places on average. */
#define LOAD_MOST   15 / 16
#define CELLS_LEAST 16

struct cells {
	struct packed codes; /* 0: empty */
	uint64_t keys;
};

struct cells *
cells_create(const struct cells_shape *shape)
{
	struct cells *c = calloc(1, sizeof(*c));
	if (c && (shape->cells < CELLS_LEAST || packed_init(&c->codes, shape->cells, shape->width)))
		cells_destroy(&c);
	return c;
}

void
cells_destroy(struct cells **c)
{
	if (*c)
		packed_fini(&(*c)->codes);
	free(*c);
	*c = NULL;
}

/* Where the key's code stands, or else the empty cell where it would go. */
static uint64_t
find(const struct cells *c, struct key_hash h, uint64_t *code)
{
	uint64_t row = h.lo;
	*code = 1 + mix_range(h.hi, packed_top(&c->codes));
	for (;;) {
		uint64_t at = mix_range(mix_next(&row), c->codes.n);
		uint64_t x = packed_get(&c->codes, at);
		if (!x || x == *code)
			return at;
	}
}

static bool
is_full(const struct cells *c)
{
	return c->keys >= c->codes.n * LOAD_MOST;
}

int
cells_add(struct cells *c, struct key_hash h)
{
	uint64_t code, at = find(c, h, &code);
	if (packed_get(&c->codes, at))
		return 1;
	if (is_full(c))
		return -1;
	packed_set(&c->codes, at, code);
	c->keys++;
	return 0;
}

bool
cells_has(const struct cells *c, struct key_hash h)
{
	uint64_t code;
	return packed_get(&c->codes, find(c, h, &code));
}

uint64_t
cells_count(const struct cells *c)
{
	return c->keys;
}

size_t
cells_memory(const struct cells *c)
{
	return sizeof(*c) + (size_t)packed_bytes(c->codes.n, c->codes.width);
}

/* The chance that one occupied cell holds an absent key's code. */
static double
match(unsigned width)
{
	return 1 / (ldexp(1, (int)width) - 1);
}

double
cells_fpr(const struct cells *c)
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

struct cells_shape
cells_shape(uint64_t keys, double fpr)
{
	unsigned best = 1;
	for (unsigned w = 2; w <= PACKED_WIDTH_MOST; w++)
		if (w / load_for(w, fpr) < best / load_for(best, fpr))
			best = w;
	double cells = fmax(ceil((double)keys / load_for(best, fpr)) + 1, CELLS_LEAST);
	if (!(cells <= (double)PACKED_CELLS_MOST) || !(fpr > 0 && fpr < 1))
		return (struct cells_shape){0};
	return (struct cells_shape){.cells = (uint64_t)cells, .width = best};
}

int
cells_save(const struct cells *c, const struct seal_sink *to)
{
	return packed_save(&c->codes, to, SEAL_CELLS, (uint64_t[SEAL_PARAMS]){c->keys});
}

static int
load(struct cells *c, struct seal_source *from)
{
	struct seal_head head;
	if (seal_open(from, SEAL_CELLS, &head) || packed_load(&c->codes, from, &head))
		return -1;
	c->keys = head.params[0];
	/* A search ends at an empty cell: there must be as many as we think. */
	if (c->codes.n < CELLS_LEAST || c->keys > c->codes.n * LOAD_MOST + 1 ||
	    c->keys != packed_used(&c->codes))
		return seal_refuse(from, SEAL_ABSURD);
	return 0;
}

struct cells *
cells_load(struct seal_source *from)
{
	struct cells *c = seal_room(from, sizeof(*c));
	if (c && load(c, from))
		cells_destroy(&c);
	return c;
}
