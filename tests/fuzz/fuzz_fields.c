/* fuzz_fields.c - field values of strangers: the first byte chooses who reads them.
 * rooms: http base
 *
 * Asserted: a normal form is its own normal form (keys, Vary, dates); no slice leaves its body or
 * meets another; numbers of seconds stay in their bounds; a dictionary is read in finite steps.
 */
#include "proxy/http/cache_control.h"
#include "proxy/http/cachekey.h"
#include "proxy/http/coding.h"
#include "proxy/http/cookie.h"
#include "proxy/http/negotiate.h"
#include "proxy/http/date.h"
#include "proxy/http/policy.h"
#include "proxy/http/precond.h"
#include "proxy/http/range.h"
#include "proxy/http/structured.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 784111777

/* Lines of one name, separated by "\n"; bytes that a parser would have refused become spaces. */
static struct fields
lines_of(struct str name, struct str s, char *text, struct field *v, unsigned cap)
{
	struct fields f = {.v = v, .cap = cap};
	struct str line;
	for (size_t i = 0; i < s.n; i++)
		text[i] = byte_is(s.p[i], BYTE_VALUE) || s.p[i] == '\n' ? s.p[i] : ' ';
	struct str rest = {text, s.n};
	do
		str_cut(rest, '\n', &line, &rest);
	while (fields_add(&f, name, str_trim(line)) && rest.n);
	return f;
}

static bool
in_bounds(struct secs s)
{
	return s.n >= 0 && s.n <= SECS_MAX && (s.known || s.n == 0);
}

static void
read_cache_control(struct str s, char *text)
{
	struct field v[8];
	struct request_cc q;
	struct response_cc a, names;
	struct fields f = lines_of(STR("Cache-Control"), s, text, v, 8);
	request_cc_parse(&f, &q);
	response_cc_select(&f, STR(""), &a);
	assert(in_bounds(q.max_age) && in_bounds(q.min_fresh) && in_bounds(q.max_stale));
	assert(in_bounds(a.max_age) && in_bounds(a.s_maxage) && in_bounds(a.stale_if_error));
	assert(!a.no_cache || !a.no_cache_fields.n);
	bool named = response_cc_parse_names(&f, &names);
	assert(named == (a.no_cache_fields.n || a.private_fields.n));
	assert(str_eq(names.no_cache_fields, a.no_cache_fields));
	assert(str_eq(names.private_fields, a.private_fields));
	f = lines_of(STR("CDN-Cache-Control"), s, text, v, 8);
	bool targeted = response_cc_select(&f, STR(""), &a);
	assert(targeted == a.has_any && in_bounds(a.max_age));
	f = lines_of(STR("Age"), s, text, v, 8);
	assert(in_bounds(age_parse(&f)));
}

static void
read_date(struct str s)
{
	char text[DATE_BYTES];
	int64_t t, back = 0;
	if (!date_parse(s, NOW, &t))
		return;
	date_format(t, text);
	assert(date_parse((struct str){text, DATE_BYTES}, NOW, &back) && back == t);
}

static void
read_vary(struct str s, char *text)
{
	static bool (*const forms[])(struct str, struct buf *) = {
		negotiate_codings, negotiate_types, negotiate_languages, negotiate_tokens};
	struct field v[8], w;
	struct buf names = {0}, again = {0};
	struct fields f = lines_of(STR("Vary"), s, text, v, 8);
	if (vary_names(&f, &names)) {
		f = (struct fields){.v = &w, .cap = 1};
		fields_add(&f, STR("Vary"), buf_str(&names));
		assert(vary_names(&f, &again) && str_eq(buf_str(&names), buf_str(&again)));
	}
	for (unsigned i = 0; i < 4; i++) {
		struct buf once = {0}, twice = {0};
		/* an open quote would end elsewhere in what is written */
		if (forms[i](v[0].value, &once) && forms[i](buf_str(&once), &twice))
			assert(memchr(text, '"', s.n) || str_eq(buf_str(&once), buf_str(&twice)));
		buf_fini(&once);
		buf_fini(&twice);
	}
	struct buf normal = {0};
	negotiate_codings(v[0].value, &normal);
	assert(coding_accepted(v[0].value) == coding_accepted(buf_str(&normal)));
	assert(coding_of(v[0].value) <= CODING_OTHER);
	buf_fini(&normal);
	buf_fini(&names);
	buf_fini(&again);
}

static void
read_range(struct str s)
{
	struct range v[RANGES_MAX];
	unsigned n = 0;
	uint64_t length = s.n % 100, total, sum = 0;
	if (range_parse(s, length, v, &n) == RANGE_PART) {
		assert(n >= 1 && n <= RANGES_MAX);
		for (unsigned i = 0; i < n; i++) {
			assert(v[i].n && v[i].at + v[i].n <= length);
			sum += v[i].n;
			for (unsigned j = 0; j < i; j++)
				assert(v[i].at > v[j].at + v[j].n || v[j].at > v[i].at + v[i].n);
		}
		assert(sum <= length);
	}
	if (content_range_parse(s, v, &total))
		assert(v[0].n && v[0].at + v[0].n <= total);
}

static void
read_structured(struct str s)
{
	struct sf_member m;
	size_t left = s.n;
	while (sf_dictionary_next(&s, &m) == SF_MEMBER) {
		assert(m.key.n && s.n < left);
		left = s.n;
	}
}

static void
read_conditions(struct str s, char *text)
{
	struct field v[8];
	struct request r = {.method = METHOD_GET};
	struct validators stored = {STR("\"a\""), NOW - 100, NOW, 200};
	r.fields = lines_of(STR("If-None-Match"), s, text, v, 8);
	precond_decide(&r, &stored, NOW);
	r.fields = lines_of(STR("If-Range"), s, text, v, 8);
	if_range_holds(&r, &stored, NOW);
	r.fields = lines_of(STR("If-Match"), s, text, v, 8);
	precond_decide(&r, &stored, NOW);
}

static const struct str drop[] = {STR_INIT("utm_*")};

static void
add_url(const struct request *r, const struct key_rules *rules, struct buf *out)
{
	cachekey_add_url(r->scheme, r->authority, r->path_query, rules, out);
}

/* first line: path and query; second: Host; third: Cookie */
/* Many that are looked for at once are found as each is alone, and a value is of one line, up to its end. */
static void
check_cookies(const struct fields *f)
{
	static const struct str names[] = {STR_INIT("a"), STR_INIT("A"), STR_INIT("a.b"),
					   STR_INIT("ab_c"), STR_INIT("session_id_of_them")};
	enum { NAMES = sizeof names / sizeof *names };
	struct cookie_found all[NAMES], one;
	cookie_find(f, names, NAMES, all);
	for (unsigned i = 0; i < NAMES; i++) {
		cookie_find(f, &names[i], 1, &one);
		assert(one.is == all[i].is && str_eq(one.value, all[i].value));
		assert((one.is == COOKIE_ONE) >= (one.value.n > 0));
		assert(!one.value.n || !memchr(one.value.p, ';', one.value.n));
	}
}

static void
read_key(struct str s, char *text)
{
	static const struct key_rules rules[] = {
		{.normalise = true},
		{.normalise = true, .query = QUERY_SORT},
		{.query = QUERY_SORT, .drop_params = drop, .drop_count = 1},
	};
	struct field v[4];
	struct fields lines = lines_of(STR("Cookie"), s, text, v, 4);
	struct request r = {.method = METHOD_GET, .scheme = STR("http"), .path_query = v[0].value};
	struct buf key = {0}, again = {0}, resolved_text = {0};
	if (lines.n < 2 || !str_is(v[0].value, BYTE_TARGET) || v[0].value.p[0] != '/')
		return;
	r.authority = str_is(v[1].value, BYTE_HOST) ? v[1].value : STR("h");
	r.fields = (struct fields){.v = v + 2, .n = lines.n - 2, .cap = 2};
	r.fields.present = r.fields.n ? lines.present : 0;
	for (unsigned i = 0; i < 3; i++) {
		key.n = again.n = 0;
		add_url(&r, &rules[i], &key);
		struct request same = r;
		same.path_query = cachekey_target(buf_str(&key));
		assert(same.path_query.n && same.path_query.p[0] == '/');
		add_url(&same, &rules[i], &again);
		assert(str_eq(buf_str(&key), buf_str(&again)));
	}
	check_cookies(&r.fields);
	struct request resolved;
	struct str reference = lines.n > 2 ? v[2].value : v[1].value;
	if (cachekey_resolve(&r, reference, &resolved_text, &resolved))
		assert(resolved.path_query.n && resolved.path_query.p[0] == '/');
	buf_fini(&key);
	buf_fini(&again);
	buf_fini(&resolved_text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096];
	if (size < 2 || size > sizeof text)
		return 0;
	struct str s = {(const char *)data + 1, size - 1};
	switch (data[0]) {
	case 'c':
		read_cache_control(s, text);
		break;
	case 'd':
		read_date(s);
		break;
	case 'v':
		read_vary(s, text);
		break;
	case 'r':
		read_range(s);
		break;
	case 's':
		read_structured(s);
		break;
	case 'i':
		read_conditions(s, text);
		break;
	case 'k':
		read_key(s, text);
		break;
	}
	return 0;
}
