/* route_names.c - two configurations of names at most are in use, and there are numbers for both. */
#include "proxy/node/route_names.h"

#include "config/config.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)MEASURES_ROUTES >= 2 * (int)CONFIG_NAMES_MOST,
	       "numbers for two configurations");

/* MEASURES_ROUTES: it has none. */
static unsigned
find(const struct route_names *n, const char *name)
{
	unsigned i = 0;
	while (i < MEASURES_ROUTES && (!n->of[i].name || strcmp(n->of[i].name, name) != 0))
		i++;
	return i;
}

static bool
is_used(const char *name, const struct config *before)
{
	const char *names[CONFIG_NAMES_MOST];
	unsigned count = before ? config_route_names(before, names) : 0;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void
give(struct route_names *n, const char *name, const struct config *before)
{
	unsigned i = 0;
	while (i < MEASURES_ROUTES && n->of[i].name &&
	       (n->of[i].taken || is_used(n->of[i].name, before)))
		i++;
	assert(i < MEASURES_ROUTES); /* two configurations' names at most are in use */
	free(n->of[i].name);
	n->of[i] = (struct route_name){.name = mem_strdup(name), .taken = true};
}

unsigned char *
route_names_open(struct route_names *n, const struct config *c, const struct config *before)
{
	const char *names[CONFIG_NAMES_MOST];
	unsigned count = config_route_names(c, names);
	unsigned char *numbers = mem_zalloc(c->route_count + 1);
	for (unsigned i = 0; i < MEASURES_ROUTES; i++)
		n->of[i].taken = n->of[i].name && is_used(n->of[i].name, c);
	for (unsigned i = 0; i < count; i++)
		if (find(n, names[i]) == MEASURES_ROUTES)
			give(n, names[i], before);
	for (unsigned i = 0; i < c->route_count; i++)
		if (c->routes[i].name)
			numbers[i] = (unsigned char)find(n, c->routes[i].name);
	return numbers;
}

void
route_names_fini(struct route_names *n)
{
	for (unsigned i = 0; i < MEASURES_ROUTES; i++) {
		free(n->of[i].name);
		n->of[i].name = NULL;
	}
}
