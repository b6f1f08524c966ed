/* tunnel.c - who may have a tunnel, when it opens, and what is counted of it. */
#include "proxy/serve/tunnel.h"

#include "config/config.h"
#include "proxy/base/network.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/upgrade.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/txn.h"

#include <assert.h>

/* txn.tunnel.held: not counted; counted among all; from HELD_OF on, also among those of a client.
 * TIMES: a client may have so many times as many as are left. */
enum { HELD_NOT, HELD_BY_ALL, HELD_OF, TIMES = 3 };

/* A forwarder that names no client, and who comes by a Unix socket, may speak for many. */
static unsigned
holder_of(const struct txn *t)
{
	const struct settings *s = t->settings;
	char peer[STREAM_PEER_BYTES];
	txn_peer(t, peer);
	struct str client =
		forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer));
	if (str_eq(client, STR("unix")) || network_any_holds(s->trusted, s->trusted_count, client))
		return HELD_BY_ALL;
	return HELD_OF + (unsigned)(sight_asker(t).hash % TUNNEL_SLOTS);
}

/* Counted, whether there was room or not. The more are open, the fewer may be one client's: who has none
 * finds room as long as there is any. */
static bool
takes_place(struct txn *t)
{
	struct shelves *shelves = t->serve->shelves;
	unsigned most = t->settings->config->limits.tunnels, theirs = 0;
	t->tunnel.held = holder_of(t);
	unsigned all = atomic_fetch_add_explicit(&shelves->tunnels, 1, memory_order_relaxed);
	if (t->tunnel.held >= HELD_OF)
		theirs = atomic_fetch_add_explicit(&shelves->tunnels_of[t->tunnel.held - HELD_OF],
						   1, memory_order_relaxed);
	return all < most && theirs / TIMES < most - all;
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

static void
give_place_back(struct txn *t)
{
	struct shelves *shelves = t->serve->shelves;
	unsigned before = atomic_fetch_sub_explicit(&shelves->tunnels, 1, memory_order_relaxed);
	assert(before > 0);
	if (t->tunnel.held >= HELD_OF) {
		before = atomic_fetch_sub_explicit(&shelves->tunnels_of[t->tunnel.held - HELD_OF],
						   1, memory_order_relaxed);
		assert(before > 0);
	}
	t->tunnel.held = HELD_NOT;
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
	give_place_back(t);
	if (!t->tunnel.is_open)
		return;
	metrics_add(m, METRIC_TUNNELS_CLOSED, 1);
	metrics_add(m, METRIC_TUNNEL_BYTES_SENT, t->body_sent);
	metrics_add(m, METRIC_TUNNEL_BYTES_RECEIVED, t->tunnel.received);
}
