/* purge.c - a URL becomes the key that a request for it would have;
 * a host, the part of such a key. */
#include "proxy/node/purge.h"

#include "proxy/serve/bill.h"

/* "http://host/path" as the request that would ask for it. */
static bool
request_for(struct str url, struct request *r)
{
	struct str schemes[] = {STR("http"), STR("https")};
	for (size_t i = 0; i < 2; i++) {
		struct str s = schemes[i], rest = str_from(url, s.n);
		if (!str_starts(url, s) || !str_starts(rest, STR("://")))
			continue;
		rest = str_from(rest, 3);
		const char *slash = memchr(rest.p, '/', rest.n);
		size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
		*r = (struct request){.method = METHOD_GET, .scheme = s, .minor = 1};
		r->authority = (struct str){rest.p, n};
		r->path_query = slash ? str_from(rest, n) : STR("/");
		return n > 0;
	}
	return false;
}

static void
tell(const struct purged *p, struct purge_result *out)
{
	out->found = out->found || p->had;
	out->durable = p->durable;
	out->sequence = p->at;
	if (!p->durable)
		out->note = "applied, but not on disk: the purge log cannot be written. Nothing is "
			    "answered from the cache directory until it can";
}

static void
purge_url(struct shelves *sh, const struct settings *settings, struct str url,
	  struct purge_result *out)
{
	struct request r;
	struct buf key = {0};
	if (!request_for(url, &r)) {
		out->refused = "a URL begins with http:// or https:// and a host";
		return;
	}
	const struct route *route = route_find(settings->routes, &r);
	cachekey_add_url(r.scheme, r.authority, r.path_query, &route->key, &key);
	struct key_hash hash = key_hash_of(sh->seed, key.p, key.n);
	struct purged p = cache_purge(sh->cache, PURGE_URL, hash, buf_str(&key));
	bill_forget(sh, buf_str(&key));
	buf_fini(&key);
	tell(&p, out);
	if (out->note)
		return;
	if (str_eq(r.scheme, STR("https")) && !settings->trusted_count && !out->found) {
		out->note =
			"nothing can be stored under https here: listeners are plain HTTP, and no "
			"forwarder is trusted to say https (forwarded.trust); purge the http:// "
			"URL instead";
		return;
	}
	if (route_splits_urls(route)) {
		out->found = true;
		out->note =
			"headers or cookies are part of this URL's keys: all of them are purged";
	} else if (!out->found) {
		out->note = "nothing was stored under this URL; what is being fetched for it now "
			    "will not be stored";
	} else if (route->pass) {
		out->note = "the route of this URL passes: nothing is stored for it";
	}
}

/* As it is in the keys of either scheme, which leave out their own port. */
static void
purge_host(struct shelves *sh, struct str host, struct purge_result *out)
{
	static const char *const schemes[] = {"http", "https"};
	static const struct key_rules plain = {.normalise = true};
	struct buf keys[2] = {{0}, {0}};
	struct str names[2] = {{0}};
	if (!host.n || memchr(host.p, '/', host.n) || memchr(host.p, ' ', host.n) ||
	    memchr(host.p, '*', host.n) || memchr(host.p, '@', host.n)) {
		out->refused = "a host is a name or an address, with :port where it is not the "
			       "scheme's own";
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct str scheme = str_of(schemes[i]);
		cachekey_add_url(scheme, host, STR("/"), &plain, &keys[i]);
		size_t front = scheme.n + 3;
		names[i] = str_from(buf_str(&keys[i]), front);
		names[i].n -= cachekey_target(buf_str(&keys[i])).n;
	}
	for (int i = 0; i < 2; i++) {
		if (i && str_eq(names[0], names[1]))
			break;
		struct purged p =
			cache_purge(sh->cache, PURGE_HOST, (struct key_hash){0}, names[i]);
		bill_forget_host(sh, names[i]);
		tell(&p, out);
	}
	buf_fini(&keys[0]);
	buf_fini(&keys[1]);
}

void
purge_apply(struct shelves *sh, const struct settings *settings, const struct purge_order *o,
	    struct purge_result *out)
{
	struct purged p;
	*out = (struct purge_result){0};
	switch (o->pattern) {
	case PATTERN_URL:
		purge_url(sh, settings, o->name, out);
		return;
	case PATTERN_HOST:
		purge_host(sh, o->name, out);
		return;
	case PATTERN_ALL:
		p = cache_purge(sh->cache, PURGE_ALL, (struct key_hash){0}, STR(""));
		baseline_forget_all(sh->baseline);
		tell(&p, out);
		return;
	}
}
