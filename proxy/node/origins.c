/* origins.c - from settings to groups of servers. */
#include "proxy/node/origins.h"

#include "proxy/admin/report.h"
#include "proxy/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static struct origin *
open_server(const struct config_member *m, char *err, size_t err_bytes)
{
	const struct config_origin *c = m->origin;
	struct origin_options o = {
		.url = m->url,
		.host = c->host,
		.ca_file = c->ca_file,
		.insecure = !c->verify,
		.connect_timeout_ms = (long)c->connect_timeout_ms,
		.first_byte_timeout_ms = (long)c->first_byte_timeout_ms,
		.read_timeout_ms = (long)c->read_timeout_ms,
		.total_timeout_ms = (long)c->total_timeout_ms,
		.max_connections = c->max_connections,
	};
	return origin_create(&o, err, err_bytes);
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

/* What may be under way and waiting in a group: as many as all its servers have connections for,
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

/* Servers from number *next on, as long as they are of that group. */
static int
open_group(struct origins *o, const struct config *c, unsigned workers, unsigned *next, char *err,
	   size_t err_bytes)
{
	struct upstream_server servers[UPSTREAM_MOST];
	unsigned group = o->group_count, n = 0, all = config_member_count(c), first = *next;
	struct config_member m;
	for (; *next < all; ++*next) {
		config_member(c, *next, &m);
		if (m.group != group)
			break;
		if (n == UPSTREAM_MOST) {
			snprintf(err, err_bytes, "group %s has too many servers; there may be %d",
				 config_group_name(c, group), UPSTREAM_MOST);
			goto failed;
		}
		struct origin *origin = open_server(&m, err, err_bytes);
		if (!origin)
			goto failed;
		servers[n++] = (struct upstream_server){origin, m.weight, m.backup};
	}
	const struct config_origin *rules = config_group(c, group);
	struct upstream_options u = {
		.name = config_group_name(c, group),
		.balance = balance_of(rules),
		.retries = rules->retries,
		.most = most_of(c, workers, group, n),
		.first = first,
	};
	o->groups[o->group_count++] = upstream_create(&u, servers, n);
	return 0;
failed:
	while (n--)
		origin_destroy(&servers[n].origin);
	return -1;
}

int
origins_open(struct origins *o, const struct config *c, unsigned workers, char *err,
	     size_t err_bytes)
{
	unsigned groups = config_group_count(c), next = 0;
	if (config_member_count(c) > REPORT_ORIGINS_MOST) {
		snprintf(err, err_bytes, "%u servers of origins are too many; there may be %d",
			 config_member_count(c), REPORT_ORIGINS_MOST);
		return -1;
	}
	o->groups = mem_zalloc((groups + 1) * sizeof *o->groups);
	while (o->group_count < groups)
		if (open_group(o, c, workers, &next, err, err_bytes))
			return -1;
	return 0;
}

void
origins_close(struct origins *o)
{
	for (unsigned i = 0; i < o->group_count; i++)
		upstream_destroy(&o->groups[i]);
	free(o->groups);
	*o = (struct origins){0};
}
