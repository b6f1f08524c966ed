/* imagined.c - an URL becomes the bytes of a request; the rest is what real requests go through. */
#include "proxy/node/imagined.h"

#include "config/config.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/policy.h"
#include "proxy/http/upgrade.h"

#include <arpa/inet.h>
#include <string.h>

enum { URL_BYTES_MOST = 8192, FIELDS_BYTES_MOST = 8192 };

/* ---- the request ----------------------------------------------------------------------------- */

static bool
is_clean(struct str s, bool lines)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t' &&
		    !(lines && (s.p[i] == '\r' || s.p[i] == '\n')))
			return false;
	return true;
}

/* Scheme, host and the rest of an absolute URL; without its fragment, which no client sends. */
static bool
split_url(struct str url, struct str *scheme, struct str *host, struct str *target)
{
	struct str schemes[] = {STR("http"), STR("https")};
	url = str_before(url, '#');
	for (size_t i = 0; i < 2; i++) {
		struct str rest = str_from(url, schemes[i].n);
		if (!str_starts(url, schemes[i]) || !str_starts(rest, STR("://")))
			continue;
		rest = str_from(rest, 3);
		size_t n = 0;
		while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
			n++;
		*scheme = schemes[i];
		*host = (struct str){rest.p, n};
		*target = str_from(rest, n);
		return n > 0;
	}
	return false;
}

static bool
is_address(struct str s)
{
	char z[INET6_ADDRSTRLEN];
	unsigned char bytes[16];
	if (s.n >= sizeof z)
		return false;
	memcpy(z, s.p, s.n);
	z[s.n] = '\0';
	return inet_pton(AF_INET, z, bytes) == 1 || inet_pton(AF_INET6, z, bytes) == 1;
}

static const char *
make_request(struct imagined *im, const struct imagined_order *o)
{
	struct str scheme, host, target;
	const struct config *c = im->settings->config;
	const struct h1_limits limits = {.head_bytes = c->limits.head_bytes,
					 .url_bytes = c->limits.url_bytes,
					 .field_count = c->limits.fields};
	if (o->url.n > URL_BYTES_MOST || o->fields.n > FIELDS_BYTES_MOST)
		return "the URL or the headers are too long to be explained";
	if (o->peer.n && !is_address(o->peer))
		return "a client's address is one of IPv4 or IPv6, as 192.0.2.1";
	if (!is_clean(o->url, false) || !is_clean(o->method, false) || !is_clean(o->fields, true))
		return "a URL, a method or a header holds a control character";
	if (str_eq(o->method, STR("TRACE")) || str_eq(o->method, STR("CONNECT")))
		return "TRACE and CONNECT are refused whatever the routes say";
	if (!split_url(o->url, &scheme, &host, &target))
		return "a URL begins with http:// or https:// and a host";
	buf_add_str(&im->head, o->method.n ? o->method : STR("GET"));
	buf_printf(&im->head, " %s%.*s HTTP/1.1\r\nHost: %.*s\r\n",
		   target.n && target.p[0] == '/' ? "" : "/", STR_ARG(target), STR_ARG(host));
	buf_add_str(&im->head, o->fields);
	buf_add_lit(&im->head, "\r\n");
	im->rq.fields = (struct fields){.v = im->fields, .cap = FIELDS_MAX};
	im->fault = h1_parse_request(buf_str(&im->head), &limits, &im->rq);
	im->rq.scheme = scheme;
	return NULL;
}

/* ---- as lookup.c does ------------------------------------------------------------------------ */

static bool
is_trusted(const struct imagined *im)
{
	const struct settings *s = im->settings;
	return im->peer.n && network_any_holds(s->trusted, s->trusted_count, im->peer);
}

static bool
is_denied(const struct imagined *im)
{
	const struct local_rules *r = im->route->local;
	return r && im->peer.n && local_rules_ask_client(r) &&
	       gate_denies(im->settings, r, &im->rq, im->peer);
}

static void
take_its_way(struct imagined *im)
{
	const struct settings *s = im->settings;
	const struct route *r = im->route = route_find(s->routes, &im->rq);
	im->number = route_number(s->routes, r);
	bool shared =
		!r->pass && im->rq.framing == FRAMING_NONE && policy_lookup(&im->rq) == LOOKUP_YES;
	struct str cookies = fields_get(&im->rq.fields, FIELD_COOKIE);
	if (shared && s->outgoing.ignored_count &&
	    cookies.n) /* the head lies in a buf of its own */
		outgoing_ignore_cookies(&s->outgoing, &im->rq, buf_room(&im->cookies, cookies.n));
	im->fault = outgoing_init(&im->outgoing, &im->rq, &s->outgoing, &r->key, is_trusted(im),
				  shared);
	if (im->fault)
		return;
	im->outgoing.headers = r->request;
	im->outgoing.codings = &r->codings;
	im->rq.scheme = im->outgoing.scheme;
	im->gate = gate_decide(s, r, &im->rq, is_denied(im));
	if (im->gate == GATE_OPEN)
		im->fault = outgoing_rewrite(&im->outgoing, r->rewrite, &im->path);
	if (im->fault)
		return;
	if (r->upgrade_count)
		im->upgrade = upgrade_asked(&im->rq, r->upgrades, r->upgrade_count);
	im->shared = outgoing_key(&im->outgoing, &im->key.text) && shared && !im->upgrade.n;
	im->outgoing.shared = im->shared;
	im->as_it_came =
		im->shared && outgoing_goes_as_it_came(&im->outgoing, buf_str(&im->key.text));
}

const char *
imagined_init(struct imagined *im, const struct settings *s, const struct imagined_order *o)
{
	memset(im, 0, sizeof *im);
	im->settings = s;
	im->peer = o->peer;
	const char *no = make_request(im, o);
	if (!no && !im->fault)
		take_its_way(im);
	if (no)
		imagined_fini(im);
	return no;
}

void
imagined_fini(struct imagined *im)
{
	key_fini(&im->key);
	buf_fini(&im->head);
	buf_fini(&im->cookies);
	buf_fini(&im->path);
	memset(im, 0, sizeof *im);
}

/* ---- sentences ------------------------------------------------------------------------------- */

const char *
imagined_deed(const struct imagined *im)
{
	static const char *const deeds[] = {
		[GATE_OPEN] = NULL,
		[GATE_CHALLENGE] = "answer a certificate authority",
		[GATE_DENIED] = "refuse with 403",
		[GATE_TO_HTTPS] = "redirect to https",
		[GATE_REDIRECT] = "redirect",
		[GATE_ANSWER] = "answer as the route says",
	};
	return deeds[im->gate];
}

void
imagined_why(const struct imagined *im, struct buf *out)
{
	const struct local_rules *r = im->route->local;
	switch (im->gate) {
	case GATE_OPEN:
		return;
	case GATE_CHALLENGE:
		buf_add_lit(out, "Challenges are answered from tls.acme_challenges.");
		return;
	case GATE_DENIED:
		buf_printf(out, "%s",
			   im->route->closed
				   ? "An origin could read the path as another route's, and one of "
				     "these routes denies, limits or answers by itself: "
				     "nobody may ask."
				   : "The route denies the client (allow, deny).");
		return;
	case GATE_TO_HTTPS:
		buf_add_lit(out, "tls.redirect sends clients that come by http to https.");
		return;
	case GATE_REDIRECT:
		buf_printf(out, "The route sends clients elsewhere, with status %d.",
			   local_rules_redirect_status(r, true));
		return;
	case GATE_ANSWER:
		buf_printf(out, "The route answers by itself, with status %d.", r->status);
		return;
	}
}

void
imagined_doubt(const struct imagined *im, struct buf *out)
{
	unsigned first = route_as_written(im->settings->routes, &im->rq);
	if (im->number == first || im->route->closed)
		return;
	if (first)
		buf_printf(
			out,
			"The path as it is written is route %u's; an origin could read it as one "
			"that matches differently.",
			first);
	else
		buf_add_lit(out, "No route matches the path as it is written; an origin could read "
				 "it as one that does.");
}

const char *
imagined_why_passed(const struct imagined *im)
{
	const struct config *c = im->settings->config;
	if (im->upgrade.n)
		return "It asks for a protocol that the route lets clients switch to.";
	if (im->route->pass && (!im->number || !c->routes[im->number - 1].pass))
		return "An origin could read the path as another route's, so the request passes.";
	if (im->route->pass)
		return "The route says that requests pass: nothing is looked up and nothing is "
		       "kept.";
	if (policy_lookup(&im->rq) != LOOKUP_YES || im->rq.framing != FRAMING_NONE)
		return "A request like this one is not answered from a cache.";
	return "The request passes because of a cookie: the route names it in pass_cookies, or it is part "
	       "of the key and servers could read it in different ways.";
}

const char imagined_why_as_it_came[] =
	"It has Authorization or a signature, and is not in the form in which the origin is asked "
	"for all: if the cache has no answer, the request goes to the origin as it came, and the "
	"origin's answer is for this client alone.";

bool
imagined_lacks_peer(const struct imagined *im)
{
	const struct local_rules *r = im->route->local;
	return !im->peer.n && r && local_rules_ask_client(r);
}
