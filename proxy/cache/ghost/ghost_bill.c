/* ghost_bill.c - what the origin is asked for: by us and not by the ghost, and the other way round. */
#include "proxy/cache/ghost/ghost_inside.h"

/* It asks the origin, or not: is that a request of its own? A slice comes with what was asked for before it, of the
 * same body and for the same client: that begins with the event of its head. */
static bool
is_request(struct ghost *g, const struct ghost_event *e, bool asks)
{
	struct ghost_asked *a = &g->bill.asked[e->url % GHOST_ASKED_SLOTS];
	bool together = e->slice && a->url == (uint32_t)e->url && a->asked;
	*a = (struct ghost_asked){(uint32_t)e->url, asks || together};
	return asks && !(e->joins && together);
}

static int
net(const struct ghost_request *r)
{
	return r->its - r->ours;
}

/* A client's request needs an origin, or none, whatever it takes: its events come one by one. Of a
 * sample the head alone counts. More: by how many more such requests the ghost has now. */
static int
more_missed(struct ghost *g, const struct ghost_event *e, bool ours, bool its, uint32_t weight)
{
	struct ghost_request one = {.id = e->request},
			     *r = e->request ? &g->bill.requests[e->request % GHOST_REQUEST_SLOTS]
					     : &one;
	if (e->background || (e->slice && weight > 1))
		return 0;
	if (r->id != e->request)
		*r = one;
	int was = net(r);
	r->ours |= ours;
	r->its |= its;
	return net(r) - was;
}

void
ghost_charge(struct ghost *g, const struct ghost_event *e, enum ghost_would w, uint32_t weight)
{
	bool asked = e->deed != GHOST_HIT, asks = w != WOULD_ANSWER;
	uint64_t ours = e->origin_bytes;
	uint64_t its = w == WOULD_FETCH ? e->body_bytes : w == WOULD_PASS ? ours : 0;
	if (w == WOULD_PASS && !asked)
		return; /* nothing is known of what it would have passed */
	bool our_request = asked && !e->joins, its_request = is_request(g, e, asks);
	g->n.extra_requests += our_request && !its_request ? weight : 0;
	g->n.avoided_requests += its_request && !our_request ? weight : 0;
	g->n.extra_bytes += ours > its ? (ours - its) * weight : 0;
	g->n.avoided_bytes += its > ours ? (its - ours) * weight : 0;
	g->n.net_missed += more_missed(g, e, asked, asks, weight) * (int64_t)weight;
}
