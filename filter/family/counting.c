#include "filter/family/counting.h"

#include <stdlib.h>

#include "filter/family/grid.h"

#define WIDTH 4

_Static_assert(COUNTING_MOST == (1 << WIDTH) - 1, "a cell holds what the header says");

struct counting {
	struct grid grid;
	enum counting_update update;
};

struct counting *
counting_create(const struct probe *shape, enum counting_update update)
{
	struct counting *c = calloc(1, sizeof(*c));
	if (c && grid_init(&c->grid, shape, WIDTH))
		counting_destroy(&c);
	else if (c)
		c->update = update;
	return c;
}

void
counting_destroy(struct counting **c)
{
	if (*c)
		grid_fini(&(*c)->grid);
	free(*c);
	*c = NULL;
}

unsigned
counting_times(const struct counting *c, struct key_hash h)
{
	return (unsigned)grid_least(&c->grid, h);
}

bool
counting_has(const struct counting *c, struct key_hash h)
{
	return counting_times(c, h) > 0;
}

/* One more, or one less, in each of the key's cells that has not lost count. */
static void
step(struct counting *c, struct key_hash h, int by)
{
	uint64_t place[PROBE_MOST];
	unsigned n = probe_distinct(&c->grid.probe, h, place);
	for (unsigned i = 0; i < n; i++) {
		uint64_t x = packed_get(&c->grid.cells, place[i]);
		if (x < COUNTING_MOST)
			grid_put(&c->grid, place[i], by > 0 ? x + 1 : x - 1);
	}
}

static void
lift(struct counting *c, struct key_hash h, uint64_t to)
{
	uint64_t place[PROBE_MOST];
	probe_places(&c->grid.probe, h, place);
	for (unsigned i = 0; i < c->grid.probe.n; i++)
		if (packed_get(&c->grid.cells, place[i]) < to)
			grid_put(&c->grid, place[i], to);
}

unsigned
counting_raise(struct counting *c, struct key_hash h, unsigned times)
{
	unsigned before = counting_times(c, h);
	if (c->update == COUNTING_CONSERVATIVE && times > before) {
		lift(c, h, times < COUNTING_MOST ? times : COUNTING_MOST);
		c->grid.keys += before == 0;
	}
	return before;
}

unsigned
counting_add(struct counting *c, struct key_hash h)
{
	unsigned before = counting_times(c, h);
	if (c->update == COUNTING_CONSERVATIVE)
		return counting_raise(c, h, before + 1);
	step(c, h, 1);
	c->grid.keys += before == 0;
	return before;
}

bool
counting_remove(struct counting *c, struct key_hash h)
{
	if (c->update == COUNTING_CONSERVATIVE || !counting_has(c, h))
		return false;
	step(c, h, -1);
	if (!counting_has(c, h) && c->grid.keys)
		c->grid.keys--;
	return true;
}

uint64_t
counting_count(const struct counting *c)
{
	return c->grid.keys;
}

size_t
counting_memory(const struct counting *c)
{
	return sizeof(*c) + grid_memory(&c->grid);
}

double
counting_fpr(const struct counting *c)
{
	return grid_fpr(&c->grid);
}

int
counting_merge(struct counting *into, const struct counting *other)
{
	if (!grid_alike(&into->grid, &other->grid) || into->update != other->update)
		return -1;
	for (uint64_t i = 0; i < into->grid.cells.n; i++) {
		uint64_t sum = packed_get(&into->grid.cells, i) + packed_get(&other->grid.cells, i);
		packed_set(&into->grid.cells, i, sum < COUNTING_MOST ? sum : COUNTING_MOST);
	}
	grid_recount(&into->grid);
	return 0;
}

double
counting_fill(const struct counting *c)
{
	return (double)c->grid.used / (double)c->grid.cells.n;
}

int
counting_save(const struct counting *c, const struct seal_sink *to)
{
	return grid_save(&c->grid, to, SEAL_COUNTING, (uint64_t[GRID_OWN]){c->update});
}

static int
load(struct counting *c, struct seal_source *from)
{
	uint64_t own[GRID_OWN];
	if (grid_load(&c->grid, from, SEAL_COUNTING, WIDTH, own))
		return -1;
	if (own[0] > COUNTING_CONSERVATIVE)
		return seal_refuse(from, SEAL_ABSURD);
	c->update = (enum counting_update)own[0];
	return 0;
}

struct counting *
counting_load(struct seal_source *from)
{
	struct counting *c = seal_room(from, sizeof(*c));
	if (c && load(c, from))
		counting_destroy(&c);
	return c;
}
