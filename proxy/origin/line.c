/* line.c - a ring of clients, each with a ring of routes, each with places in the order they came.
 */
#include "proxy/origin/line.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

TAILQ_HEAD(line_routes, line_route);
TAILQ_HEAD(line_places, line_place);

struct line_client {
	uint64_t number;
	unsigned count; /* of places */
	struct line_routes routes;
	TAILQ_ENTRY(line_client) next;
	LIST_ENTRY(line_client) chain;
};

struct line_route {
	struct line_client *client;
	unsigned number, count;
	struct line_places places;
	TAILQ_ENTRY(line_route) next;
};

void
line_init(struct line *l)
{
	*l = (struct line){0};
	TAILQ_INIT(&l->clients);
	for (int i = 0; i < LINE_CHAINS; i++)
		LIST_INIT(&l->chains[i]);
}

/* This must be true between two calls; O(1). */
static void
check(const struct line *l)
{
	assert((l->count == 0) == TAILQ_EMPTY(&l->clients));
}

static struct line_chain *
chain_of(const struct line *l, uint64_t client)
{
	return (struct line_chain *)(uintptr_t)&l->chains[client % LINE_CHAINS];
}

static struct line_client *
find_client(const struct line *l, uint64_t number)
{
	struct line_client *c;
	LIST_FOREACH (c, chain_of(l, number), chain)
		if (c->number == number)
			return c;
	return NULL;
}

static struct line_client *
client_of(struct line *l, uint64_t number)
{
	struct line_client *c = find_client(l, number);
	if (c)
		return c;
	c = NEW(struct line_client);
	c->number = number;
	TAILQ_INIT(&c->routes);
	TAILQ_INSERT_TAIL(&l->clients, c, next);
	LIST_INSERT_HEAD(chain_of(l, number), c, chain);
	return c;
}

static struct line_route *
route_of(struct line_client *c, unsigned number)
{
	struct line_route *r;
	TAILQ_FOREACH (r, &c->routes, next)
		if (r->number == number)
			return r;
	r = NEW(struct line_route);
	r->client = c;
	r->number = number;
	TAILQ_INIT(&r->places);
	TAILQ_INSERT_TAIL(&c->routes, r, next);
	return r;
}

void
line_enter(struct line *l, struct line_place *p)
{
	assert(!p->in);
	p->in = route_of(client_of(l, p->client), p->route);
	TAILQ_INSERT_TAIL(&p->in->places, p, next);
	p->in->count++;
	p->in->client->count++;
	l->count++;
	check(l);
}

void
line_leave(struct line *l, struct line_place *p)
{
	struct line_route *r = p->in;
	struct line_client *c = r->client;
	assert(r->count && c->count >= r->count && l->count >= c->count);
	TAILQ_REMOVE(&r->places, p, next);
	p->in = NULL;
	l->count--;
	c->count--;
	if (--r->count == 0) {
		TAILQ_REMOVE(&c->routes, r, next);
		free(r);
	}
	if (c->count == 0) {
		TAILQ_REMOVE(&l->clients, c, next);
		LIST_REMOVE(c, chain);
		free(c);
	}
	check(l);
}

void
line_take(struct line *l, struct line_place *p)
{
	struct line_route *r = p->in;
	struct line_client *c = r->client;
	TAILQ_REMOVE(&c->routes, r, next);
	TAILQ_INSERT_TAIL(&c->routes, r, next);
	TAILQ_REMOVE(&l->clients, c, next);
	TAILQ_INSERT_TAIL(&l->clients, c, next);
	line_leave(l, p);
}

static struct line_place *
first_of(const struct line_client *c)
{
	return c ? TAILQ_FIRST(&TAILQ_FIRST(&c->routes)->places) : NULL;
}

struct line_place *
line_first(const struct line *l)
{
	return first_of(TAILQ_FIRST(&l->clients));
}

struct line_place *
line_nth(const struct line *l, unsigned n)
{
	const struct line_client *c = TAILQ_FIRST(&l->clients);
	while (c && n--)
		c = TAILQ_NEXT(c, next);
	return first_of(c);
}

unsigned
line_places(const struct line *l, uint64_t client)
{
	const struct line_client *c = find_client(l, client);
	return c ? c->count : 0;
}

struct line_place *
line_longest(const struct line *l, unsigned least)
{
	const struct line_client *c, *longest = NULL;
	const struct line_route *r, *most = NULL;
	TAILQ_FOREACH (c, &l->clients, next)
		if (c->count > (longest ? longest->count : least))
			longest = c;
	if (!longest)
		return NULL;
	TAILQ_FOREACH (r, &longest->routes, next)
		if (!most || r->count > most->count)
			most = r;
	return TAILQ_LAST(&most->places, line_places);
}
