#include "filter/family/counting.h"

#include <stdlib.h>

#include "filter/family/counters.h"

#define WIDTH 4

_Static_assert(TWICE_COUNTING_MOST == (1 << WIDTH) - 1, "a cell holds what the header says");

struct twice_counting {
	struct twice_counters counters;
	enum twice_counting_update update;
};

struct twice_counting *
twice_counting_create(const struct twice_probe *shape, enum twice_counting_update update)
{
	bool known = update == TWICE_COUNTING_PLAIN || update == TWICE_COUNTING_CONSERVATIVE;
	struct twice_counting *c = known ? calloc(1, sizeof(*c)) : NULL;
	if (c && twice_counters_init(&c->counters, shape, WIDTH))
		twice_counting_destroy(&c);
	else if (c)
		c->update = update;
	return c;
}

void
twice_counting_destroy(struct twice_counting **c)
{
	if (*c)
		twice_counters_fini(&(*c)->counters);
	free(*c);
	*c = NULL;
}

unsigned
twice_counting_times(const struct twice_counting *c, struct twice_key_hash h)
{
	return (unsigned)twice_counters_least(&c->counters, h);
}

bool
twice_counting_has(const struct twice_counting *c, struct twice_key_hash h)
{
	return twice_counting_times(c, h) > 0;
}

/* One more, or one less, in each of the key's cells that has not lost count. */
static void
step(struct twice_counting *c, struct twice_key_hash h, int by)
{
	uint64_t place[TWICE_PROBE_MOST];
	unsigned n = twice_probe_distinct(&c->counters.probe, h, place);
	for (unsigned i = 0; i < n; i++) {
		uint64_t x = twice_packed_get(&c->counters.cells, place[i]);
		if (x < TWICE_COUNTING_MOST)
			twice_counters_put(&c->counters, place[i], by > 0 ? x + 1 : x - 1);
	}
}

static void
lift(struct twice_counting *c, struct twice_key_hash h, uint64_t to)
{
	uint64_t place[TWICE_PROBE_MOST];
	twice_probe_places(&c->counters.probe, h, place);
	for (unsigned i = 0; i < c->counters.probe.n; i++)
		if (twice_packed_get(&c->counters.cells, place[i]) < to)
			twice_counters_put(&c->counters, place[i], to);
}

unsigned
twice_counting_raise(struct twice_counting *c, struct twice_key_hash h, unsigned times)
{
	unsigned before = twice_counting_times(c, h);
	if (c->update == TWICE_COUNTING_CONSERVATIVE && times > before) {
		lift(c, h, times < TWICE_COUNTING_MOST ? times : TWICE_COUNTING_MOST);
		c->counters.keys += before == 0;
	}
	return before;
}

unsigned
twice_counting_add(struct twice_counting *c, struct twice_key_hash h)
{
	unsigned before = twice_counting_times(c, h);
	if (c->update == TWICE_COUNTING_CONSERVATIVE)
		return twice_counting_raise(c, h, before + 1);
	step(c, h, 1);
	c->counters.keys += before == 0;
	return before;
}

bool
twice_counting_remove(struct twice_counting *c, struct twice_key_hash h)
{
	if (c->update == TWICE_COUNTING_CONSERVATIVE || !twice_counting_has(c, h))
		return false;
	step(c, h, -1);
	if (!twice_counting_has(c, h) && c->counters.keys)
		c->counters.keys--;
	return true;
}

uint64_t
twice_counting_count(const struct twice_counting *c)
{
	return c->counters.keys;
}

size_t
twice_counting_memory(const struct twice_counting *c)
{
	return sizeof(*c) + twice_counters_memory(&c->counters);
}

double
twice_counting_fpr(const struct twice_counting *c)
{
	return twice_counters_fpr(&c->counters);
}

int
twice_counting_merge(struct twice_counting *into, const struct twice_counting *other)
{
	if (!twice_counters_alike(&into->counters, &other->counters) ||
	    into->update != other->update)
		return -1;
	for (uint64_t i = 0; i < into->counters.cells.n; i++) {
		uint64_t sum = twice_packed_get(&into->counters.cells, i) +
			       twice_packed_get(&other->counters.cells, i);
		twice_packed_set(&into->counters.cells, i,
				 sum < TWICE_COUNTING_MOST ? sum : TWICE_COUNTING_MOST);
	}
	twice_counters_recount(&into->counters);
	return 0;
}

double
twice_counting_fill(const struct twice_counting *c)
{
	return (double)c->counters.used / (double)c->counters.cells.n;
}

int
twice_counting_save(const struct twice_counting *c, const struct twice_snapshot_sink *to)
{
	return twice_counters_save(&c->counters, to, TWICE_SNAPSHOT_COUNTING,
				   (uint64_t[TWICE_COUNTERS_OWN]){c->update});
}

static int
load(struct twice_counting *c, struct twice_snapshot_source *from)
{
	uint64_t own[TWICE_COUNTERS_OWN];
	if (twice_counters_load(&c->counters, from, TWICE_SNAPSHOT_COUNTING, WIDTH, own))
		return -1;
	if (own[0] > TWICE_COUNTING_CONSERVATIVE)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	c->update = (enum twice_counting_update)own[0];
	return 0;
}

struct twice_counting *
twice_counting_load(struct twice_snapshot_source *from)
{
	struct twice_counting *c = twice_snapshot_room(from, sizeof(*c));
	if (c && load(c, from))
		twice_counting_destroy(&c);
	return c;
}
