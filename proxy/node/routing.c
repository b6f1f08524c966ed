/* routing.c - the facts of an imagined request as JSON, for `twice route`. */
#include "proxy/node/routing.h"

#include "config/config.h"
#include "config/print.h"
#include "proxy/base/mem.h"
#include "proxy/http/forwarded.h"
#include "proxy/node/explain_headers.h"
#include "proxy/node/imagined.h"

#include <stdlib.h>

enum { NOT_MATCHED_MOST = 10 };

struct routing {
	struct settings *settings;
	json_t **changed; /* of each route that was named: its settings; else NULL */
};

struct routing *
routing_create(const struct config *c)
{
	struct routing *r = NEW(struct routing);
	r->settings = settings_create(c, 0);
	r->changed = mem_zalloc((c->route_count + 1) * sizeof *r->changed);
	return r;
}

void
routing_destroy(struct routing **rp)
{
	struct routing *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	for (unsigned i = 0; i < r->settings->config->route_count; i++)
		json_decref(r->changed[i]);
	free(r->changed);
	settings_unref(&r->settings);
	free(r);
}

static json_t *
text_of(const char *z)
{
	return z ? explain_text(str_of(z)) : json_null();
}

/* ---- the route ------------------------------------------------------------------------------- */

static void
add_setting(void *ctx, const char *setting, const char *value)
{
	if (strcmp(setting, "host") != 0 && strcmp(setting, "path") != 0)
		json_object_set_new(ctx, setting, text_of(value));
}

/* A configuration may have thousands of routes, and a call ask for thousands of URLs. */
static json_t *
settings_of(struct routing *r, unsigned number)
{
	json_t **j = &r->changed[number - 1];
	if (!*j) {
		*j = json_object();
		config_route_each(&r->settings->config->routes[number - 1], add_setting, *j);
	}
	return *j;
}

static json_t *
name_of(const struct routing *r, unsigned number)
{
	const struct config_route *c = &r->settings->config->routes[number - 1];
	return json_pack("{s:i, s:o, s:o}", "number", (int)number, "host", text_of(c->host), "path",
			 text_of(c->path));
}

static json_t *
route_of(struct routing *r, const struct imagined *im)
{
	if (!im->number)
		return json_null();
	json_t *route = name_of(r, im->number);
	json_object_set(route, "settings", settings_of(r, im->number));
	return route;
}

static const char *
because(const struct routes *r, const struct imagined *im, unsigned number)
{
	static const char *const differs[] = {
		[ROUTE_NO_DIFFERENCE] = "its path differs from the URL's as it is written",
		[ROUTE_HOST_DIFFERS] = "its host differs",
		[ROUTE_PATH_DIFFERS] = "its path differs",
		[ROUTE_METHOD_DIFFERS] = "its methods differ",
		[ROUTE_FIELDS_DIFFER] = "it asks for header fields that the request does not have",
	};
	enum route_difference difference = route_difference(r, number, &im->rq);
	bool is_other_form = number == im->number && difference == ROUTE_PATH_DIFFERS;
	return differs[is_other_form ? ROUTE_NO_DIFFERENCE : difference];
}

/* The routes before the first one that is for the path as it is written; all, where first is 0. */
static void
add_not_matched(const struct routing *r, const struct imagined *im, unsigned first, json_t *top)
{
	unsigned count = first ? first - 1 : r->settings->config->route_count;
	unsigned shown = count < NOT_MATCHED_MOST ? count : NOT_MATCHED_MOST;
	json_t *list = json_array();
	for (unsigned i = 1; i <= shown; i++) {
		json_t *one = name_of(r, i);
		json_object_set_new(one, "because",
				    json_string(because(r->settings->routes, im, i)));
		json_array_append_new(list, one);
	}
	json_object_set_new(top, "not_matched", list);
	json_object_set_new(top, "not_matched_more", json_integer(count - shown));
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static const char *
deed(const struct imagined *im)
{
	const char *here = imagined_deed(im);
	return here	       ? here
	       : im->upgrade.n ? "open a tunnel"
	       : im->shared    ? "look in the cache"
			       : "pass to the origin";
}

static json_t *
client_of(const struct imagined *im)
{
	const struct settings *s = im->settings;
	if (!im->peer.n)
		return json_null();
	struct str who = forwarded_client(&im->rq.fields, s->trusted, s->trusted_count, im->peer);
	return json_pack("{s:o, s:b}", "address", explain_text(who), "may_ask",
			 im->gate != GATE_DENIED);
}

static void
add_answer(const struct imagined *im, json_t *top)
{
	const struct local_rules *r = im->route->local;
	struct buf to = {0};
	int status = im->gate == GATE_DENIED	 ? 403
		     : im->gate == GATE_REDIRECT ? local_rules_redirect_status(r, true)
		     : im->gate == GATE_TO_HTTPS ? 301
		     : im->gate == GATE_ANSWER	 ? r->status
						 : 0;
	if (im->gate == GATE_REDIRECT)
		gate_add_location(r, &im->rq, &to);
	json_object_set_new(top, "status", status ? json_integer(status) : json_null());
	json_object_set_new(top, "location", to.n ? explain_text(buf_str(&to)) : json_null());
	buf_fini(&to);
}

static void
add_rate(json_t *list, const char *of, const struct config_rate *r)
{
	if (r->requests)
		json_array_append_new(
			list, json_pack("{s:s, s:i, s:I, s:i, s:b}", "of", of, "requests",
					(int)r->requests, "per_s", (json_int_t)r->per_s, "burst",
					(int)(r->burst ? r->burst : r->requests), "hits", r->hits));
}

/* How often a client may ask before it is told 429: all of these hold. */
static json_t *
rates_of(const struct imagined *im)
{
	const struct config *c = im->settings->config;
	json_t *list = json_array();
	add_rate(list, "all routes", &c->rate);
	if (im->number)
		add_rate(list, "this route", &c->routes[im->number - 1].rate);
	return list;
}

static json_t *
origin_of(const struct imagined *im)
{
	if (imagined_deed(im))
		return json_null();
	struct outgoing o = im->outgoing;
	o.shared = im->shared && !im->as_it_came;
	return explain_origin(im->settings->config, im->route->group, &o, buf_str(&im->key.text));
}

static void
add_sentence(struct buf *b, json_t *why)
{
	if (b->n)
		json_array_append_new(why, explain_text(buf_str(b)));
	b->n = 0;
}

static json_t *
why_of(const struct imagined *im)
{
	json_t *why = json_array();
	struct buf b = {0};
	imagined_doubt(im, &b);
	add_sentence(&b, why);
	imagined_why(im, &b);
	add_sentence(&b, why);
	buf_fini(&b);
	if (imagined_lacks_peer(im))
		json_array_append_new(why,
				      json_string("The route asks which address the client has "
						  "(allow, deny): say --from ADDRESS."));
	if (!imagined_deed(im) && !im->shared)
		json_array_append_new(why, json_string(imagined_why_passed(im)));
	if (!imagined_deed(im) && im->as_it_came)
		json_array_append_new(why, json_string(imagined_why_as_it_came));
	return why;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static json_t *
refused(const struct fault *f, struct str url)
{
	return json_pack("{s:o, s:s, s:i, s:[s]}", "url", explain_text(url), "does",
			 "refuse as malformed", "status", f->status, "why", f->rule);
}

static json_t *
json_of(struct routing *r, const struct imagined *im, struct str url)
{
	if (im->fault)
		return refused(im->fault, url);
	json_t *top = json_pack("{s:o, s:s}", "url", explain_text(url), "does", deed(im));
	json_object_set_new(top, "route", route_of(r, im));
	unsigned first = route_as_written(r->settings->routes, &im->rq);
	add_not_matched(r, im, first, top);
	json_object_set_new(top, "client", client_of(im));
	json_object_set_new(top, "rates", rates_of(im));
	add_answer(im, top);
	json_object_set_new(top, "key", explain_text(buf_str(&im->key.text)));
	json_object_set_new(top, "origin", origin_of(im));
	json_object_set_new(top, "why", why_of(im));
	return top;
}

const char *
routing_ask(struct routing *r, const struct routing_order *o, json_t **out)
{
	struct imagined im;
	struct imagined_order order = {
		.url = o->url, .fields = o->fields, .peer = o->from, .method = o->method};
	const char *no = imagined_init(&im, r->settings, &order);
	if (no)
		return no;
	*out = json_of(r, &im, o->url);
	imagined_fini(&im);
	return NULL;
}
