/* tunnel.c - who may have a tunnel, when it opens, and what is counted of it. */
#include "proxy/serve/tunnel.h"

#include "config/config.h"
#include "proxy/http/upgrade.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/txn.h"

#include <assert.h>

bool
tunnel_begin(struct txn *t)
{
	_Atomic unsigned *tunnels = &t->serve->shelves->tunnels;
	assert(!t->tunnel_held && !t->upgrade.n);
	const struct route *r = t->route;
	if (r->upgrade_count)
		t->upgrade = upgrade_asked(&t->rq, r->upgrades, r->upgrade_count);
	if (!t->upgrade.n)
		return true;
	t->tunnel_held = true;
	if (atomic_fetch_add_explicit(tunnels, 1, memory_order_relaxed) <
	    t->settings->config->limits.tunnels)
		return true;
	metrics_add(t->serve->metrics, METRIC_TUNNELS_REFUSED, 1);
	answer_error(t, 503, "tunnels-full");
	return false;
}

void
tunnel_open(struct txn *t)
{
	assert(t->tunnel_held && !t->tunnel && t->way == WAY_PASSING);
	t->tunnel = true;
	t->body_in = BODY_AWAITED;
	metrics_add(t->serve->metrics, METRIC_TUNNELS_OPENED, 1);
	if (t->fill) /* else it has ended meanwhile, and the client will be told */
		fill_body_ready(t->fill);
}

void
tunnel_end(struct txn *t)
{
	struct metrics *m = t->serve->metrics;
	if (!t->tunnel_held)
		return;
	t->tunnel_held = false;
	unsigned before =
		atomic_fetch_sub_explicit(&t->serve->shelves->tunnels, 1, memory_order_relaxed);
	assert(before > 0);
	if (!t->tunnel)
		return;
	metrics_add(m, METRIC_TUNNELS_CLOSED, 1);
	metrics_add(m, METRIC_TUNNEL_BYTES_SENT, t->body_sent);
	metrics_add(m, METRIC_TUNNEL_BYTES_RECEIVED, t->tunnel_received);
}
