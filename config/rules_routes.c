/* rules_routes.c - what a route may say, and which of its settings go together. */
#include "config/groups.h"
#include "config/headers.h"
#include "config/listen.h"
#include "config/rules_inside.h"
#include "proxy/base/template.h"

#include <stdio.h>
#include <string.h>

/* HTTP is spoken behind these again, by requests that no rule of ours would see. */
static bool
is_http(const char *protocol)
{
	return strcasecmp(protocol, "h2c") == 0 || strncasecmp(protocol, "HTTP", 4) == 0 ||
	       strncasecmp(protocol, "TLS", 3) == 0;
}

static bool
is_token(const char *word)
{
	return *word && word[strspn(word, "!#$%&'*+-.^_`|~/0123456789"
					  "abcdefghijklmnopqrstuvwxyz"
					  "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* Somebody may come by HTTP/1.1, which alone has a way to switch. */
static bool
speaks_http1(const struct config *c)
{
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_scheme(c->listen[i]) != CONFIG_H2C)
			return true;
	return false;
}

/* Protocols that a route lets clients switch to. */
static const char *
check_upgrades(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	for (unsigned k = 0; k < r->upgrade_count; k++) {
		const char *name = r->upgrades[k];
		if (!is_token(name))
			return rules_wrong(
				rules_indexed("routes", i, "upgrade"), err, err_bytes,
				"\"%s\" is no name of a protocol; write one such as websocket",
				name);
		if (is_http(name))
			return rules_wrong(
				rules_indexed("routes", i, "upgrade"), err, err_bytes,
				"%s would bring requests past every rule of this file; leave "
				"it out, and let clients speak HTTP/2 with https:// or h2c:// "
				"in listen",
				name);
	}
	if (r->upgrade_count && !speaks_http1(c))
		return rules_wrong(rules_indexed("routes", i, "upgrade"), err, err_bytes,
				   "every address of listen begins with h2c://, and HTTP/2 has no "
				   "Upgrade; add one with http:// or https://");
	return NULL;
}

/* Two settings of one route of which only one can count. */
static const char *
check_route(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	bool keeps = r->keep_param_count > 0, drops = r->drop_param_count > 0;
	bool keyed = keeps || drops || r->key_header_count || r->key_cookie_count ||
		     r->query != CONFIG_QUERY_KEEP;
	if (keeps && drops)
		return rules_wrong(
			rules_indexed("routes", i, "drop_params"), err, err_bytes,
			"keep_params names the only parameters in the key already; leave one of "
			"both out");
	if ((keeps || drops) && r->query == CONFIG_QUERY_IGNORE)
		return rules_wrong(
			rules_indexed("routes", i, keeps ? "keep_params" : "drop_params"), err,
			err_bytes,
			"query: ignore leaves all parameters out of the key; leave one of both "
			"out");
	if (r->pass && (keyed || r->pass_cookie_count || r->admit != CONFIG_ADMIT_SIGHTINGS))
		return rules_wrong(
			rules_indexed("routes", i, "pass"), err, err_bytes,
			"with pass: on nothing is looked up or stored, so no rule for keys and "
			"admission can apply; leave pass or the others out");
	return NULL;
}

static bool
is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(text, *list, strlen(*list)) == 0)
			return true;
	return false;
}

/* Text of clients must not choose the host: "//evil.example" is one, in a path. */
static bool
may_be_location(const char *to)
{
	static const char *const begins[] = {"http://", "https://", "$scheme://", NULL};
	const char *host = strstr(to, "://");
	if (strpbrk(to, " \"<>\\^`{|}"))
		return false;
	if (*to == '/')
		return to[1] && to[1] != '/' && to[1] != '$';
	if (!is_one_of(to, begins))
		return false;
	size_t n = strcspn(host + 3, "/?#$");
	return n || strncmp(host + 3, "$host", 5) == 0;
}

static const char *
check_redirect(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	const char *to = r->redirect.to;
	const unsigned strange =
		TEMPLATE_BIT(UNKNOWN) | TEMPLATE_BIT(CLIENT) | TEMPLATE_BIT(CAPTURE);
	if (to && !may_be_location(to))
		return rules_wrong(rules_indexed("routes", i, "redirect.to"), err, err_bytes,
				   "%.60s is not where clients can be sent; write such as "
				   "https://www.example.com$path$query, or a path /like/this",
				   to);
	if (to && (template_pieces(str_of(to)) & strange))
		return rules_wrong(
			rules_indexed("routes", i, "redirect.to"), err, err_bytes,
			"%.60s has a variable that is not known here; write $scheme, $host, "
			"$path, $query, or $$ for a dollar",
			to);
	if (!to && strcmp(r->redirect.status ? r->redirect.status : "301", "301") != 0)
		return rules_wrong(rules_indexed("routes", i, "redirect.status"), err, err_bytes,
				   "there is nowhere to send clients to; write to: too");
	if (to && r->answer.status)
		return rules_wrong(rules_indexed("routes", i, "answer"), err, err_bytes,
				   "redirect answers already; leave one of both out");
	return NULL;
}

static bool
is_media_type(const char *type)
{
	const char *slash = strchr(type, '/');
	return slash && slash > type && slash[1] && slash[1] != ';' && !strpbrk(type, "\t,") &&
	       strcspn(type, " ") >= strcspn(type, ";");
}

static const char *
check_answer(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	const struct config_answer *a = &r->answer;
	bool no_body = a->status == 204 || a->status == 205 || a->status == 304;
	if (a->status == 206 || a->status == 304)
		return rules_wrong(rules_indexed("routes", i, "answer.status"), err, err_bytes,
				   "%u answers a part or a condition; write another, such as 200",
				   a->status);
	if (!a->status && (a->body || a->file || a->retry_after_s || a->content_type))
		return rules_wrong(rules_indexed("routes", i, "answer"), err, err_bytes,
				   "there is no status; write one such as status: 503");
	if (a->content_type && !is_media_type(a->content_type))
		return rules_wrong(rules_indexed("routes", i, "answer.content_type"), err,
				   err_bytes,
				   "\"%.60s\" is no media type; write one such as text/html or "
				   "application/json",
				   a->content_type);
	if (a->body && a->file)
		return rules_wrong(rules_indexed("routes", i, "answer.file"), err, err_bytes,
				   "body and file cannot both be sent; leave one of them out");
	if (no_body && (a->body || a->file))
		return rules_wrong(
			rules_indexed("routes", i, a->body ? "answer.body" : "answer.file"), err,
			err_bytes, "an answer with status %u has none; leave one of both out",
			a->status);
	return NULL;
}

/* NULL, or the list that is wrong, of the thread. base: "" or "routes.2.". */
static const char *
check_headers(const struct config_headers *request, const struct config_headers *response,
	      const char *base, char *err, size_t err_bytes)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	char why[256];
	snprintf(name, sizeof(name), "%srequest_headers", base);
	const char *bad = headers_check(request, true, name, why, sizeof(why));
	if (!bad) {
		snprintf(name, sizeof(name), "%sresponse_headers", base);
		bad = headers_check(response, false, name, why, sizeof(why));
	}
	return bad ? rules_wrong(bad, err, err_bytes, "%s", why) : NULL;
}

const char *
rules_of_headers(const struct config *c, char *err, size_t err_bytes)
{
	return check_headers(&c->request_headers, &c->response_headers, "", err, err_bytes);
}

unsigned
config_route_names(const struct config *c, const char *names[CONFIG_NAMES_MOST])
{
	unsigned n = 0;
	for (unsigned i = 0; i < c->route_count && n < CONFIG_NAMES_MOST; i++) {
		unsigned k = 0;
		while (k < n && c->routes[i].name && strcmp(names[k], c->routes[i].name) != 0)
			k++;
		if (c->routes[i].name && k == n)
			names[n++] = c->routes[i].name;
	}
	return n;
}

/* It becomes a label and a key. */
const char *
rules_of_names(const struct config *c, char *err, size_t err_bytes)
{
	enum { BYTES_MOST = 40 };
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *names[CONFIG_NAMES_MOST];
	unsigned n = config_route_names(c, names);
	for (unsigned i = 0; i < c->route_count; i++) {
		const char *name = c->routes[i].name;
		unsigned k = 0;
		if (!name)
			continue;
		if (name[strspn(name, allowed)] || strlen(name) > BYTES_MOST)
			return rules_wrong(
				rules_indexed("routes", i, "name"), err, err_bytes,
				"\"%.60s\" is no name; write up to %d letters, digits, - _ and .",
				name, BYTES_MOST);
		while (k < n && strcmp(names[k], name) != 0)
			k++;
		if (k == n)
			return rules_wrong(
				rules_indexed("routes", i, "name"), err, err_bytes,
				"more than %d names are not counted; give several routes one name",
				CONFIG_NAMES_MOST);
	}
	return NULL;
}

/* base: "" or "routes.2.". */
static const char *
check_rate(const struct config_rate *r, const char *base, char *err, size_t err_bytes)
{
	enum { DAYS_MOST = 30, DAY_S = 86400 };
	static _Thread_local char name[CONFIG_NAME_BYTES];
	if (!r->requests && (r->burst || r->per_s != 1 || !r->hits)) {
		snprintf(name, sizeof(name), "%srate.%s", base,
			 r->burst	 ? "burst"
			 : r->per_s != 1 ? "per"
					 : "hits");
		return rules_wrong(name, err, err_bytes,
				   "there is no rate that it belongs to; write requests: too");
	}
	if (r->requests && (double)r->burst / r->requests * (double)r->per_s > DAYS_MOST * DAY_S) {
		snprintf(name, sizeof(name), "%srate.burst", base);
		return rules_wrong(
			name, err, err_bytes,
			"at this rate %u requests take more than %d days to come back; write "
			"a smaller burst",
			r->burst, DAYS_MOST);
	}
	return NULL;
}

/* A filter knows no more sightings than it was made for; a pair tells two. */
static const char *
check_sightings(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	unsigned most =
		c->admission.sightings ? c->admission.sightings : CONFIG_SIGHTINGS_CHOSEN_MOST;
	if (c->admission.filter == CONFIG_FILTER_PAIR && most < 2)
		most = 2;
	if (c->routes[i].admission.sightings <= most)
		return NULL;
	return rules_wrong(rules_indexed("routes", i, "admission.sightings"), err, err_bytes,
			   "the filter tells %u at most; write fewer, or set admission.sightings "
			   "for more",
			   most);
}

const char *
rules_of_rate(const struct config *c, char *err, size_t err_bytes)
{
	return check_rate(&c->rate, "", err, err_bytes);
}

static const char *
check_origin(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const char *name = c->routes[i].target.origin;
	if (!name || config_group_find(c, name) >= 0)
		return NULL;
	return rules_wrong(rules_indexed("routes", i, "origin"), err, err_bytes,
			   "no group of origins is called \"%s\"; write the name: of one", name);
}

static const char *
check_route_headers(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	const struct config_route *r = &c->routes[i];
	return check_headers(&r->request_headers, &r->response_headers,
			     rules_indexed("routes", i, ""), err, err_bytes);
}

static const char *
check_route_rate(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	return check_rate(&c->routes[i].rate, rules_indexed("routes", i, ""), err, err_bytes);
}

static const char *
check_encoding(const struct config_encoding *list, const char *setting, char *err, size_t err_bytes)
{
	const char *word, *fault = config_encoding_fault(list, &word);
	return fault ? rules_wrong(setting, err, err_bytes, "\"%.60s\" %s", word, fault) : NULL;
}

const char *
rules_of_encoding(const struct config *c, char *err, size_t err_bytes)
{
	return check_encoding(&c->forwarded.accept_encoding, "accept_encoding", err, err_bytes);
}

static const char *
check_route_encoding(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	return check_encoding(&c->routes[i].cache.accept_encoding,
			      rules_indexed("routes", i, "accept_encoding"), err, err_bytes);
}

const char *
rules_of_route(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	typedef const char *check_fn(const struct config *, unsigned, char *, size_t);
	check_fn *const checks[] = {rules_of_match,   check_route,	   check_redirect,
				    check_answer,     check_route_headers, check_sightings,
				    check_route_rate, check_upgrades,	   rules_of_lifetimes,
				    rules_of_rewrite, check_origin,	   check_route_encoding,
				    rules_of_cover};
	for (size_t k = 0; k < sizeof checks / sizeof checks[0]; k++) {
		const char *bad = checks[k](c, i, err, err_bytes);
		if (bad)
			return bad;
	}
	return NULL;
}
