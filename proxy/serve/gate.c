/* gate.c - challenges first: an authority asks by http, and would have to trust a certificate that
 * is not there yet if it were sent to https. */
#include "proxy/serve/gate.h"

#include "config/config.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/uri.h"
#include "proxy/serve/challenging.h"
#include "proxy/serve/routes/rates.h"
#include "proxy/serve/txn.h"

#include <assert.h>

enum { SECOND_NS = 1000000000 };

static const struct str challenges = STR_INIT("/.well-known/acme-challenge/");

static bool
is_read(const struct request *rq)
{
	return rq->method == METHOD_GET || rq->method == METHOD_HEAD;
}

/* ---- decisions ----------------------------------------------------------------------------- */

static bool
is_challenge(const struct settings *s, const struct request *rq)
{
	return s->config->tls.acme_challenges && is_read(rq) &&
	       str_starts(rq->path_query, challenges);
}

/* The scheme is what a trusted forwarder says it was: what came to it by https is not sent back. */
static bool
goes_to_https(const struct settings *s, const struct request *rq)
{
	return s->config->tls.redirect == CONFIG_REDIRECT_HTTPS &&
	       str_eq(rq->scheme, STR("http")) && str_starts(rq->path_query, STR("/"));
}

bool
gate_denies(const struct settings *s, const struct local_rules *r, const struct request *rq,
	    struct str peer)
{
	return local_rules_deny(r,
				forwarded_client(&rq->fields, s->trusted, s->trusted_count, peer));
}

enum gate
gate_decide(const struct settings *s, const struct route *route, const struct request *rq,
	    bool denied)
{
	const struct local_rules *r = route->local;
	if (is_challenge(s, rq))
		return GATE_CHALLENGE;
	if (route->closed || denied)
		return GATE_DENIED;
	if (goes_to_https(s, rq))
		return GATE_TO_HTTPS;
	if (!r || (!r->to.n && !r->status))
		return GATE_OPEN;
	return r->to.n ? GATE_REDIRECT : GATE_ANSWER;
}

void
gate_add_location(const struct local_rules *r, const struct request *rq, struct buf *out)
{
	struct local_values v = {uri_host(rq->authority), rq->scheme, rq->path_query};
	if (!str_starts(v.path_query, STR("/")))
		v.path_query = STR("/"); /* OPTIONS * */
	local_rules_add_location(r, &v, out);
}

/* ---- deeds --------------------------------------------------------------------------------- */

static void
answer_by_https(struct txn *t)
{
	struct str host = uri_host(t->rq.authority);
	if (host.n == 0)
		answer_fault(t, &fault_HOST);
	else /* 301 may turn a POST into a GET (RFC 9110 15.4.2). */
		answer_moved(t, is_read(&t->rq) ? 301 : 308, host,
			     t->settings->config->tls.redirect_port);
}

static void
answer_redirect(struct txn *t)
{
	const struct local_rules *r = t->route->local;
	struct buf to = {0};
	gate_add_location(r, &t->rq, &to);
	answer_sent_on(t, local_rules_redirect_status(r, is_read(&t->rq)), buf_str(&to));
	buf_fini(&to);
}

static bool
is_denied(struct txn *t)
{
	char peer[STREAM_PEER_BYTES];
	const struct local_rules *r = t->route->local;
	if (!r || !local_rules_ask_client(r))
		return false;
	txn_peer(t, peer);
	return gate_denies(t->settings, r, &t->rq, str_of(peer));
}

/* True: the client has asked too often, and is told so. hits: by the rules for which answers from
 * the cache count; else by the others. */
static bool
is_limited(struct txn *t, bool hits)
{
	char peer[STREAM_PEER_BYTES];
	const struct settings *s = t->settings;
	txn_peer(t, peer);
	struct str client =
		forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer));
	int64_t wait_ns = rates_take(t->serve->shelves->rates, t->route->rates, hits, client,
				     now_us() * 1000);
	if (wait_ns)
		answer_limited(t, (uint64_t)((wait_ns + SECOND_NS - 1) / SECOND_NS));
	return wait_ns != 0;
}

bool
gate_admits(struct txn *t)
{
	if (!t->rate_due)
		return true;
	t->rate_due = false;
	return !is_limited(t, false);
}

/* Before the cache is asked, so that what is answered does not depend on what is stored. False: the request is
 * refused, and answered. */
static bool
is_rewritten(struct txn *t)
{
	struct buf path = {0};
	t->fault = outgoing_rewrite(&t->outgoing, t->route->rewrite, &path);
	t->outgoing.path = arena_copy(t->arena, t->outgoing.path);
	buf_fini(&path);
	if (t->fault)
		answer_fault(t, t->fault);
	return !t->fault;
}

bool
gate_answers(struct txn *t)
{
	if (t->from.sibling) /* all else was done where its client is */
		return t->route->rewrite && !is_rewritten(t);
	enum gate gate = gate_decide(t->settings, t->route, &t->rq, is_denied(t));
	const struct rate_rules *rates = t->route->rates;
	assert(t->state == TXN_BEGUN && !t->rate_due);
	if (rates && gate != GATE_CHALLENGE && gate != GATE_DENIED) {
		if (rates->hits && is_limited(t, true))
			return true;
		t->rate_due = rates->no_hits;
	}
	switch (gate) {
	case GATE_OPEN:
		return t->route->rewrite && !is_rewritten(t);
	case GATE_CHALLENGE:
		challenging_begin(t, str_from(t->rq.path_query, challenges.n));
		break;
	case GATE_DENIED:
		answer_denied(t);
		break;
	case GATE_TO_HTTPS:
		answer_by_https(t);
		break;
	case GATE_REDIRECT:
		answer_redirect(t);
		break;
	case GATE_ANSWER:
		answer_routed(t, t->route->local);
		break;
	}
	return true;
}

bool
gate_answers_method(struct txn *t)
{
	struct str hops = fields_get(&t->rq.fields, FIELD_MAX_FORWARDS);
	bool last = str_eq(hops, STR("0"));
	if (t->rq.method == METHOD_OPTIONS && last) {
		answer_local(t, 200, method_allow);
		return true;
	}
	/* RFC 9110 9.3.8 would echo the request; that hands credentials to scripts, so nobody does.
	 */
	if (t->rq.method == METHOD_TRACE) {
		answer_local(t, 405, method_allow);
		return true;
	}
	return false;
}

bool
gate_trusts(struct txn *t)
{
	const struct settings *s = t->settings;
	if (!s->trusted_count)
		return false;
	txn_peer(t, t->from.ip);
	return network_any_holds(s->trusted, s->trusted_count, str_of(t->from.ip));
}
