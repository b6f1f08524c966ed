/* zones.c - a ring for each name of a zone. */
#include "proxy/fleet/zones.h"

#include "proxy/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static const struct zone *
find(const struct zones *z, const char *name)
{
	for (unsigned i = 0; i < z->n; i++)
		if (strcmp(z->of[i].name, name) == 0)
			return &z->of[i];
	return NULL;
}

static void
add(struct zones *z, const struct roster *r, const char *name)
{
	struct ring_node *nodes = mem_zalloc((r->n + 1) * sizeof *nodes);
	struct zone *made = &z->of[z->n++];
	roster_weigh(r, nodes);
	for (unsigned i = 0; i < r->n; i++)
		if (strcmp(r->of[i].zone, name) != 0)
			nodes[i].weight = 0;
	snprintf(made->name, sizeof made->name, "%s", name);
	made->ring = ring_build(nodes, r->n);
	free(nodes);
}

/* The next name behind that one, so that all nodes leave out the same zones where there are too many. */
static const char *
next_name(const struct roster *r, const char *before)
{
	const char *next = NULL;
	for (unsigned i = 0; i < r->n; i++) {
		const char *name = r->of[i].zone;
		if ((!before || strcmp(name, before) > 0) && (!next || strcmp(name, next) < 0))
			next = name;
	}
	return next;
}

void
zones_make(struct zones *z, const struct roster *r, const char *self)
{
	*z = (struct zones){0};
	add(z, r, self);
	for (const char *name = NULL; (name = next_name(r, name)) && z->n < ZONES_MOST;)
		if (strcmp(name, self) != 0)
			add(z, r, name);
}

void
zones_end(struct zones *z)
{
	while (z->n)
		ring_destroy(&z->of[--z->n].ring);
}

/* One that is gone cannot be asked: whoever came behind it may have taken over. */
struct ring *
zones_settled(const struct roster *r, const char *self)
{
	struct ring_node *nodes = mem_zalloc((r->settled_n + 1) * sizeof *nodes);
	for (unsigned i = 0; i < r->settled_n; i++) {
		const struct member *m = roster_member(r, r->settled[i].id);
		nodes[i] = r->settled[i];
		if (!m || strcmp(m->zone, self) != 0)
			nodes[i].weight = 0;
	}
	struct ring *ring = r->hands_over ? ring_build(nodes, r->settled_n) : NULL;
	free(nodes);
	return ring;
}

unsigned
zones_owned(const struct zones *z, const struct roster *r, unsigned number)
{
	const struct zone *of = find(z, r->of[number].zone);
	return of ? ring_owned(of->ring, number) : 0;
}
