/* tunnel.c - who may have a tunnel, when it opens, and what is counted of it. */
#include "proxy/serve/tunnel.h"

#include "config/config.h"
#include "proxy/http/upgrade.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/shelves.h"
#include "proxy/serve/txn.h"

#include <assert.h>

static bool
takes_place(struct txn *t)
{
	unsigned holder = share_holder(t);
	if (share_take(&t->serve->shelves->tunnels, holder, 1, t->settings->config->limits.tunnels))
		t->tunnel.held = holder;
	return t->tunnel.held;
}

bool
tunnel_begin(struct txn *t)
{
	assert(!t->tunnel.held && !t->tunnel.protocol.n);
	const struct route *r = t->route;
	if (r->upgrade_count)
		t->tunnel.protocol = upgrade_asked(&t->rq, r->upgrades, r->upgrade_count);
	if (!t->tunnel.protocol.n || takes_place(t))
		return true;
	metrics_add(t->serve->metrics, METRIC_TUNNELS_REFUSED, 1);
	answer_error(t, 503, "tunnels-full");
	return false;
}

void
tunnel_open(struct txn *t)
{
	assert(t->tunnel.held && !t->tunnel.is_open && t->way == WAY_PASSING);
	t->tunnel.is_open = true;
	t->upload.state = UPLOAD_AWAITED;
	metrics_add(t->serve->metrics, METRIC_TUNNELS_OPENED, 1);
	if (t->upload.fill) /* else it has ended meanwhile, and the client will be told */
		fill_body_ready(t->upload.fill);
}

void
tunnel_end(struct txn *t)
{
	struct metrics *m = t->serve->metrics;
	if (!t->tunnel.held)
		return;
	share_give(&t->serve->shelves->tunnels, t->tunnel.held, 1);
	t->tunnel.held = 0;
	if (!t->tunnel.is_open)
		return;
	metrics_add(m, METRIC_TUNNELS_CLOSED, 1);
	metrics_add(m, METRIC_TUNNEL_BYTES_SENT, t->body_sent);
	metrics_add(m, METRIC_TUNNEL_BYTES_RECEIVED, t->tunnel.received);
}
