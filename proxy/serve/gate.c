/* gate.c - challenges first: an authority asks by http, and would have to trust a certificate that
 * is not there yet if it were sent to https. */
#include "proxy/serve/gate.h"

#include "proxy/base/challenge.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/uri.h"
#include "proxy/serve/txn.h"

static const struct str challenges = STR_INIT("/.well-known/acme-challenge/");

static bool
is_read(const struct txn *t)
{
	return t->rq.method == METHOD_GET || t->rq.method == METHOD_HEAD;
}

/* RFC 8555 8.3: the path is the token alone. What is not there is nowhere else either. */
static bool
answers_challenge(struct txn *t)
{
	const char *dir = t->settings->config->tls.acme_challenges;
	char text[CHALLENGE_BYTES];
	if (!dir || !is_read(t) || !str_starts(t->rq.path_query, challenges))
		return false;
	struct str token = str_from(t->rq.path_query, challenges.n);
	int n = challenge_read(dir, token, text);
	if (n > 0)
		answer_said(t, 200, (struct str){text, (size_t)n});
	else
		answer_said(t, 404, STR("there is no such challenge\n"));
	return true;
}

/* The scheme is what a trusted forwarder says it was: what came to it by https is not sent back. */
static bool
answers_redirect(struct txn *t)
{
	const struct config_tls *c = &t->settings->config->tls;
	if (c->redirect != CONFIG_REDIRECT_HTTPS || !str_eq(t->rq.scheme, STR("http")) ||
	    t->rq.path_query.n == 0 || t->rq.path_query.p[0] != '/')
		return false;
	struct str host = uri_host(t->rq.authority);
	if (host.n == 0) {
		answer_fault(t, &fault_HOST);
		return true;
	}
	/* 301 may turn a POST into a GET (RFC 9110 15.4.2). */
	answer_moved(t, is_read(t) ? 301 : 308, host, c->redirect_port);
	return true;
}

static bool
is_denied(struct txn *t, const struct local_rules *r)
{
	char peer[STREAM_PEER_BYTES];
	const struct settings *s = t->settings;
	if (!local_rules_ask_client(r))
		return false;
	stream_peer(t->stream, peer);
	return local_rules_deny(
		r, forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer)));
}

static bool
answers_denied(struct txn *t)
{
	const struct local_rules *r = t->route->local;
	if (!t->route->closed && !(r && is_denied(t, r)))
		return false;
	answer_denied(t);
	return true;
}

static bool
answers_by_route(struct txn *t)
{
	const struct local_rules *r = t->route->local;
	if (!r || (!r->to.n && !r->status))
		return false;
	if (!r->to.n) {
		answer_routed(t, r);
		return true;
	}
	struct local_values v = {uri_host(t->rq.authority), t->rq.scheme, t->rq.path_query};
	if (v.path_query.n == 0 || v.path_query.p[0] != '/')
		v.path_query = STR("/"); /* OPTIONS * */
	struct buf to = {0};
	local_rules_add_location(r, &v, &to);
	answer_sent_on(t, local_rules_redirect_status(r, is_read(t)), buf_str(&to));
	buf_fini(&to);
	return true;
}

bool
gate_answers(struct txn *t)
{
	if (answers_challenge(t))
		return true;
	if ((t->route->local || t->route->closed) && answers_denied(t))
		return true;
	return answers_redirect(t) || answers_by_route(t);
}
