/* test_keyed.c - what is keyed is what is sent: of random heads, two that share key and variant are
 * byte for byte the same at the origin, but for the list in outgoing.h; and two that are the same
 * there share key and variant.
 * rooms: serve config coding http base
 */
#include "config/config.h"
#include "proxy/serve/outgoing/outgoing.h"
#include "proxy/serve/routes/route.h"

#include "proxy/http/syntax.h"
#include "tests/kit/heads.h"

enum { LINES_MOST = 12, NAME_BYTES = 40, VALUE_BYTES = 120, NAMES_BYTES = 2048 };

struct dice {
	uint64_t x;
};
static unsigned
roll(struct dice *d, unsigned sides)
{
	d->x = d->x * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(d->x >> 33) % sides;
}
#define PICK(d, table) ((table)[roll(d, (unsigned)COUNT(table))])

/* ---- random heads -------------------------------------------------------------------------- */

/* clang-format off */
static const char *const known[] = {
	"Accept", "Accept-Encoding", "Accept-Language", "Accept-Charset", "Authorization",
	"Cache-Control", "Connection", "Cookie", "DNT", "Forwarded", "If-Match",
	"If-Modified-Since", "If-None-Match", "If-Range", "Keep-Alive", "Max-Forwards", "Origin",
	"Pragma", "Proxy-Authorization", "Range", "Referer", "TE", "Upgrade", "User-Agent", "Via",
	"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "X-Original-URL",
	"X_Original_URL", "X.Original.URL", "My-Field", "my_field", "Priority",
};
static const char *const pieces[] = {
	"a", "b", "A", "1", "*", "gzip", "br", "x-gzip", "de", "en-US", "zh-Hant", "text/html",
	"text/*", "*/*", "TEXT/x", ", ", ",", " ,", ", ,", ";q=0.5", ";q=1.0", "; q=0",
	";Q=0.300", ";q=", ";x=\"", "\"", "=", "lang=de", "lang=en", "lang", "ab=1", "; ", ";",
	"  ", "\t", "close", "x-country", "accept-language", "cookie", "\\", "(", ")", "%20",
	"\x80", "no-cache", "max-age=0", "bytes=0-1", "\"t\"", "W/\"t\"", "https", "http",
	"host=e", "proto=https", "identity;q=0",
};
/* clang-format on */
static const char *const methods[] = {"GET", "GET", "HEAD"};
static const char *const hosts[] = {"h", "H", "h:80", "h.", "h:", "h:81", "g"};
static const char *const targets[] = {"/a",	 "/a?b=1&c=2", "/a?c=2&b=1", "/%61",
				      "/x/../a", "/a?",	       "/A"};

struct line {
	char name[NAME_BYTES], value[VALUE_BYTES];
};
struct head {
	const char *method, *target, *host;
	unsigned minor;
	unsigned n;
	struct line lines[LINES_MOST];
};

static void
random_name(struct dice *d, char *out)
{
	static const char signs[] = "aAbB1-_.!";
	if (roll(d, 4)) {
		strcpy(out, PICK(d, known));
		return;
	}
	size_t n = 1 + roll(d, 3);
	for (size_t i = 0; i < n; i++)
		out[i] = signs[roll(d, sizeof signs - 1)];
	out[n] = '\0';
}

static void
random_value(struct dice *d, char *out)
{
	size_t n = 0;
	for (unsigned i = roll(d, 6); i; i--) {
		const char *p = PICK(d, pieces);
		if (n + strlen(p) + 1 < VALUE_BYTES)
			n += (size_t)sprintf(out + n, "%s", p);
	}
	out[n] = '\0';
}

static void
add_line(struct dice *d, struct head *h)
{
	if (h->n == LINES_MOST)
		return;
	random_name(d, h->lines[h->n].name);
	random_value(d, h->lines[h->n++].value);
}

static void
swap_case(struct dice *d, char *text)
{
	size_t i = *text ? roll(d, (unsigned)strlen(text)) : 0;
	if (byte_lower(text[i]) >= 'a' && byte_lower(text[i]) <= 'z')
		text[i] ^= 0x20;
}

/* "a, b" in one line becomes "a" and "b" in two, the second one right behind. */
static void
split_line(struct head *h, unsigned i)
{
	char *comma = strchr(h->lines[i].value, ',');
	if (!comma || h->n == LINES_MOST)
		return;
	memmove(&h->lines[i + 1], &h->lines[i], (h->n - i) * sizeof h->lines[0]);
	h->n++;
	memmove(h->lines[i + 1].value, comma + 1 - h->lines[i].value + h->lines[i + 1].value,
		strlen(comma));
	*comma = '\0';
}

static void
insert(char *value, const char *what, size_t at)
{
	size_t n = strlen(value), m = strlen(what);
	if (n + m + 1 >= VALUE_BYTES)
		return;
	memmove(value + at + m, value + at, n - at + 1);
	memcpy(value + at, what, m);
}

/* Another way to write the same, or nearly the same. */
static void
change(struct dice *d, struct head *h)
{
	unsigned i = h->n ? roll(d, h->n) : 0, k = h->n ? roll(d, h->n) : 0;
	struct line *l = &h->lines[i], other;
	char *comma = h->n ? strchr(l->value, ',') : NULL;
	if (roll(d, 8) == 0)
		h->method = PICK(d, methods);
	switch (h->n ? roll(d, 14) : roll(d, 4)) {
	case 0:
		h->host = PICK(d, hosts);
		break;
	case 1:
		h->target = PICK(d, targets);
		break;
	case 2:
		h->minor ^= 1;
		break;
	case 3:
		add_line(d, h);
		break;
	case 4:
		other = *l;
		*l = h->lines[k];
		h->lines[k] = other;
		break;
	case 5:
		swap_case(d, l->name);
		break;
	case 6:
		swap_case(d, l->value);
		break;
	case 7:
	case 8:
		split_line(h, i);
		break;
	case 9:
		insert(l->value, " ", comma ? (size_t)(comma - l->value) + roll(d, 2) : 0);
		break;
	case 10:
		insert(l->value, PICK(d, pieces), strlen(l->value));
		break;
	case 11:
		*l = h->lines[--h->n];
		break;
	case 12:
		random_value(d, l->value);
		break;
	default:
		if (h->n < LINES_MOST) {
			strcpy(h->lines[h->n].name, "Connection");
			strcpy(h->lines[h->n++].value, l->name);
		}
		break;
	}
}

/* ---- what becomes of them -------------------------------------------------------------------- */

static const struct str headers[] = {STR_INIT("x-country"), STR_INIT("accept"),
				     STR_INIT("my_field")};
static const struct str cookies[] = {STR_INIT("ab"), STR_INIT("lang")};
static const struct str tracking[] = {STR_INIT("c")};
static const struct str begun[] = {STR_INIT("a")};
static const struct key_rules rule_sets[] = {
	{0},
	{.headers = headers, .header_count = 3},
	{.cookies = cookies, .cookie_count = 2},
	{.header_stars = begun,
	 .header_star_count = 1,
	 .cookie_stars = begun,
	 .cookie_star_count = 1},
	{.query = QUERY_SORT, .drop_params = tracking, .drop_count = 1, .normalise = true},
};
/* Or the rules are those of the route that a request finds. */
static char g[] = "g", a_path[] = "/a", big_path[] = "/A", b_path[] = "/b",
	    pattern[] = "^/(.)(.*)$", made[] = "/$2?$1";
static char lang[] = "lang", accept_name[] = "accept", c_param[] = "c";
static char *route_cookies[] = {lang}, *route_headers[] = {accept_name},
	    *route_params[] = {c_param};
static struct config_route routed[] = {
	{.host = g,
	 .path = a_path,
	 .query = CONFIG_QUERY_SORT,
	 .normalise = true,
	 .key_cookies = route_cookies,
	 .key_cookie_count = 1,
	 .target = {.rewrite = {pattern, made}}},
	{.path = big_path, .pass = true},
	{.path = b_path, .normalise = true, .target = {.strip_prefix = b_path}},
	{.path = a_path, .key_headers = route_headers, .key_header_count = 1},
	{.host = g, .drop_params = route_params, .drop_param_count = 1},
};
/* And what it changes, in fields that clients send too. */
static char dnt[] = "DNT: 1", accept_line[] = "accept: $scheme/$host",
	    my_field[] = "My-Field: $host b", agent[] = "user-agent";
static char *set_lines[] = {dnt, accept_line}, *add_lines[] = {my_field}, *removed[] = {agent};
static const struct routes *routes;
static const struct coding_list codings = {2, {CODING_BR, CODING_GZIP}};
enum { TRUSTED = 1, OBEY = 2, AS_IT_CAME = 4, VALIDATES = 8, CLASSED = 16 };

struct trip {
	char text[4096];
	struct field v[64];
	struct request rq;
	struct outgoing out;
	struct buf key, variant, fields, path, target;
	uint64_t asked;
	bool sure;
	const struct route *route; /* NULL: the rules were given */
};

/* rules: NULL: those of its route. False: it shares nothing. */
static bool
begin(struct trip *t, const struct head *h, const struct outgoing_settings *set,
      const struct key_rules *rules, unsigned how)
{
	static const struct h1_limits limits = {4096, 4096, 64};
	struct outgoing_asks asks = {.as_it_came = how & AS_IT_CAME};
	int n = sprintf(t->text, "%s %s HTTP/1.%u\r\nHost: %s\r\n", h->method, h->target, h->minor,
			h->host);
	for (unsigned i = 0; i < h->n; i++)
		n += sprintf(t->text + n, "%s: %s\r\n", h->lines[i].name, h->lines[i].value);
	n += sprintf(t->text + n, "\r\n");
	t->rq = (struct request){.fields = {.v = t->v, .cap = 64}};
	if (how & VALIDATES)
		asks.if_none_match = STR("\"s\"");
	if (h1_parse_request((struct str){t->text, (size_t)n}, &limits, &t->rq))
		return false;
	t->rq.scheme = STR("http");
	t->route = rules ? NULL : route_find(routes, &t->rq);
	if (t->route && t->route->pass)
		return false;
	if (outgoing_init(&t->out, &t->rq, set, rules ? rules : &t->route->key, how & TRUSTED,
			  true))
		return false;
	t->out.headers = t->route ? t->route->request : NULL;
	t->out.codings = how & CLASSED ? &codings : NULL;
	if (outgoing_rewrite(&t->out, t->route ? t->route->rewrite : NULL, &t->path))
		return false;
	outgoing_is_from(&t->out, STR("192.0.2.1"), NULL, 0);
	t->sure = outgoing_key(&t->out, &t->key);
	outgoing_fields(&t->out, buf_str(&t->key), &asks, &t->fields);
	t->asked = outgoing_asked(&t->out, &asks);
	return true;
}

static void
end(struct trip *t)
{
	buf_fini(&t->key);
	buf_fini(&t->variant);
	buf_fini(&t->fields);
	buf_fini(&t->path);
	buf_fini(&t->target);
}

/* The lines of a head in the order of their names, which are in lower case; not those of the list
 * that no name in Vary takes off it. */
static int
by_bytes(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Of the list in outgoing.h: who asks, by a trusted forwarder's word, and the cache's questions. */
static bool
is_listed(struct str line)
{
	static const struct str listed[] = {
		STR_INIT("x-real-ip:"),		STR_INIT("if-match:"), STR_INIT("if-none-match:"),
		STR_INIT("if-modified-since:"), STR_INIT("if-range:"), STR_INIT("range:")};
	for (int i = 0; i < COUNT(listed); i++)
		if (str_starts(line, listed[i]))
			return true;
	return false;
}

static void
sorted(struct buf *head, struct buf *out)
{
	struct str lines[96], rest, line;
	size_t n = 0;
	for (size_t i = 0, name = 1; i < head->n; i++) {
		name = head->p[i] == '\n' || (name && head->p[i] != ':');
		if (name)
			head->p[i] = byte_lower(head->p[i]);
	}
	for (rest = buf_str(head); rest.n;) {
		str_cut(rest, '\n', &line, &rest);
		if (!is_listed(line))
			lines[n++] = line;
	}
	qsort(lines, n, sizeof *lines, by_bytes);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(out, lines[i]);
		buf_add_lit(out, "\n");
	}
}

/* Every name that a request has, and those that are written here, as if an answer named them. */
static void
all_names(const struct trip *a, const struct trip *b, struct buf *names)
{
	static char text[NAMES_BYTES];
	struct field vary;
	struct fields f = {.v = &vary, .cap = 1};
	const struct trip *both[] = {a, b};
	int n = sprintf(text, "via, forwarded, host, x-forwarded-for, x-forwarded-host, "
			      "x-forwarded-proto, dnt, accept, my-field, user-agent");
	for (int k = 0; k < 2; k++)
		for (unsigned i = 0; i < both[k]->rq.fields.n; i++) {
			struct str name = both[k]->rq.fields.v[i].name;
			if (!str_ieq(name, STR("x-real-ip")))
				n += sprintf(text + n, ", %.*s", (int)name.n, name.p);
		}
	fields_add(&f, STR("Vary"), (struct str){text, (size_t)n});
	ck_assert(vary_names(&f, names));
}

struct met {
	unsigned shared, told_apart, other_key, unsure, asked;
};

static void
compare(struct trip *a, struct trip *b, struct met *met)
{
	struct buf names = {0}, x = {0}, y = {0};
	bool same_key = str_eq(buf_str(&a->key), buf_str(&b->key));
	all_names(a, b, &names);
	if (!a->sure || !b->sure) {
		met->unsure++;
	} else if (!same_key) {
		met->other_key++;
	} else if (outgoing_varies_on(buf_str(&names), a->asked | b->asked)) {
		met->asked++;
	} else {
		ck_assert_msg(a->route == b->route, "one key, two routes:\n%s%s", a->text, b->text);
		outgoing_variant(&a->out, buf_str(&a->key), buf_str(&names), &a->variant);
		outgoing_variant(&b->out, buf_str(&b->key), buf_str(&names), &b->variant);
		sorted(&a->fields, &x);
		sorted(&b->fields, &y);
		bool shared = str_eq(buf_str(&a->variant), buf_str(&b->variant));
		bool alike = str_eq(buf_str(&x), buf_str(&y));
		ck_assert_msg(shared == alike, "%s:\n%s%s\ngo out as\n%.*s\nand\n%.*s",
			      shared ? "one variant, two heads" : "one head, two variants", a->text,
			      b->text, STR_ARG(buf_str(&x)), STR_ARG(buf_str(&y)));
		ck_assert(str_eq(outgoing_target(&a->out, buf_str(&a->key), &a->target),
				 outgoing_target(&b->out, buf_str(&b->key), &b->target)));
		ck_assert(str_eq(outgoing_authority(buf_str(&a->key)),
				 outgoing_authority(buf_str(&b->key))));
		met->shared += shared;
		met->told_apart += !shared;
	}
	buf_fini(&names);
	buf_fini(&x);
	buf_fini(&y);
}

static void
compare_pairs(uint64_t seed, unsigned pairs, bool by_route, struct met *met)
{
	static struct trip a, b;
	struct dice d = {seed * 7919 + 1};
	struct outgoing_settings set = {.via = STR_INIT("twice"),
					.drop = outgoing_overrides,
					.drop_count = outgoing_overrides_count};
	outgoing_settings_init(&set);
	for (unsigned pair = 0; pair < pairs; pair++) {
		struct head one = {.method = PICK(&d, methods),
				   .target = PICK(&d, targets),
				   .host = PICK(&d, hosts),
				   .minor = 1};
		for (unsigned i = roll(&d, 6); i; i--)
			add_line(&d, &one);
		struct head two = one;
		for (unsigned i = 1 + roll(&d, 3); i; i--)
			change(&d, &two);
		const struct key_rules *rules = by_route ? NULL : &PICK(&d, rule_sets);
		unsigned how = roll(&d, 4) ? 0 : TRUSTED;
		how |= roll(&d, 2) ? CLASSED : 0;
		set.keep_wishes = roll(&d, 4) == 0;
		set.keep_underscores = roll(&d, 4) == 0;
		unsigned asks = roll(&d, 4) ? 0 : AS_IT_CAME,
			 other = roll(&d, 4) ? asks : VALIDATES;
		a = b = (struct trip){0};
		if (begin(&a, &one, &set, rules, how | asks) &&
		    begin(&b, &two, &set, rules, how | other))
			compare(&a, &b, met);
		end(&a);
		end(&b);
	}
}

enum { PAIRS = 20000 };

static void
expect_all_happened(const struct met *met, unsigned of)
{
	ck_assert_uint_gt(met->shared, of / 8);
	ck_assert_uint_gt(met->told_apart, of / 40);
	ck_assert_uint_gt(met->other_key, of / 20);
	ck_assert_uint_gt(met->asked, of / 100);
}

START_TEST(random_heads)
{
	struct met met = {0};
	compare_pairs((uint64_t)_i, PAIRS, false, &met);
	expect_all_happened(&met, PAIRS);
	ck_assert_uint_gt(met.unsure, 0);
}
END_TEST

START_TEST(random_heads_by_route)
{
	struct met met = {0};
	struct config c = {.routes = routed,
			   .route_count = COUNT(routed),
			   .request_headers = {.set = set_lines,
					       .set_count = COUNT(set_lines),
					       .add = add_lines,
					       .add_count = COUNT(add_lines),
					       .remove = removed,
					       .remove_count = COUNT(removed)}};
	struct routes *all = routes_create(&c);
	routes = all;
	compare_pairs(1000 + (uint64_t)_i, PAIRS, true, &met);
	expect_all_happened(&met, PAIRS / 20); /* most pass: a path is read in many ways */
	routes_destroy(&all);
}
END_TEST

UNIT("keyed", TIMES(random_heads, 8), TIMES(random_heads_by_route, 8))
