/* rules.c - addresses, origins, loops and routes: what must go together. */
#include "config/rules.h"

#include "config/config.h"
#include "config/groups.h"
#include "config/headers.h"
#include "config/listen.h"
#include "config/units.h"
#include "proxy/base/address.h"
#include "proxy/base/template.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *
config_name(const char *setting, char out[CONFIG_NAME_BYTES])
{
	size_t n = 0;
	for (const char *p = setting; *p && n < CONFIG_NAME_BYTES - 1; p++)
		if (*p == '.' && isdigit((unsigned char)p[1]))
			p += strspn(p + 1, "0123456789");
		else
			out[n++] = *p;
	out[n] = '\0';
	return out;
}

__attribute__((format(printf, 4, 5))) static const char *
wrong(const char *setting, char *err, size_t err_bytes, const char *fmt, ...)
{
	char name[CONFIG_NAME_BYTES];
	size_t at = (size_t)snprintf(err, err_bytes, "%s: ", config_name(setting, name));
	va_list args;
	va_start(args, fmt);
	vsnprintf(err + at, err_bytes - at, fmt, args);
	va_end(args);
	return setting;
}

static const char proxied[] = "proxy+";

bool
config_listen_proxied(const char *listen)
{
	return strncasecmp(listen, proxied, sizeof proxied - 1) == 0;
}

/* Of "proxy+https://0.0.0.0:443" what is spoken there and the address. */
static const char *
listen_url(const char *listen)
{
	return config_listen_proxied(listen) ? listen + sizeof proxied - 1 : listen;
}

const char *
config_listen_address(const char *listen)
{
	const char *url = listen_url(listen);
	if (strncasecmp(url, "https://", 8) == 0)
		return url + 8;
	if (strncasecmp(url, "h2c://", 6) == 0)
		return url + 6;
	return strncasecmp(url, "http://", 7) == 0 ? url + 7 : url;
}

enum config_scheme
config_listen_scheme(const char *listen)
{
	switch (config_listen_address(listen) - listen_url(listen)) {
	case 6:
		return CONFIG_H2C;
	case 8:
		return CONFIG_HTTPS;
	default:
		return CONFIG_HTTP;
	}
}

const char *
config_listen_path(const char *listen)
{
	const char *at = config_listen_address(listen);
	return strncmp(at, "unix:", 5) == 0 ? at + 5 : NULL;
}

unsigned
config_socket_mode(const struct config *c)
{
	return (unsigned)strtoul(c->socket_mode, NULL, 8);
}

bool
config_listen_same(const char *a, const char *b)
{
	struct address x, y;
	const char *p = config_listen_path(a), *q = config_listen_path(b);
	if (p || q)
		return p && q && strcmp(p, q) == 0;
	return address_parse(config_listen_address(a), &x) == 0 &&
	       address_parse(config_listen_address(b), &y) == 0 && address_port(&x) &&
	       x.bytes == y.bytes && memcmp(&x.sa, &y.sa, x.bytes) == 0;
}

bool
config_listen_overlaps(const char *a, const char *b)
{
	struct address x, y;
	if (config_listen_path(a) || config_listen_path(b) ||
	    address_parse(config_listen_address(a), &x) < 0 ||
	    address_parse(config_listen_address(b), &y) < 0)
		return false;
	return address_port(&x) && address_port(&x) == address_port(&y) &&
	       (address_is_any(&x) || address_is_any(&y));
}

static const char *
check_addresses(const struct config *c, char *err, size_t err_bytes)
{
	if (c->listen_count == 0)
		return wrong("listen", err, err_bytes, "empty; write at least one IP:PORT");
	for (unsigned i = 0; i < c->listen_count; i++) {
		for (unsigned j = 0; j < i; j++) {
			if (config_listen_same(c->listen[i], c->listen[j]))
				return wrong("listen", err, err_bytes,
					     "%s is given twice; keep one", c->listen[i]);
			if (config_listen_overlaps(c->listen[i], c->listen[j]))
				return wrong("listen", err, err_bytes,
					     "%s and %s take the same clients ([::] is for IPv4 "
					     "too); keep one",
					     c->listen[j], c->listen[i]);
		}
		if (c->admin && config_listen_same(c->listen[i], c->admin))
			return wrong("admin", err, err_bytes,
				     "%s is a listen address too; take another port", c->admin);
		if (c->admin && config_listen_overlaps(c->listen[i], c->admin))
			return wrong("admin", err, err_bytes,
				     "%s takes what comes to %s too; take another port",
				     c->listen[i], c->admin);
	}
	return NULL;
}

/* A copy, of the thread. */
static const char *
kept(const char *setting)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	snprintf(name, sizeof(name), "%s", setting);
	return name;
}

/* "routes.2.query"; of the thread. */
static const char *
indexed(const char *list, unsigned i, const char *key)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	snprintf(name, sizeof(name), "%s.%u.%s", list, i, key);
	return name;
}

bool
config_origin_address(const char *url, struct address *a)
{
	const char *host = strstr(url, "://");
	char text[ADDRESS_TEXT];
	if (!host) /* a Unix socket */
		return false;
	host += 3;
	const char *bracket = strrchr(host, ']'), *colon = strrchr(host, ':');
	bool has_port = colon && colon > bracket;
	const char *port = strncasecmp(url, "https", 5) == 0 ? ":443" : ":80";
	int n = snprintf(text, sizeof(text), "%s%s", host, has_port ? "" : port);
	return n < (int)sizeof(text) && address_parse(text, a) == 0;
}

/* Would a listener on a answer at b? */
static bool
listens_at(const char *listen, const struct address *b)
{
	struct address a;
	if (address_parse(config_listen_address(listen), &a) < 0 || address_port(&a) == 0 ||
	    address_port(&a) != address_port(b))
		return false;
	bool same = a.bytes == b->bytes && memcmp(&a.sa, &b->sa, a.bytes) == 0;
	return same || (address_is_any(&a) && (address_is_loopback(b) || address_is_any(b)));
}

static const char *
check_loops(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < config_member_count(c); i++) {
		struct address to;
		struct config_member m;
		config_member(c, i, &m);
		if (!config_origin_address(m.url, &to))
			continue;
		for (unsigned j = 0; j < c->listen_count; j++)
			if (listens_at(c->listen[j], &to))
				return wrong(kept(m.setting), err, err_bytes,
					     "%s is where twice itself listens (%s); name the "
					     "server behind it",
					     m.url, c->listen[j]);
		if (c->admin && listens_at(c->admin, &to))
			return wrong(
				kept(m.setting), err, err_bytes,
				"%s is the admin address; name the server that has the content",
				m.url);
	}
	return NULL;
}

/* A name, or an address as it stands in Host, of which the port and a final dot are not looked at. */
static bool
is_host(const char *host)
{
	size_t n = strlen(host);
	bool bracketed = n > 2 && host[0] == '[' && host[n - 1] == ']';
	return n && host[n - 1] != '.' && !strpbrk(host, "/@%?# \t") &&
	       (bracketed || !strchr(host, ':'));
}

/* The byte that "%41" stands for; -1 when it is none. */
static int
encoded(const char *p)
{
	char hex[3] = {p[1], p[1] ? p[2] : '\0', '\0'};
	return isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])
		       ? (int)strtol(hex, NULL, 16)
		       : -1;
}

/* Where a path has something that servers read in more ways than one: a request for it could not be known to
 * mean this route (proxy/serve/route.c), so the route would never apply. NULL: nowhere. */
static const char *
many_readings(const char *path)
{
	for (const char *p = path; *p; p++) {
		int byte = *p == '%' ? encoded(p) : -1;
		bool only_so = byte >= 0x80 || (byte > 0 && strchr(" \"<>", byte));
		if (strchr(";\\", *p) || (*p == '%' && !only_so) || (unsigned char)*p < ' ' ||
		    *p == 0x7f)
			return p;
		if (strncmp(p, "//", 2) == 0 || strncmp(p, "/./", 3) == 0 ||
		    strncmp(p, "/../", 4) == 0)
			return p;
	}
	return NULL;
}

static const char *
check_path(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	if (!r->path)
		return NULL;
	if (r->path[0] != '/' || strpbrk(r->path, "?#"))
		return wrong(indexed("routes", i, "path"), err, err_bytes,
			     "%s is not the beginning of a path; write one such as /img/, without "
			     "a query",
			     r->path);
	const char *at = many_readings(r->path);
	if (at)
		return wrong(indexed("routes", i, "path"), err, err_bytes,
			     "servers read \"%.4s\" in %s in different ways; end the path before "
			     "it, or write letters as themselves",
			     at, r->path);
	return NULL;
}

/* What a route is matched by. */
static const char *
check_match(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	const char *bad = check_path(r, i, err, err_bytes);
	if (bad)
		return bad;
	if (r->host && !is_host(r->host))
		return wrong(indexed("routes", i, "host"), err, err_bytes,
			     "no request is for \"%s\"; write the name alone, such as "
			     "www.example.com or [2001:db8::1]: a route is for all ports and "
			     "schemes",
			     r->host);
	if (r->host && strchr(r->host + (r->host[0] == '*'), '*'))
		return wrong(indexed("routes", i, "host"), err, err_bytes,
			     "one wildcard may be at the beginning; write *.example.com or "
			     "www.example.com");
	if (r->host && r->host[0] == '*' && (r->host[1] != '.' || !r->host[2]))
		return wrong(indexed("routes", i, "host"), err, err_bytes,
			     "a wildcard is for whole labels; write *.example.com, or leave host "
			     "out for all hosts");
	return NULL;
}

/* What is spoken behind these is HTTP again, by requests that no rule of ours would see. */
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
			return wrong(indexed("routes", i, "upgrade"), err, err_bytes,
				     "\"%s\" is no name of a protocol; write one such as websocket",
				     name);
		if (is_http(name))
			return wrong(indexed("routes", i, "upgrade"), err, err_bytes,
				     "%s would bring requests past every rule of this file; leave "
				     "it out, and let clients speak HTTP/2 with https:// or h2c:// "
				     "in listen",
				     name);
	}
	if (r->upgrade_count && !speaks_http1(c))
		return wrong(indexed("routes", i, "upgrade"), err, err_bytes,
			     "every address of listen begins with h2c://, and HTTP/2 has no "
			     "Upgrade; add one with http:// or https://");
	return NULL;
}

/* Two settings of one route of which only one can count. */
static const char *
check_route(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	bool keeps = r->keep_param_count > 0, drops = r->drop_param_count > 0;
	bool keyed = keeps || drops || r->key_header_count || r->key_cookie_count ||
		     r->query != CONFIG_QUERY_KEEP;
	if (keeps && drops)
		return wrong(
			indexed("routes", i, "drop_params"), err, err_bytes,
			"keep_params names the only parameters in the key already; leave one of "
			"both out");
	if ((keeps || drops) && r->query == CONFIG_QUERY_IGNORE)
		return wrong(
			indexed("routes", i, keeps ? "keep_params" : "drop_params"), err, err_bytes,
			"query: ignore leaves all parameters out of the key; leave one of both "
			"out");
	if (r->pass && (keyed || r->pass_cookie_count || r->admit != CONFIG_ADMIT_SIGHTINGS))
		return wrong(
			indexed("routes", i, "pass"), err, err_bytes,
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

/* What clients write must not choose the host: "//evil.example" is one, in a path. */
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
check_redirect(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	const char *to = r->redirect.to;
	const unsigned strange = TEMPLATE_BIT(UNKNOWN) | TEMPLATE_BIT(CLIENT);
	if (to && !may_be_location(to))
		return wrong(indexed("routes", i, "redirect.to"), err, err_bytes,
			     "%.60s is not where clients can be sent; write such as "
			     "https://www.example.com$path$query, or a path /like/this",
			     to);
	if (to && (template_pieces(str_of(to)) & strange))
		return wrong(indexed("routes", i, "redirect.to"), err, err_bytes,
			     "%.60s has a variable that is not known here; write $scheme, $host, "
			     "$path, $query, or $$ for a dollar",
			     to);
	if (to && r->answer.status)
		return wrong(indexed("routes", i, "answer"), err, err_bytes,
			     "redirect answers already; leave one of both out");
	return NULL;
}

static const char *
check_answer(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	const struct config_answer *a = &r->answer;
	bool no_body = a->status == 204 || a->status == 205 || a->status == 304;
	if (a->status == 206 || a->status == 304)
		return wrong(indexed("routes", i, "answer.status"), err, err_bytes,
			     "%u answers a part or a condition; write another, such as 200",
			     a->status);
	if (!a->status && (a->body || a->file || a->retry_after_s))
		return wrong(indexed("routes", i, "answer"), err, err_bytes,
			     "there is no status; write one such as status: 503");
	if (a->body && a->file)
		return wrong(indexed("routes", i, "answer.file"), err, err_bytes,
			     "body is what is sent; leave one of both out");
	if (no_body && (a->body || a->file))
		return wrong(indexed("routes", i, a->body ? "answer.body" : "answer.file"), err,
			     err_bytes, "an answer with status %u has none; leave one of both out",
			     a->status);
	return NULL;
}

/* Every name of b is one of a, either of which may begin with a wildcard. */
static bool
covers_host(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	if (a[0] != '*')
		return strcasecmp(a, b) == 0;
	return y >= x && strcasecmp(b + (y - x) + 1, a + 1) == 0;
}

/* Every request of b is one of a: then b is never reached behind a. */
static bool
covers(const struct config_route *a, const struct config_route *b)
{
	bool host = !a->host || (b->host && covers_host(a->host, b->host));
	bool path = !a->path || (b->path && strncmp(a->path, b->path, strlen(a->path)) == 0);
	return host && path;
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
	return bad ? wrong(bad, err, err_bytes, "%s", why) : NULL;
}

static const char *
check_common_headers(const struct config *c, char *err, size_t err_bytes)
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
static const char *
check_names(const struct config *c, char *err, size_t err_bytes)
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
			return wrong(
				indexed("routes", i, "name"), err, err_bytes,
				"\"%.60s\" is no name; write up to %d letters, digits, - _ and .",
				name, BYTES_MOST);
		while (k < n && strcmp(names[k], name) != 0)
			k++;
		if (k == n)
			return wrong(
				indexed("routes", i, "name"), err, err_bytes,
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
	if (!r->requests && r->burst) {
		snprintf(name, sizeof(name), "%srate.burst", base);
		return wrong(name, err, err_bytes,
			     "there is no rate that it would be a burst of; write requests: too");
	}
	if (r->requests && (double)r->burst / r->requests * (double)r->per_s > DAYS_MOST * DAY_S) {
		snprintf(name, sizeof(name), "%srate.burst", base);
		return wrong(name, err, err_bytes,
			     "at this rate %u requests take more than %d days to come back; write "
			     "a smaller burst",
			     r->burst, DAYS_MOST);
	}
	return NULL;
}

/* A filter knows no more sightings than it was made for; a pair knows of one. */
static const char *
check_sightings(const struct config *c, unsigned i, char *err, size_t err_bytes)
{
	unsigned most = c->admission.filter == CONFIG_FILTER_PAIR ? 2 : c->admission.sightings;
	if (c->routes[i].admission.sightings <= most)
		return NULL;
	return wrong(indexed("routes", i, "admission.sightings"), err, err_bytes,
		     "the filter tells %u at most; write fewer, or set admission.filter and "
		     "admission.sightings for more",
		     most);
}

static const char *
check_common_rate(const struct config *c, char *err, size_t err_bytes)
{
	return check_rate(&c->rate, "", err, err_bytes);
}

static const char *
check_routes(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->route_count; i++) {
		const char *bad = check_match(&c->routes[i], i, err, err_bytes);
		if (!bad)
			bad = check_route(&c->routes[i], i, err, err_bytes);
		if (!bad)
			bad = check_redirect(&c->routes[i], i, err, err_bytes);
		if (!bad)
			bad = check_answer(&c->routes[i], i, err, err_bytes);
		if (!bad)
			bad = check_headers(&c->routes[i].request_headers,
					    &c->routes[i].response_headers,
					    indexed("routes", i, ""), err, err_bytes);
		if (!bad)
			bad = check_sightings(c, i, err, err_bytes);
		if (!bad)
			bad = check_rate(&c->routes[i].rate, indexed("routes", i, ""), err,
					 err_bytes);
		if (!bad)
			bad = check_upgrades(c, i, err, err_bytes);
		if (bad)
			return bad;
		if (config_group_find(c, c->routes[i].origin) < 0 && c->routes[i].origin)
			return wrong(indexed("routes", i, "origin"), err, err_bytes,
				     "no group of origins is called \"%s\"; write the name: of one",
				     c->routes[i].origin);
		for (unsigned j = 0; j < i; j++)
			if (covers(&c->routes[j], &c->routes[i]))
				return wrong(
					indexed("routes", i, c->routes[i].path ? "path" : "host"),
					err, err_bytes,
					"route %u matches all of it and comes first; put this one "
					"before it",
					j + 1);
	}
	return NULL;
}

_Static_assert((int)CONFIG_ROUTE_COOKIE_SHARE == (int)CONFIG_COOKIE_SHARE + 1,
	       "one word before those of cache.set_cookie");

struct config_cache
config_route_cache(const struct config *c, const struct config_route *r)
{
	struct config_cache all = c->cache;
	const struct config_route_cache *own = &r->cache;
#define TAKE(member) all.member = own->member ? own->member - 1 : all.member
	TAKE(default_ttl_s);
	TAKE(heuristic_max_s);
	TAKE(stale_if_error_s);
	TAKE(stale_while_revalidate_s);
	TAKE(stale_after_ms);
#undef TAKE
	if (own->set_cookie)
		all.set_cookie = (enum config_cookie)(own->set_cookie - 1);
	if (own->client_errors)
		all.client_errors = own->client_errors == CONFIG_ROUTE_ON;
	return all;
}

uint64_t
config_disk_bytes(const struct config *c)
{
	uint64_t sum = c->cache.dir ? c->cache.disk_bytes : 0;
	for (unsigned i = 0; i < c->disk_count; i++)
		sum += c->disks[i].bytes;
	return sum;
}

uint64_t
config_budget(const struct config *c, unsigned *saved_s)
{
	enum { A_WHILE_S = 2, HOUR_S = 3600 };
	uint64_t rate = c->admission.write_budget;
	*saved_s = rate & (UNITS_RATE_DAY | UNITS_RATE_DRIVE) ? HOUR_S : A_WHILE_S;
	return units_rate_per_s(rate, config_disk_bytes(c));
}

static const char *
check_tls(const struct config *c, char *err, size_t err_bytes)
{
	bool listens = false;
	for (unsigned i = 0; i < c->listen_count; i++)
		listens |= config_listen_scheme(c->listen[i]) == CONFIG_HTTPS;
	if (listens && c->tls.certificate_count == 0 && !c->tls.self_signed)
		return wrong(
			"tls.certificates", err, err_bytes,
			"an address of listen begins with https://, which needs a certificate; "
			"name a file or directory that has one, or take --self-signed for a first try");
	if (!listens && c->tls.certificate_count)
		return wrong(
			"tls.certificates", err, err_bytes,
			"no address of listen begins with https://, so no certificate is used; "
			"write listen: [ \"https://0.0.0.0:443\" ]");
	if (c->tls.client_ca && !listens)
		return wrong("tls.client_ca", err, err_bytes,
			     "no address of listen begins with https://, so no client is asked");
	return NULL;
}

static const char *
check_forwarders(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_proxied(c->listen[i]) && !c->forwarded.trust_count)
			return wrong("forwarded.trust", err, err_bytes,
				     "an address of listen begins with proxy+, where only "
				     "forwarders that are named here are listened to; write "
				     "forwarded: { trust: [ 10.0.0.0/8 ] }");
	return NULL;
}

static const char *
check_admin(const struct config *c, char *err, size_t err_bytes)
{
	if (c->admin_token && c->admin_token_file)
		return wrong("admin_token_file", err, err_bytes,
			     "admin_token says the token already; leave one of both out");
	if (c->admin_socket && c->admin_socket[0] != '/')
		return wrong("admin_socket", err, err_bytes,
			     "\"%.60s\" is not the path of a socket; write one from the root, such "
			     "as /run/twice/admin.sock",
			     c->admin_socket);
	for (unsigned i = 0; c->admin_socket && i < c->listen_count; i++) {
		const char *path = config_listen_path(c->listen[i]);
		if (path && strcmp(path, c->admin_socket) == 0)
			return wrong("admin_socket", err, err_bytes,
				     "%s is a listen address too; take another path", path);
	}
	return NULL;
}

static const char *
check_identity(const struct config *c, char *err, size_t err_bytes)
{
	if (c->group && !c->user)
		return wrong("group", err, err_bytes,
			     "counts only beside user; write user: %s too, or leave it out",
			     c->group);
	return NULL;
}

static const char *
check_disks(const struct config *c, char *err, size_t err_bytes)
{
	if (c->disk_count && !c->cache.dir)
		return wrong("more_disks", err, err_bytes,
			     "cache.dir: none keeps everything in RAM; name the first disk there");
	if (c->disk_count > CONFIG_DISKS_MOST)
		return wrong("more_disks", err, err_bytes,
			     "more than %d; join some to one file system (LVM, RAID 0)",
			     CONFIG_DISKS_MOST);
	for (unsigned i = 0; i < c->disk_count; i++)
		for (unsigned j = 0; j <= i; j++) {
			const char *other = j ? c->disks[j - 1].dir : c->cache.dir;
			if (strcmp(c->disks[i].dir, other) == 0)
				return wrong(indexed("more_disks", i, "dir"), err, err_bytes,
					     "%s is given twice; keep one", other);
		}
	return NULL;
}

const char *
rules_broken(const struct config *c, char *err, size_t err_bytes)
{
	typedef const char *check_fn(const struct config *, char *, size_t);
	check_fn *const checks[] = {check_addresses,	  groups_check,	     check_loops,
				    check_routes,	  check_disks,	     check_tls,
				    check_forwarders,	  check_identity,    check_admin,
				    check_common_headers, check_common_rate, check_names};
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const char *bad = checks[i](c, err, err_bytes);
		if (bad)
			return bad;
	}
	if (c->cache.max_object_bytes > c->cache.disk_bytes)
		return wrong("cache.max_object", err, err_bytes,
			     "more than cache.disk; write a smaller size, or auto");
	if (c->admission.sightings > 2 && c->admission.filter == CONFIG_FILTER_PAIR)
		return wrong(
			"admission.sightings", err, err_bytes,
			"a pair of filters tells only one sighting from none; write 1 or 2, or set "
			"admission.filter to counting");
	return NULL;
}
