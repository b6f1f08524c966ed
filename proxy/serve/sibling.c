/* sibling.c - a request of a sibling, and whether one of a client is for a sibling. */
#include "proxy/serve/sibling.h"

#include "proxy/base/network.h"
#include "proxy/fleet/hop.h"
#include "proxy/fleet/purge_seen.h"
#include "proxy/serve/controlling.h"
#include "proxy/serve/sibling_word.h"

#include <assert.h>

/* ---- a request of a sibling ---------------------------------------------------------------- */

/* The one field, if it is signed for this node and this request. */
static bool
is_signed(const struct txn *t, const struct chart *c, struct hop *h)
{
	struct str field = sibling_field(&t->rq.fields);
	struct hop_subject about = {
		.to = c->self.id, .method = t->rq.method_name, .target = t->rq.target};
	return field.n && hop_parse(field, h) == 0 &&
	       hop_is_signed(h, &c->self.secret, &about, now_s());
}

/* As if its client had come here. */
static bool
stands_for_client(struct txn *t, const struct hop *h)
{
	unsigned char address[16];
	bool https = str_eq(h->scheme, STR("https"));
	bool named = h->client.n && h->client.n < sizeof t->from.ip;
	if (!named || (!https && !str_eq(h->scheme, STR("http"))) ||
	    (!str_eq(h->client, STR("unix")) && network_address(h->client, address)) ||
	    (t->rq.method != METHOD_GET && t->rq.method != METHOD_HEAD) ||
	    t->upload.state != UPLOAD_NONE)
		return false;
	memcpy(t->from.ip, h->client.p, h->client.n);
	t->from.ip[h->client.n] = '\0';
	t->from.asks = h->ask;
	t->from.node = h->from;
	t->rq.scheme = https ? STR("https") : STR("http");
	t->rq.by_h2 = h->http == 2;
	t->rq.minor = h->http > 0;
	metrics_add(t->serve->metrics, h->ask ? METRIC_HOPS_ASKED : METRIC_HOPS_TAKEN, 1);
	return true;
}

/* The sibling has heard of a purge that is not applied here: an answer of before must not come back there. */
static bool
is_behind(const struct txn *t, const struct hop *h)
{
	struct purge_name heard[PURGE_NAMES_SEEN_MOST];
	unsigned n = h->seen.n ? purge_seen_parse(h->seen, heard) : 0;
	return n && purge_names_is_behind(t->serve->shelves->fleet->names, heard, n, now_ms());
}

/* It answers nothing now, for that reason. */
static void
answer_state(struct txn *t, const struct chart *c, struct str state)
{
	struct buf field = {0};
	struct hop h = {.from = c->self.id, .at_s = now_s(), .state = state};
	hop_format(&h, NULL, NULL, &field);
	t->from.said = arena_copy(t->arena, buf_str(&field));
	buf_fini(&field);
	answer_said(t, 503, STR("a purge is on its way to this node\n"));
}

bool
sibling_takes(struct txn *t)
{
	struct hop h;
	assert(t->from.sibling && !t->from.ip[0]);
	if (controlling_begin(t))
		return false;
	charts_follow(t->serve->shelves->fleet, &t->serve->fleet);
	const struct chart *c = t->serve->fleet.chart;
	if (!c) {
		controlling_answer_not_now(t);
	} else if (!is_signed(t, c, &h)) {
		answer_said(t, 403, STR("nodes of the fleet alone are answered here\n"));
	} else if (!stands_for_client(t, &h)) {
		answer_said(t, 400, STR("no request of a client is passed on like this\n"));
	} else if (is_behind(t, &h)) {
		answer_state(t, c, STR("behind"));
	} else {
		return true;
	}
	return false;
}

/* ---- a request for a sibling --------------------------------------------------------------- */

void
sibling_look(struct txn *t)
{
	struct charts_follower *f = &t->serve->fleet;
	struct sibling *owners[RING_DEEP];
	if (t->from.sibling)
		return;
	charts_follow(t->serve->shelves->fleet, f);
	if (!f->chart)
		return;
	t->from.elsewhere = chart_to_ask(f->chart, t->key.primary.hi, now_ms(), owners) > 0;
}
