/* origins.c - from settings to groups of servers. */
#include "proxy/node/origins.h"

#include "config/groups.h"
#include "config/origins.h"
#include "proxy/base/mem.h"
#include "proxy/origin/resolver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------- */

static bool
is_in(const struct origins *o, unsigned number)
{
	for (unsigned g = 0; o && g < o->group_count; g++)
		for (unsigned i = 0; i < upstream_count(o->groups[g]); i++)
			if (upstream_state(o->groups[g], i, 0).number == number)
				return true;
	return false;
}

/* -1: every number is in use. */
static int
find_free(const struct origin_names *names, const struct origins *before)
{
	for (int i = 0; i < REPORT_ORIGINS_MOST; i++)
		if (!names->of[i].url)
			return i;
	for (int i = 0; i < REPORT_ORIGINS_MOST; i++)
		if (!names->of[i].taken && !is_in(before, (unsigned)i))
			return i;
	return -1;
}

static int
number_of(struct origin_names *names, const struct origins *before, const char *group,
	  const char *url)
{
	int i = 0;
	while (i < REPORT_ORIGINS_MOST &&
	       (!names->of[i].url || strcmp(names->of[i].url, url) != 0 ||
		strcmp(names->of[i].group, group) != 0))
		i++;
	if (i == REPORT_ORIGINS_MOST && (i = find_free(names, before)) >= 0) {
		free(names->of[i].group);
		free(names->of[i].url);
		names->of[i] =
			(struct origin_name){.group = mem_strdup(group), .url = mem_strdup(url)};
	}
	if (i >= 0)
		names->of[i].taken = true;
	return i;
}

void
origins_names_fini(struct origin_names *n)
{
	for (unsigned i = 0; i < REPORT_ORIGINS_MOST; i++) {
		free(n->of[i].group);
		free(n->of[i].url);
	}
	resolver_destroy(&n->resolver);
}

/* ---- groups -------------------------------------------------------------------------------- */

struct opening {
	struct origins *o;
	const struct config *c;
	unsigned workers;
	const struct origins *before;
	struct origin_names *names;
	char *err;
	size_t err_bytes;
};

static struct upstream *
group_before(const struct opening *op, const char *name)
{
	for (unsigned g = 0; op->before && g < op->before->group_count; g++)
		if (strcmp(upstream_name(op->before->groups[g]), name) == 0)
			return op->before->groups[g];
	return NULL;
}

/* The server as it is in use, if nothing of it has changed. */
static struct origin *
same_server(const struct upstream *before, unsigned number, const struct origin_options *o)
{
	for (unsigned i = 0; before && i < upstream_count(before); i++) {
		const struct origin *was = upstream_server_origin(before, i);
		if (upstream_state(before, i, 0).number == number && origin_is(was, o))
			return origin_ref(was);
	}
	return NULL;
}

static struct origin *
open_server(const struct opening *op, const struct config_member *m, const struct upstream *before,
	    unsigned number)
{
	const struct config_origin *c = m->origin;
	assert(op->names->of[number].taken && !strcmp(op->names->of[number].url, m->url));
	struct origin_options o = {
		.url = m->url,
		.host = c->host,
		.ca_file = c->ca_file,
		.cert_file = c->cert_file,
		.key_file = c->key_file,
		.server_name = c->server_name,
		.insecure = !c->verify,
		.connect_timeout_ms = (long)c->connect_timeout_ms,
		.first_byte_timeout_ms = (long)c->first_byte_timeout_ms,
		.read_timeout_ms = (long)c->read_timeout_ms,
		.total_timeout_ms = (long)c->total_timeout_ms,
		.max_connections = c->max_connections,
		.resolver = op->names->resolver,
		.lenient = op->o->lenient,
	};
	struct origin *same = same_server(before, number, &o);
	return same ? same : origin_create(&o, op->err, op->err_bytes);
}

static enum balance
balance_of(const struct config_origin *c)
{
	switch (c->balance) {
	case CONFIG_BALANCE_ORDER:
		return BALANCE_ORDER;
	case CONFIG_BALANCE_LEAST:
		return BALANCE_LEAST;
	case CONFIG_BALANCE_ROUND_ROBIN:
		return BALANCE_ROUND_ROBIN;
	case CONFIG_BALANCE_HASH:
		return BALANCE_HASH;
	case CONFIG_BALANCE_AUTO:
		break;
	}
	return c->server_count ? BALANCE_LEAST : BALANCE_ORDER;
}

/* Requests under way and waiting in a group may be as many as all its servers have connections for,
 * and the queue. */
static unsigned
most_of(const struct config *c, unsigned workers, unsigned group, unsigned servers)
{
	const struct config_origin *o = config_group(c, group);
	uint64_t most = (uint64_t)workers * servers * o->max_connections + o->queue;
	if (!o->queue)
		return 0;
	return most < UINT32_MAX ? (unsigned)most : UINT32_MAX;
}

/* Each worker's part of the queue is its own, before a server: clients of the others cannot use it up. */
static unsigned
share_of(const struct config *c, unsigned workers, unsigned group, unsigned servers)
{
	uint64_t share = config_group(c, group)->queue / ((uint64_t)workers * servers);
	return share ? (unsigned)share : 1;
}

static struct upstream_checks
checks_of(const struct config_health *h)
{
	struct upstream_checks c = {0};
	if (!h->path || !config_expected(h->expect, &c.least, &c.most))
		return c;
	c.path = h->path;
	c.host = h->host;
	c.every_ms = (int64_t)h->every_ms;
	c.timeout_ms = (int64_t)h->timeout_ms;
	c.fall = h->fall;
	c.rise = h->rise;
	return c;
}

/* The same group if nothing of it has changed; else a new one, that knows what the old one knew. */
static struct upstream *
make_group(const struct upstream_options *u, const struct upstream_server *servers, unsigned n,
	   struct upstream *before)
{
	struct upstream *made = upstream_create(u, servers, n);
	if (before && upstream_is(before, u, servers, n)) {
		upstream_destroy(&made);
		return upstream_ref(before);
	}
	if (before)
		upstream_learn_from(made, before);
	return made;
}

static int
open_member(const struct opening *op, const struct config_member *m, struct upstream *before,
	    struct upstream_server *out)
{
	const char *group = config_group_name(op->c, m->group);
	int number = number_of(op->names, op->before, group, m->url);
	if (number < 0) {
		snprintf(op->err, op->err_bytes,
			 "the servers of before and these together are more than %d; change them "
			 "in two steps",
			 REPORT_ORIGINS_MOST);
		return -1;
	}
	struct origin *origin = open_server(op, m, before, (unsigned)number);
	*out = (struct upstream_server){origin, (unsigned)number, m->weight, m->backup};
	return origin ? 0 : -1;
}

/* Servers from number *next on, as long as they are of that group. */
static int
open_group(const struct opening *op, unsigned *next)
{
	struct upstream_server servers[UPSTREAM_MOST];
	unsigned group = op->o->group_count, n = 0, all = config_member_count(op->c);
	const char *name = config_group_name(op->c, group);
	assert(group < config_group_count(op->c));
	struct upstream *before = group_before(op, name);
	struct config_member m;
	for (; *next < all; ++*next) {
		config_member(op->c, *next, &m);
		if (m.group != group)
			break;
		if (n == UPSTREAM_MOST) {
			snprintf(op->err, op->err_bytes,
				 "group %s has too many servers; there may be %d", name,
				 UPSTREAM_MOST);
			goto failed;
		}
		if (open_member(op, &m, before, &servers[n]))
			goto failed;
		n++;
	}
	const struct config_origin *rules = config_group(op->c, group);
	struct upstream_options u = {
		.name = name,
		.balance = balance_of(rules),
		.retries = rules->retries,
		.most = most_of(op->c, op->workers, group, n),
		.share = share_of(op->c, op->workers, group, n),
		.checks = checks_of(&rules->health),
	};
	op->o->groups[op->o->group_count++] = make_group(&u, servers, n, before);
	return 0;
failed:
	while (n--)
		origin_destroy(&servers[n].origin);
	return -1;
}

int
origins_open(struct origins *o, const struct config *c, unsigned workers,
	     const struct origins *before, struct origin_names *names, char *err, size_t err_bytes)
{
	const struct opening op = {o, c, workers, before, names, err, err_bytes};
	unsigned groups = config_group_count(c), next = 0;
	if (config_member_count(c) > REPORT_ORIGINS_MOST) {
		snprintf(err, err_bytes, "%u servers of origins are too many; there may be %d",
			 config_member_count(c), REPORT_ORIGINS_MOST);
		return -1;
	}
	assert(!o->groups && o != before);
	for (unsigned i = 0; i < REPORT_ORIGINS_MOST; i++)
		names->of[i].taken = false;
	o->groups = mem_zalloc((groups + 1) * sizeof *o->groups);
	while (o->group_count < groups)
		if (open_group(&op, &next))
			return -1;
	return 0;
}

void
origins_share(struct origins *o, const struct origins *of)
{
	assert(!o->groups);
	o->groups = mem_zalloc((of->group_count + 1) * sizeof *o->groups);
	for (; o->group_count < of->group_count; o->group_count++)
		o->groups[o->group_count] = upstream_ref(of->groups[o->group_count]);
}

bool
origins_have(const struct origins *o, const struct origin *origin)
{
	for (unsigned g = 0; g < o->group_count; g++)
		for (unsigned i = 0; i < upstream_count(o->groups[g]); i++)
			if (upstream_server_origin(o->groups[g], i) == origin)
				return true;
	return false;
}

void
origins_close(struct origins *o)
{
	for (unsigned i = 0; i < o->group_count; i++)
		upstream_destroy(&o->groups[i]);
	free(o->groups);
	*o = (struct origins){0};
}
