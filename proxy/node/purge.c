/* purge.c - a URL becomes the key that a request for it would have; a host, and the beginning of a
 * URL, the part of such a key.
 */
#include "proxy/node/purge.h"

#include "proxy/node/doorway.h"

#include "proxy/cache/cache_forget.h"
#include "proxy/cache/heritage.h"
#include "proxy/http/uri.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/relay.h"

#include <assert.h>

/* ---- what can be meant ------------------------------------------------------------------------ */

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

static bool
has_any(struct str s, const char *bytes)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || strchr(bytes, s.p[i]))
			return true;
	return false;
}

static bool
has_host(struct str authority)
{
	bool ascii = true;
	for (size_t i = 0; i < authority.n; i++)
		ascii = ascii && (unsigned char)authority.p[i] < 0x80;
	return authority.n && ascii && !has_any(authority, "/*@?#\\");
}

static const char *
refuse_url(struct str url)
{
	struct request r;
	if (!request_for(url, &r))
		return "a URL begins with http:// or https:// and a host";
	if (!has_host(r.authority))
		return "a URL has a host in ASCII behind http:// or https://, with :port where it is "
		       "not the scheme's own";
	return has_any(r.path_query, "#") ? "a URL has no spaces and no \"#\"; write %20 and %23"
					  : NULL;
}

static const char *
refuse_prefix(struct str prefix)
{
	struct request r;
	const char *no = refuse_url(prefix);
	if (no)
		return no;
	request_for(prefix, &r);
	if (memchr(r.path_query.p, '?', r.path_query.n))
		return "a prefix is the beginning of a path: it ends before the \"?\"";
	if (prefix.p[prefix.n - 1] == '*')
		return "a prefix covers all that begins with it: leave out the \"*\"";
	return prefix.n < CACHE_PREFIX_MOST / 2 ? NULL : "a prefix has less than 2048 bytes";
}

/* Why an order cannot be meant, or NULL. */
static const char *
refusal(const struct purge_order *o)
{
	switch (o->kind) {
	case FORGET_URL:
		return refuse_url(o->name);
	case FORGET_PREFIX:
		return refuse_prefix(o->name);
	case FORGET_HOST:
		return has_host(o->name)
			       ? NULL
			       : "a host is a name in ASCII or an address, with :port where "
				 "it is not the scheme's own";
	case FORGET_TAG:
		return tags_is_one(o->name) && !has_any(o->name, "")
			       ? NULL
			       : "a tag is one word, without spaces and commas; name several tags "
				 "one by one";
	default:
		return NULL;
	}
}

/* ---- what is done ----------------------------------------------------------------------------- */

struct purger {
	struct shelves *sh;
	const struct settings *settings;
	const struct purge_order *o;
	struct purge_result *out;
};

static void
begin(const struct purger *p, enum forget_kind kind, struct twice_key_hash hash, struct str name)
{
	struct purged done = relay_purge(p->sh, kind, p->o->soft, hash, name);
	p->out->found = p->out->found || done.had;
	p->out->sequence = done.at;
}

static void
begin_url(const struct purger *p, struct str key)
{
	begin(p, FORGET_URL, twice_key_hash_of(p->sh->seed, key.p, key.n), key);
	if (!p->o->soft)
		bill_forget(p->sh, key);
}

static bool
is_out_of_reach(const struct purger *p, const struct request *r)
{
	return str_eq(r->scheme, STR("https")) && !doorway_may_be_https(p->settings->config);
}

static const char no_https[] =
	"nothing can be stored under https here: listeners are plain HTTP, and no forwarder is "
	"trusted to say https (forwarded.trust); purge the URL that begins with http:// instead";

/* It covers all spellings; is one of them here? */
static void
purge_key(void *ctx, struct str key)
{
	const struct purger *p = ctx;
	struct buf normal = {0};
	begin_url(p, key);
	if (memchr(key.p, '%', key.n))
		uri_add_unescaped(key, &normal);
	if (normal.n && !str_eq(buf_str(&normal), key))
		begin_url(p, buf_str(&normal));
	buf_fini(&normal);
}

static void
purge_url(const struct purger *p)
{
	struct request r;
	struct purge_result *out = p->out;
	struct purger each = *p;
	request_for(p->o->name, &r);
	const struct route *route = route_find(p->settings->routes, &r);
	bool splits = route_each_url(p->settings->routes, &r, purge_key, &each);
	if (is_out_of_reach(p, &r) && !out->found) {
		out->note = no_https;
	} else if (splits) {
		out->found = true;
		out->note =
			"headers or cookies are part of this URL's keys: all of them are purged";
	} else if (!out->found && memchr(r.path_query.p, '*', r.path_query.n)) {
		out->note =
			"nothing was stored under this URL, in which \"*\" is a letter like any "
			"other; to purge all that begins alike, purge a prefix";
	} else if (!out->found) {
		out->note = "nothing was stored under this URL; an answer that is being fetched "
			    "for it now will not be stored";
	} else if (route->pass) {
		out->note = "the route of this URL passes: nothing is stored for it";
	}
}

/* Routes below may write paths in either form. */
static void
purge_prefix(const struct purger *p)
{
	struct request r;
	struct buf keys[2] = {{0}, {0}};
	request_for(p->o->name, &r);
	for (int i = 0; i < 2; i++) {
		cachekey_add_prefix(r.scheme, r.authority, r.path_query, i, &keys[i]);
		if (i == 0 || !str_eq(buf_str(&keys[0]), buf_str(&keys[1])))
			begin(p, FORGET_PREFIX, (struct twice_key_hash){0}, buf_str(&keys[i]));
	}
	buf_fini(&keys[0]);
	buf_fini(&keys[1]);
	if (is_out_of_reach(p, &r))
		p->out->note = no_https;
	else if (route_find(p->settings->routes, &r)->pass)
		p->out->note = "the route of this prefix passes: nothing is stored for it";
}

/* As it is in the keys of either scheme, which leave out their own port. */
static void
purge_host(const struct purger *p)
{
	static const char *const schemes[] = {"http", "https"};
	static const struct key_rules plain = {.normalise = true};
	struct buf keys[2] = {{0}, {0}};
	struct str names[2] = {{0}};
	for (int i = 0; i < 2; i++) {
		struct str scheme = str_of(schemes[i]);
		cachekey_add_url(scheme, p->o->name, STR("/"), &plain, &keys[i]);
		size_t front = scheme.n + 3;
		names[i] = str_from(buf_str(&keys[i]), front);
		names[i].n -= cachekey_target(buf_str(&keys[i])).n;
	}
	for (int i = 0; i < 2; i++) {
		if (i && str_eq(names[0], names[1]))
			break;
		begin(p, FORGET_HOST, (struct twice_key_hash){0}, names[i]);
		if (!p->o->soft)
			bill_forget_host(p->sh, names[i]);
	}
	buf_fini(&keys[0]);
	buf_fini(&keys[1]);
}

/* The order with its URL as browsers send it. name is what that lies in. */
static struct purge_order
in_ascii(const struct purge_order *o, struct buf *name)
{
	struct purge_order ascii = *o;
	name->n = 0;
	if (o->kind == FORGET_URL || o->kind == FORGET_PREFIX) {
		uri_add_ascii(o->name, name);
		ascii.name = buf_str(name);
	}
	return ascii;
}

static void
purge_one(const struct purger *p)
{
	switch (p->o->kind) {
	case FORGET_URL:
		purge_url(p);
		return;
	case FORGET_PREFIX:
		purge_prefix(p);
		break;
	case FORGET_HOST:
		purge_host(p);
		break;
	case FORGET_TAG:
		begin(p, FORGET_TAG, (struct twice_key_hash){0}, p->o->name);
		if (!p->settings->tags.names_n)
			p->out->note = "cache.tag_headers names no field: answers that are stored "
				       "from now on have no tags";
		break;
	case FORGET_ALL:
		begin(p, FORGET_ALL, (struct twice_key_hash){0}, STR(""));
		if (!p->o->soft)
			baseline_forget_all(p->sh->baseline);
		break;
	default: /* no other is by hand */
		break;
	}
	if (!p->out->found && !p->out->note)
		p->out->note = "nothing is stored at all; an answer that is being fetched now will "
			       "not be stored if this purge covers it";
}

void
purge_apply(struct shelves *sh, const struct settings *settings, const struct purge_order *o,
	    unsigned n, struct purge_result *out, const struct purge_teller *to)
{
	bool refused = false;
	uint64_t last = 0;
	struct buf name = {0};
	for (unsigned i = 0; i < n; i++) {
		struct purge_order order = in_ascii(&o[i], &name);
		out[i] = (struct purge_result){.refused = refusal(&order)};
		refused = refused || out[i].refused;
	}
	for (unsigned i = 0; i < n && !refused; i++) {
		struct purge_order order = in_ascii(&o[i], &name);
		purge_one(&(struct purger){sh, settings, &order, &out[i]});
		to->noted(to->ctx, &order);
		assert(out[i].sequence > last); /* so that the last one's is durable when all are */
		last = out[i].sequence;
	}
	buf_fini(&name);
	bool durable = !refused && cache_purge_wait(sh->cache, last);
	bool rests = cache_rests(sh->cache);
	for (unsigned i = 0; i < n && !refused; i++) {
		out[i].durable = durable;
		if (!durable)
			out[i].note =
				rests ? "applied, but not on disk: a new process of the program is "
					"starting, and writes it when it serves"
				      : "applied, but not on disk: the purge log cannot be written. "
					"Nothing is answered from the cache directory until it can";
	}
}
