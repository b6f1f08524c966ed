/* rate.c - rules compiled from the configuration, and the arithmetic of one request. */
#include "proxy/serve/routes/rate.h"

#include "config/routes.h"
#include "proxy/base/buf.h"
#include "proxy/base/mem.h"

#include <stdlib.h>
#include <xxhash.h>

static const int64_t second_ns = 1000000000;

static void
add_rule(struct rate_rules *to, const struct config_rate *c, const struct config_route *route)
{
	struct buf name = {0};
	unsigned burst = c->burst ? c->burst : c->requests;
	if (!c->requests)
		return;
	buf_printf(&name, "%u/%llu/%u", c->requests, (unsigned long long)c->per_s, burst);
	if (route) /* no text of a route has a line's end */
		buf_printf(&name, "\n%s\n%s", route->host ? route->host : "",
			   route->path ? route->path : "");
	for (unsigned i = 0; route && i < route->match.method_count; i++)
		buf_printf(&name, "\n%s", route->match.methods[i]);
	for (unsigned i = 0; route && i < route->match.header_count; i++)
		buf_printf(&name, "\n%s", route->match.headers[i]);
	struct rate_rule *r = &to->of[to->count++];
	*r = (struct rate_rule){.id = XXH3_64bits(name.p, name.n), .hits = c->hits};
	r->interval_ns = (int64_t)c->per_s * second_ns / c->requests;
	r->burst_ns = r->interval_ns * burst;
	to->hits |= c->hits;
	to->no_hits |= !c->hits;
	buf_fini(&name);
}

struct rate_rules *
rate_rules_create(const struct config_rate *all, const struct config_route *route)
{
	if (!all->requests && !route->rate.requests)
		return NULL;
	struct rate_rules *r = NEW(struct rate_rules);
	add_rule(r, all, NULL);
	add_rule(r, &route->rate, route);
	return r;
}

void
rate_rules_destroy(struct rate_rules **r)
{
	free(*r);
	*r = NULL;
}

/* A time further ahead than the rule ever charges was charged by another one of the same cells. */
struct rate_verdict
rate_decide(const struct rate_rule *r, int64_t until_ns, int64_t now_ns)
{
	struct rate_verdict v = {0};
	int64_t most = now_ns + r->burst_ns;
	int64_t used = until_ns < now_ns ? now_ns : until_ns > most ? most : until_ns;
	v.until_ns = used + r->interval_ns;
	if (v.until_ns > most)
		v.wait_ns = v.until_ns - most;
	return v;
}
