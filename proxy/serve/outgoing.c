/* outgoing.c - one place decides what the origin sees of each field; head, key and variants ask it.
 */
#include "proxy/serve/outgoing.h"

#include "proxy/http/cookie.h"
#include "proxy/http/negotiate.h"
#include "proxy/http/syntax.h"

/* ---- fields that speak for somebody else ----------------------------------------------------- */

/* From the literature on cache poisoning (J. Kettle 2018, 2020, 2024; Nguyen, Lo Iacono, Federrath
 * 2019; the word list of Param Miner) and the manuals of the frameworks that read them. */
/* clang-format off */
const struct str outgoing_overrides[] = {
	/* URL */
	STR_INIT("x-original-*"), STR_INIT("x-rewrite-*"), STR_INIT("x-override-url"),
	STR_INIT("x-envoy-original-*"), STR_INIT("x-replaced-path"), STR_INIT("x-request-uri"),
	STR_INIT("x-http-path-override"), STR_INIT("x-http-destinationurl"), STR_INIT("x-url"),
	STR_INIT("x-uri"), STR_INIT("request-uri"), STR_INIT("base-url"), STR_INIT("http-url"),
	STR_INIT("url"), STR_INIT("uri"), STR_INIT("redirect"), STR_INIT("x-amz-website-redirect-location"),
	/* host */
	STR_INIT("x-forwarded-*"), STR_INIT("x-forward-*"), STR_INIT("x-forwarded"), STR_INIT("x-host"),
	STR_INIT("x-host-*"), STR_INIT("x-http-host-override"), STR_INIT("x-backend-*"),
	STR_INIT("x-server-name"), STR_INIT("x-proxy-*"), STR_INIT("proxy-host"), STR_INIT("proxy-url"),
	STR_INIT("proxy"), /* HTTP_PROXY of CGI, CVE-2016-5385 */
	/* scheme */
	STR_INIT("x-scheme"), STR_INIT("x-url-scheme"), STR_INIT("x-https"), STR_INIT("x-ssl"),
	STR_INIT("front-end-https"), STR_INIT("x-client-scheme"), STR_INIT("cloudfront-forwarded-proto"),
	STR_INIT("x-proto"), STR_INIT("cf-visitor"), STR_INIT("fastly-ssl"), STR_INIT("x-arr-ssl"),
	/* method */
	STR_INIT("x-http-method"), STR_INIT("x-http-method-override"), STR_INIT("x-method-override"),
	STR_INIT("x-method"),
	/* what a framework's own parts say to one another */
	STR_INIT("x-middleware-*"), STR_INIT("x-nextjs-*"), STR_INIT("x-now-*"), STR_INIT("x-invoke-*"),
	STR_INIT("x-matched-path"), STR_INIT("x-accel-*"), STR_INIT("x-sendfile-type"),
	/* who asks */
	STR_INIT("x-real-ip"), STR_INIT("real-ip"), STR_INIT("x-client-ip"), STR_INIT("client-ip"),
	STR_INIT("true-client-ip"), STR_INIT("cf-connecting-ip"), STR_INIT("fastly-client-ip"),
	STR_INIT("x-cluster-client-ip"), STR_INIT("x-remote-*"), STR_INIT("x-originating-ip"),
	STR_INIT("x-custom-ip-authorization"),
	/* what another cache in front of us could do (ESI) */
	STR_INIT("surrogate-capability"), STR_INIT("x-surrogate-capability"),
	/* what origins fetch and answer by: UAProf (WAP-248), and its form with a number */
	STR_INIT("x-wap-*"), STR_INIT("profile"), STR_INIT("wap-profile"),
	/* of other methods (WebDAV, RFC 4918 10): GET and HEAD have no use for them */
	STR_INIT("destination"), STR_INIT("depth"), STR_INIT("overwrite"), STR_INIT("lock-token"),
	STR_INIT("if"), STR_INIT("translate"),
	/* which store errors or nothing at all: cache-poisoned denial of service, 2019 */
	STR_INIT("x-oss-*"),
};
/* clang-format on */
const unsigned outgoing_overrides_count = sizeof outgoing_overrides / sizeof outgoing_overrides[0];

/* Those of a trusted forwarder that differ from client to client; they are in no key. */
static bool
outgoing_says_who_asks(struct str name)
{
	static const struct str names[] = {
		STR_INIT("x-real-ip"),	      STR_INIT("real-ip"),
		STR_INIT("x-client-ip"),      STR_INIT("client-ip"),
		STR_INIT("true-client-ip"),   STR_INIT("cf-connecting-ip"),
		STR_INIT("fastly-client-ip"), STR_INIT("x-cluster-client-ip"),
		STR_INIT("x-remote-addr"),    STR_INIT("x-remote-ip"),
		STR_INIT("x-remote-port"),    STR_INIT("x-originating-ip"),
		STR_INIT("x-forwarded-by"),   STR_INIT("x-forwarded-client-cert"),
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_ieq(name, names[i]))
			return true;
	return false;
}

static uint32_t
initial(char c)
{
	c = byte_lower(c);
	return c >= 'a' && c <= 'z' ? UINT32_C(1) << (c - 'a') : UINT32_C(1) << 26;
}

void
outgoing_settings_init(struct outgoing_settings *s)
{
	s->initials = 0;
	for (unsigned i = 0; i < s->drop_count; i++)
		if (s->drop[i].n)
			s->initials |= initial(s->drop[i].p[0]);
}

static bool
matches(struct str pattern, struct str name)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return name.n >= pattern.n - 1 &&
		       strncasecmp(name.p, pattern.p, pattern.n - 1) == 0;
	return str_ieq(pattern, name);
}

static bool
outgoing_is_override(const struct outgoing *o, struct str name)
{
	if (!(o->set->initials & initial(name.p[0])))
		return false;
	char first = byte_lower(name.p[0]);
	for (unsigned i = 0; i < o->set->drop_count; i++) {
		struct str pattern = o->set->drop[i];
		if (pattern.n && byte_lower(pattern.p[0]) == first && matches(pattern, name))
			return true;
	}
	return false;
}

static bool
outgoing_is_in_key(const struct outgoing *o, struct str name)
{
	for (unsigned i = 0; i < o->rules->header_count; i++)
		if (str_ieq(o->rules->headers[i], name))
			return true;
	return false;
}

/* ---- which fields go out --------------------------------------------------------------------- */

/* Written by the fetch, or here for every request. */
static const uint64_t written_anew = FIELD_BIT(HOST) | FIELD_BIT(CONTENT_LENGTH) |
				     FIELD_BIT(EXPECT) | FIELD_BIT(VIA) | FIELD_BIT(FORWARDED) |
				     FIELD_BIT(X_FORWARDED_FOR) | FIELD_BIT(X_FORWARDED_HOST) |
				     FIELD_BIT(X_FORWARDED_PROTO);
static const uint64_t conditions = FIELD_BIT(IF_MATCH) | FIELD_BIT(IF_NONE_MATCH) |
				   FIELD_BIT(IF_MODIFIED_SINCE) | FIELD_BIT(IF_UNMODIFIED_SINCE) |
				   FIELD_BIT(IF_RANGE) | FIELD_BIT(RANGE);
/* What a client wants of caches (RFC 9111 5.2.1): in no key, so that it must not change what others
 * get. A gateway asks for itself, it does not forward (RFC 9110 3.7; 5.2 binds proxies). */
static const uint64_t wishes = FIELD_BIT(CACHE_CONTROL) | FIELD_BIT(PRAGMA);

static bool
outgoing_writes_anew(enum field_id id)
{
	return written_anew & field_bit(id);
}

static bool
is_cacheable_method(const struct request *r)
{
	return r->method == METHOD_GET || r->method == METHOD_HEAD;
}

/* A name that no key and no setting lets through. Known names have no underscore and override
 * nothing: what is written anew is asked before. */
static bool
is_dropped_name(const struct outgoing *o, struct str name)
{
	if (!o->set->keep_underscores && memchr(name.p, '_', name.n) &&
	    !outgoing_is_in_key(o, name))
		return true;
	return is_cacheable_method(o->rq) && !o->trusted && outgoing_is_override(o, name) &&
	       !outgoing_is_in_key(o, name);
}

/* What a request for the key says: neither conditions nor wishes. */
static const struct outgoing_asks outgoing_asks_nothing;

/* Whether lines of this name are the client's to say. */
static bool
outgoing_goes_out(const struct outgoing *o, enum field_id id, struct str name,
		  const struct outgoing_asks *a)
{
	if (id == FIELD_OTHER)
		return !is_dropped_name(o, name);
	if (((written_anew | fields_hop_by_hop) & field_bit(id)) ||
	    (!a->as_it_came && (conditions & field_bit(id))))
		return false;
	return !(wishes & field_bit(id)) || !o->shared || a->wishes || o->set->keep_wishes ||
	       outgoing_is_in_key(o, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

struct outgoing_lines { /* of one field */
	unsigned n;
	uint8_t at[FIELDS_MAX]; /* places in rq->fields */
};
_Static_assert(FIELDS_MAX <= 256, "places are bytes");

static void
add_joined(const struct outgoing *o, const struct outgoing_lines *l, struct str separator,
	   struct buf *out)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (i)
			buf_add_str(out, separator);
		buf_add_str(out, o->rq->fields.v[l->at[i]].value);
	}
}

/* In normal form where there is one. */
static void
outgoing_add_normal(enum field_id id, struct str name, struct str value, struct buf *out)
{
	bool done = false;
	switch (id) {
	case FIELD_ACCEPT_ENCODING:
		done = negotiate_codings(value, out);
		break;
	case FIELD_ACCEPT_LANGUAGE:
		done = negotiate_languages(value, out);
		break;
	case FIELD_ACCEPT:
		done = negotiate_types(value, out);
		break;
	case FIELD_AUTHORIZATION: /* every byte may mean something */
	case FIELD_COOKIE:
	case FIELD_USER_AGENT:
		break;
	case FIELD_OTHER:
		if (str_ieq(name, STR("accept-charset")))
			done = negotiate_types(value, out);
		else if (!str_ieq(name, STR("origin")))
			done = negotiate_tokens(value, out);
		break;
	default:
		done = negotiate_tokens(value, out);
		break;
	}
	if (!done)
		buf_add_str(out, value);
}

/* Lines of one name as one value (RFC 9110 5.3; cookies: RFC 9113 8.2.3). */
static void
outgoing_add_value(const struct outgoing *o, const struct outgoing_lines *l, struct buf *out)
{
	const struct field *first = &o->rq->fields.v[l->at[0]];
	struct buf joined = {0};
	if (l->n == 1) {
		outgoing_add_normal(first->id, first->name, first->value, out);
		return;
	}
	add_joined(o, l, first->id == FIELD_COOKIE ? STR("; ") : STR(", "), &joined);
	outgoing_add_normal(first->id, first->name, buf_str(&joined), out);
	buf_fini(&joined);
}

static void
outgoing_find_lines(const struct outgoing *o, enum field_id id, struct str name,
		    struct outgoing_lines *l)
{
	const struct fields *f = &o->rq->fields;
	l->n = 0;
	if (id != FIELD_OTHER && !fields_has(f, id))
		return;
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id == id && !fields_is_listed(&o->listed, i) &&
		    (id != FIELD_OTHER || str_ieq(f->v[i].name, name)))
			l->at[l->n++] = (uint8_t)i;
}

/* What came under a name from who is trusted, ready for one more member. */
static void
add_before(const struct outgoing *o, enum field_id id, bool keeps, struct buf *out)
{
	unsigned at = 0;
	const struct field *line;
	while (keeps && (line = fields_next(&o->rq->fields, id, &at)) != NULL) {
		buf_add_str(out, line->value);
		buf_add_lit(out, ", ");
	}
}

/* RFC 7239 4, 6: IPv6 and ports need quotes; an IPv6 address needs brackets. */
static void
add_node(struct str key, struct str value, bool brackets, struct buf *out)
{
	bool quotes = !str_is_token(value);
	buf_add_str(out, key);
	buf_add_str(out, quotes ? STR("=\"") : STR("="));
	buf_add_str(out, brackets ? STR("[") : STR(""));
	buf_add_str(out, value);
	buf_add_str(out, brackets ? STR("]") : STR(""));
	buf_add_str(out, quotes ? STR("\"") : STR(""));
}

static void
add_forwarded(const struct outgoing *o, struct str authority, struct buf *out)
{
	add_before(o, FIELD_FORWARDED, o->trusted, out);
	bool v6 = o->client_ip.n && memchr(o->client_ip.p, ':', o->client_ip.n);
	add_node(STR("for"), o->client_ip, v6, out);
	if (authority.n)
		add_node(STR(";host"), authority, false, out);
	add_node(STR(";proto"), o->scheme, false, out);
}

static struct str
outgoing_forwarded_host(const struct outgoing *o, struct str authority)
{
	struct str said = fields_get(&o->rq->fields, FIELD_X_FORWARDED_HOST);
	return o->trusted && said.n ? said : authority;
}

/* The value of a field that is written anew; false: it is none, or not sent. */
static bool
outgoing_add_written(const struct outgoing *o, enum field_id id, struct str authority,
		     struct buf *out)
{
	switch (id) {
	case FIELD_HOST:
		buf_add_str(out, authority);
		return true;
	case FIELD_X_FORWARDED_FOR:
		add_before(o, id, o->trusted, out);
		buf_add_str(out, o->client_ip);
		return true;
	case FIELD_X_FORWARDED_PROTO:
		buf_add_str(out, o->scheme);
		return true;
	case FIELD_X_FORWARDED_HOST:
		buf_add_str(out, outgoing_forwarded_host(o, authority));
		return outgoing_forwarded_host(o, authority).n > 0;
	case FIELD_FORWARDED:
		add_forwarded(o, authority, out);
		return true;
	case FIELD_VIA: /* RFC 9110 7.6.3: a trace that nobody removes */
		add_before(o, id, true, out);
		buf_add_str(out, o->rq->minor ? STR("1.1 ") : STR("1.0 "));
		buf_add_str(out, o->set->via);
		return true;
	default:
		return false;
	}
}

/* ---- the key --------------------------------------------------------------------------------- */

/* A line of the key; one that is not there is another line than an empty one. */
static void
add_header(const struct outgoing *o, struct str authority, struct str name, struct buf *key)
{
	enum field_id id = field_id_of(name);
	struct outgoing_lines l;
	buf_add_lit(key, "\n");
	buf_add_str(key, name);
	size_t named = key->n;
	buf_add_lit(key, "=");
	if (outgoing_writes_anew(id)) {
		if (!outgoing_add_written(o, id, authority, key))
			key->n = named;
		return;
	}
	outgoing_find_lines(o, id, name, &l);
	if (l.n && outgoing_goes_out(o, id, name, &outgoing_asks_nothing))
		outgoing_add_value(o, &l, key);
	else
		key->n = named;
}

static void
add_line(struct str name, struct str value, struct buf *key)
{
	buf_add_lit(key, "\n");
	buf_add_str(key, name);
	buf_add_lit(key, "=");
	buf_add_str(key, value);
}

/* What a trusted forwarder may override, and says. */
static void
add_overrides(const struct outgoing *o, struct str authority, struct buf *key)
{
	const struct fields *f = &o->rq->fields;
	struct str host = outgoing_forwarded_host(o, authority);
	if (!str_eq(host, authority))
		add_line(STR("x-forwarded-host"), host, key);
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id == FIELD_OTHER && !fields_is_listed(&o->listed, i) &&
		    outgoing_is_override(o, f->v[i].name) &&
		    !outgoing_says_who_asks(f->v[i].name) &&
		    outgoing_goes_out(o, FIELD_OTHER, f->v[i].name, &outgoing_asks_nothing))
			add_line(f->v[i].name, f->v[i].value, key);
}

static bool
passes_by_cookie(const struct outgoing *o)
{
	const struct key_rules *k = o->rules;
	struct str value;
	if (!fields_has(&o->rq->fields, FIELD_COOKIE))
		return false;
	for (unsigned i = 0; i < k->pass_cookie_count; i++)
		if (str_eq(k->pass_cookies[i], STR("*")) ||
		    cookie_find(&o->rq->fields, k->pass_cookies[i], &value) != COOKIE_NONE)
			return true;
	return false;
}

/* A copy of the authority: what it is a view of may grow. */
static struct str
keep_authority(struct str primary, struct buf *copy)
{
	buf_add_str(copy, outgoing_authority(primary));
	return buf_str(copy);
}

static bool
add_cookies(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	bool sure = true;
	for (unsigned i = 0; i < k->cookie_count; i++) {
		struct str value = {NULL, 0};
		enum cookie c = cookie_find(&o->rq->fields, k->cookies[i], &value);
		buf_add_lit(key, "\n");
		buf_add_str(key, k->cookies[i]);
		if (c == COOKIE_ONE) {
			buf_add_lit(key, "=");
			buf_add_str(key, value);
		}
		sure = sure && c != COOKIE_DOUBTFUL;
	}
	return sure;
}

bool
outgoing_key(const struct outgoing *o, struct buf *key)
{
	const struct key_rules *k = o->rules;
	struct buf copy = {0};
	struct str authority = {0};
	size_t from = key->n;

	cachekey_add_url(o->scheme, o->rq->authority, o->rq->path_query, k, key);
	if (k->header_count || o->trusted) {
		authority = keep_authority(str_from(buf_str(key), from), &copy);
		for (unsigned i = 0; i < k->header_count; i++)
			add_header(o, authority, k->headers[i], key);
	}
	bool sure = add_cookies(o, key);
	if (o->trusted)
		add_overrides(o, authority, key);
	buf_fini(&copy);
	return sure && !passes_by_cookie(o);
}

struct str
outgoing_authority(struct str primary)
{
	struct str rest = str_from(primary, str_starts(primary, STR("https://")) ? 8 : 7);
	return str_before(str_before(str_before(str_before(rest, '/'), '?'), '*'), '\n');
}

struct str
outgoing_target(const struct outgoing *o, struct str primary)
{
	return o->shared ? cachekey_target(primary) : o->rq->path_query;
}

bool
outgoing_names_client(struct str names)
{
	struct str name;
	while (list_next(&names, &name))
		if (str_eq(name, STR("forwarded")) || str_eq(name, STR("x-forwarded-for")))
			return true;
	return false;
}

void
outgoing_variant(const struct outgoing *o, struct str primary, struct str names, struct buf *out)
{
	struct str name;
	struct outgoing_lines l;
	struct buf copy = {0};
	while (list_next(&names, &name)) {
		enum field_id id = field_id_of(name);
		size_t before = out->n;
		buf_add_lit(out, "\n");
		buf_add_str(out, name);
		buf_add_lit(out, ":");
		if (outgoing_writes_anew(id)) {
			if (!copy.n)
				keep_authority(primary, &copy);
			if (!outgoing_add_written(o, id, buf_str(&copy), out))
				out->n = before;
			continue;
		}
		outgoing_find_lines(o, id, name, &l);
		if (l.n && outgoing_goes_out(o, id, name, &outgoing_asks_nothing))
			outgoing_add_value(o, &l, out);
		else
			out->n = before;
	}
	buf_fini(&copy);
}

uint64_t
outgoing_asked(const struct outgoing *o, const struct outgoing_asks *a)
{
	uint64_t bits = 0;
	unsigned n = a->as_it_came || a->wishes ? o->rq->fields.n : 0;
	for (unsigned i = 0; i < n; i++) {
		const struct field *f = &o->rq->fields.v[i];
		if (((conditions | wishes) & field_bit(f->id)) &&
		    !fields_is_listed(&o->listed, i) && outgoing_goes_out(o, f->id, f->name, a) &&
		    !outgoing_goes_out(o, f->id, f->name, &outgoing_asks_nothing))
			bits |= field_bit(f->id);
	}
	return bits | (a->range.n ? FIELD_BIT(RANGE) : 0) |
	       (a->if_range.n ? FIELD_BIT(IF_RANGE) : 0) |
	       (a->if_none_match.n ? FIELD_BIT(IF_NONE_MATCH) : 0) |
	       (a->if_modified_since.n ? FIELD_BIT(IF_MODIFIED_SINCE) : 0);
}

bool
outgoing_varies_on(struct str names, uint64_t asked)
{
	struct str name;
	while (asked && list_next(&names, &name)) {
		enum field_id id = field_id_of(name);
		if (id != FIELD_OTHER && (asked & field_bit(id)))
			return true;
	}
	return false;
}

bool
outgoing_varies_on_conditions(struct str names)
{
	return outgoing_varies_on(names, conditions);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void
add_field(struct str name, struct str value, struct buf *out)
{
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	buf_add_str(out, value);
	buf_add_lit(out, "\r\n");
}

/* RFC 9110 7.6.2: each hop takes one off; the one that brings 0 is not passed on. */
static bool
counts_down(const struct request *r, const struct field *field)
{
	return field->id == FIELD_MAX_FORWARDS &&
	       (r->method == METHOD_OPTIONS || r->method == METHOD_TRACE);
}

static void
add_one_less(const struct field *field, struct buf *out)
{
	int64_t n;
	bool number = digits_parse(field->value, &n);
	buf_add_str(out, field->name);
	buf_add_lit(out, ": ");
	buf_add_u64(out, number && n > 0 ? (uint64_t)(n - 1) : 0);
	buf_add_lit(out, "\r\n");
}

static bool
is_asked_instead(const struct outgoing_asks *a, enum field_id id)
{
	return (id == FIELD_RANGE && a->range.n) || (id == FIELD_IF_RANGE && a->if_range.n) ||
	       (id == FIELD_IF_NONE_MATCH && a->if_none_match.n) ||
	       (id == FIELD_IF_MODIFIED_SINCE && a->if_modified_since.n);
}

/* Lines of one name are found in one pass over all: next[i] is the line behind i with its name, and
 * again[i] says that there is one before. */
struct chains {
	uint16_t next[FIELDS_MAX]; /* FIELDS_MAX: none */
	uint64_t again[FIELDS_MAX / 64];
};

/* Seeded, eight bytes at a time: with a hash that strangers can compute, a hundred names that all
 * have the same one are compared each with each. */
static uint32_t
name_hash(struct str name, uint64_t seed)
{
	uint64_t h = seed ^ name.n, word = 0;
	for (size_t i = 0; i < name.n; i++) {
		word = word << 8 | (unsigned char)byte_lower(name.p[i]);
		if (i % 8 < 7 && i + 1 < name.n)
			continue;
		unsigned __int128 product = (unsigned __int128)(h ^ word) * (seed | 1);
		h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0x9e3779b97f4a7c15);
		word = 0;
	}
	return (uint32_t)(h ^ h >> 32);
}

/* A cheap look that is right nearly always: no two lines have one name. */
static bool
may_repeat(const struct fields *f)
{
	uint64_t known = 0, others[4] = {0};
	for (unsigned i = 0; i < f->n; i++) {
		struct str name = f->v[i].name;
		unsigned mark =
			(unsigned)(name.n * 5 + (unsigned char)byte_lower(name.p[name.n - 1]) +
				   7u * (unsigned char)byte_lower(name.p[name.n / 2])) &
			255;
		uint64_t *seen = f->v[i].id == FIELD_OTHER ? &others[mark / 64] : &known;
		uint64_t one = f->v[i].id == FIELD_OTHER ? UINT64_C(1) << mark % 64
							 : field_bit(f->v[i].id);
		if (*seen & one)
			return true;
		*seen |= one;
	}
	return false;
}

static void
chain_lines(const struct fields *f, uint64_t seed, struct chains *c)
{
	enum { SLOTS = 2 * FIELDS_MAX };
	uint16_t last[SLOTS]; /* place + 1 of the last line of a name */
	uint32_t hash[FIELDS_MAX];
	memset(last, 0, sizeof last);
	memset(c->again, 0, sizeof c->again);
	for (unsigned i = 0; i < f->n; i++) {
		hash[i] = name_hash(f->v[i].name, seed);
		uint32_t at = hash[i] % SLOTS;
		c->next[i] = FIELDS_MAX;
		while (last[at] && (hash[last[at] - 1] != hash[i] ||
				    !str_ieq(f->v[last[at] - 1].name, f->v[i].name)))
			at = (at + 1) % SLOTS;
		if (last[at]) {
			c->next[last[at] - 1] = (uint16_t)i;
			c->again[i / 64] |= UINT64_C(1) << i % 64;
		}
		last[at] = (uint16_t)(i + 1);
	}
}

static void
add_chained(const struct outgoing *o, const struct chains *c, unsigned first, struct buf *out)
{
	struct outgoing_lines l = {.n = 0};
	for (unsigned i = first; i < FIELDS_MAX; i = c->next[i])
		if (!fields_is_listed(&o->listed, i))
			l.at[l.n++] = (uint8_t)i;
	buf_add_str(out, o->rq->fields.v[first].name);
	buf_add_lit(out, ": ");
	outgoing_add_value(o, &l, out);
	buf_add_lit(out, "\r\n");
}

static void
add_alone(const struct field *f, struct buf *out)
{
	buf_add_str(out, f->name);
	buf_add_lit(out, ": ");
	outgoing_add_normal(f->id, f->name, f->value, out);
	buf_add_lit(out, "\r\n");
}

static void
add_clients(const struct outgoing *o, const struct outgoing_asks *a, struct buf *out)
{
	const struct fields *f = &o->rq->fields;
	struct chains c;
	bool joins = o->shared && may_repeat(f);
	if (joins)
		chain_lines(f, o->set->name_seed, &c);
	for (unsigned i = 0; i < f->n; i++) {
		const struct field *field = &f->v[i];
		if (fields_is_listed(&o->listed, i) || is_asked_instead(a, field->id) ||
		    !outgoing_goes_out(o, field->id, field->name, a))
			continue;
		if (counts_down(o->rq, field))
			add_one_less(field, out);
		else if (!o->shared)
			add_field(field->name, field->value, out);
		else if (!joins)
			add_alone(field, out);
		else if (!(c.again[i / 64] >> i % 64 & 1))
			add_chained(o, &c, i, out);
	}
}

static void
add_if_any(struct str name, struct str value, struct buf *out)
{
	if (value.n)
		add_field(name, value, out);
}

static void
add_own(const struct outgoing *o, enum field_id id, struct str name, struct str authority,
	struct buf *out)
{
	size_t from = out->n;
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	if (outgoing_add_written(o, id, authority, out))
		buf_add_lit(out, "\r\n");
	else
		out->n = from;
}

void
outgoing_fields(const struct outgoing *o, struct str primary, const struct outgoing_asks *a,
		struct buf *out)
{
	struct str authority = outgoing_authority(primary);
	add_clients(o, a, out);
	add_if_any(STR("If-None-Match"), a->if_none_match, out);
	add_if_any(STR("If-Modified-Since"), a->if_modified_since, out);
	add_if_any(STR("Range"), a->range, out);
	add_if_any(STR("If-Range"), a->if_range, out);
	add_own(o, FIELD_X_FORWARDED_FOR, STR("X-Forwarded-For"), authority, out);
	add_own(o, FIELD_X_FORWARDED_PROTO, STR("X-Forwarded-Proto"), authority, out);
	add_own(o, FIELD_X_FORWARDED_HOST, STR("X-Forwarded-Host"), authority, out);
	add_own(o, FIELD_FORWARDED, STR("Forwarded"), authority, out);
	add_own(o, FIELD_VIA, STR("Via"), authority, out);
}

/* The last proto= of Forwarded: what the nearest forwarder says (RFC 7239 5.4). */
static struct str
forwarded_proto(const struct fields *f)
{
	unsigned at = 0;
	const struct field *line;
	struct str found = {NULL, 0};
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL) {
		struct str rest = line->value, element;
		while (list_next(&rest, &element)) {
			struct str pair, name, value;
			found = (struct str){NULL, 0};
			while (list_next_by(';', &element, &pair))
				if (str_cut(pair, '=', &name, &value) &&
				    str_ieq(name, STR("proto")))
					found = value;
		}
	}
	if (found.n >= 2 && found.p[0] == '"')
		found = (struct str){found.p + 1, found.n - 2};
	return found;
}

static struct str
last_member(const struct fields *f, enum field_id id)
{
	unsigned at = 0;
	const struct field *line;
	struct str last = {NULL, 0};
	while ((line = fields_next(f, id, &at)) != NULL) {
		struct str rest = line->value, item;
		while (list_next(&rest, &item))
			last = item;
	}
	return last;
}

/* By a trusted forwarder's word, else the listener's. */
static struct str
scheme_of(const struct request *rq, bool trusted)
{
	struct str said = {NULL, 0};
	if (trusted)
		said = last_member(&rq->fields, FIELD_X_FORWARDED_PROTO);
	if (trusted && !said.n)
		said = forwarded_proto(&rq->fields);
	if (str_ieq(said, STR("https")))
		return STR("https");
	return str_ieq(said, STR("http")) ? STR("http") : rq->scheme;
}

/* Whether a member of Via, "1.1 name (comment)", is ours. */
static bool
is_own_hop(struct str member, struct str name)
{
	struct str protocol, rest, by, comment;
	str_cut(member, ' ', &protocol, &rest);
	str_cut(str_trim(rest), ' ', &by, &comment);
	return str_ieq(by, name);
}

static bool
has_passed_here(const struct request *rq, struct str via)
{
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(&rq->fields, FIELD_VIA, &at)) != NULL) {
		struct str rest = line->value, member;
		while (list_next(&rest, &member))
			if (is_own_hop(member, via))
				return true;
	}
	return false;
}

const struct fault *
outgoing_init(struct outgoing *o, const struct request *rq, const struct outgoing_settings *set,
	      const struct key_rules *rules, bool trusted, bool shared)
{
	*o = (struct outgoing){.rq = rq,
			       .set = set,
			       .rules = rules,
			       .scheme = scheme_of(rq, trusted),
			       .trusted = trusted,
			       .shared = shared};
	if (has_passed_here(rq, set->via))
		return &fault_LOOP;
	return fields_read_listed(&rq->fields, &o->listed) ? NULL : &fault_CONNECTION_OPTIONS;
}
