/* fuzz_outgoing.c - two request heads, a zero byte between them: what their keys do not tell apart,
 * the origin cannot tell apart either; but for what the answers may not be shared for.
 * rooms: serve coding http base
 */
#include "proxy/http/credential.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/outgoing/outgoing.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static const struct str headers[] = {STR_INIT("x-a"), STR_INIT("accept-language")};
static const struct str cookies[] = {STR_INIT("a")};
static const struct str header_stars[] = {STR_INIT("x-b")}, cookie_stars[] = {STR_INIT("b_")};
static const struct key_rules rules = {.headers = headers,
				       .header_count = 2,
				       .cookies = cookies,
				       .cookie_count = 1,
				       .header_stars = header_stars,
				       .header_star_count = 1,
				       .cookie_stars = cookie_stars,
				       .cookie_star_count = 1,
				       .normalise = true,
				       .query = QUERY_SORT};
#define VARY "accept-encoding,cache-control,foo,if-none-match,range,via,x-forwarded-for"
#define ALIKE                                                                                      \
	"x-a,x-b,x-b-c,accept-language,accept-encoding,cache-control,foo,if-none-match,range,via," \
	"x-forwarded-for,x-forwarded-host,x-forwarded-proto,x-original-url"
/* Bits of the first byte. */
enum { TRUSTED = 1, FIRST_AS_IT_CAME = 2, SECOND_AS_IT_CAME = 4, KEEP_WISHES = 8, VALIDATES = 16 };

struct trip {
	struct field v[64];
	struct request rq;
	struct outgoing out;
	struct buf key, variant, fields;
	uint64_t asked;
	bool sure;
};

static bool
begin(struct trip *t, struct str head, const struct outgoing_settings *set, bool trusted,
      struct outgoing_asks asks)
{
	static const struct h1_limits limits = {8192, 8192, 64};
	size_t scanned = 0;
	*t = (struct trip){.rq = {.fields = {.v = t->v, .cap = 64}}};
	if (h1_head_bytes(head.p, head.n, &scanned) != head.n || head.p[0] == '\r' ||
	    head.p[0] == '\n')
		return false;
	if (h1_parse_request(head, &limits, &t->rq))
		return false;
	t->rq.scheme = STR("http");
	const struct fault *fault = outgoing_init(&t->out, &t->rq, set, &rules, trusted, true);
	assert(!fault || fault == &fault_LOOP); /* the parser counts options too */
	if (fault)
		return false;
	t->out.client_ip = STR("::1");
	t->sure = outgoing_key(&t->out, &t->key);
	outgoing_variant(&t->out, buf_str(&t->key), STR(VARY), &t->variant);
	outgoing_fields(&t->out, buf_str(&t->key), &asks, &t->fields);
	t->asked = outgoing_asked(&t->out, &asks);
	if (outgoing_goes_as_it_came(&t->out, buf_str(&t->key)))
		assert(credential_signs(&t->rq));
	return true;
}

static void
end(struct trip *t)
{
	buf_fini(&t->key);
	buf_fini(&t->variant);
	buf_fini(&t->fields);
}

static void
lines_of(struct str rest, struct str name, struct buf *out)
{
	struct str line, tail;
	while (rest.n) {
		str_cut(rest, '\n', &line, &tail);
		if (line.n > name.n && line.p[name.n] == ':' &&
		    strncasecmp(line.p, name.p, name.n) == 0)
			buf_add_str(out, str_from(line, name.n));
		rest = tail;
	}
}

static void
compare(const struct trip *a, const struct trip *b)
{
	struct str names = STR(ALIKE), name;
	if (!a->sure || !b->sure || !str_eq(buf_str(&a->key), buf_str(&b->key)) ||
	    !str_eq(buf_str(&a->variant), buf_str(&b->variant)) ||
	    outgoing_varies_on(STR(VARY), a->asked | b->asked))
		return;
	while (list_next(&names, &name)) {
		struct buf x = {0}, y = {0};
		lines_of(buf_str(&a->fields), name, &x);
		lines_of(buf_str(&b->fields), name, &y);
		assert(str_eq(buf_str(&x), buf_str(&y)));
		buf_fini(&x);
		buf_fini(&y);
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct trip a, b;
	struct outgoing_settings set = {.via = STR_INIT("twice"),
					.drop = outgoing_overrides,
					.drop_count = outgoing_overrides_count};
	outgoing_settings_init(&set);
	if (n < 2)
		return 0;
	bool trusted = data[0] & TRUSTED;
	struct outgoing_asks one = {.as_it_came = data[0] & FIRST_AS_IT_CAME},
			     two = {.as_it_came = data[0] & SECOND_AS_IT_CAME};
	set.keep_wishes = data[0] & KEEP_WISHES;
	if (data[0] & VALIDATES)
		one.if_none_match = STR("\"stored\"");
	struct str all = {(const char *)data + 1, n - 1}, first, second;
	str_cut(all, '\0', &first, &second);
	if (first.n && begin(&a, first, &set, trusted, one)) {
		if (second.n && begin(&b, second, &set, trusted, two)) {
			compare(&a, &b);
			end(&b);
		}
		end(&a);
	}
	return 0;
}
