/* test_work.c - who sends twice as much makes us do twice as much, and not four times.
 * rooms: base
 *
 * Each parser of what strangers write is fed an input of n and one of 2n, in the form that is worst
 * for it. What is counted is steps, not time: the Makefile compiles the parsers for this test with
 * a call in each basic block, and the bytes that memchr and its like look at count as well.
 */
#include "proxy/http/cache_control.h"
#include "proxy/http/chunked.h"
#include "proxy/http/cookie.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"
#include "proxy/http/negotiate.h"
#include "proxy/http/precond.h"
#include "proxy/http/range.h"
#include "proxy/http/structured.h"
#include "proxy/http/uri.h"
#include "proxy/serve/outgoing.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* ---- counting ------------------------------------------------------------------------------- */

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);
void
__sanitizer_cov_trace_pc(void)
{
	steps++;
}

#define COUNTED(type, name, parameters, arguments, n) \
	type __real_##name parameters;                \
	type __wrap_##name parameters;                \
	type __wrap_##name parameters                 \
	{                                             \
		steps += (n) / 8;                     \
		return __real_##name arguments;       \
	}
COUNTED(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
COUNTED(int, strncasecmp, (const char *a, const char *b, size_t n), (a, b, n), n)
COUNTED(void *, memcpy, (void *to, const void *p, size_t n), (to, p, n), n)
COUNTED(void *, memmove, (void *to, const void *p, size_t n), (to, p, n), n)
COUNTED(void *, memset, (void *p, int c, size_t n), (p, c, n), n)

void *__real_memchr(const void *p, int c, size_t n);
void *__wrap_memchr(const void *p, int c, size_t n);
void *
__wrap_memchr(const void *p, int c, size_t n)
{
	const char *found = __real_memchr(p, c, n);
	steps += (found ? (size_t)(found - (const char *)p) : n) / 8;
	return (void *)(uintptr_t)found;
}

struct input {
	char text[20000];
	size_t n;
};

static void
add(struct input *in, const char *s)
{
	size_t n = strlen(s);
	ck_assert_uint_lt(in->n + n, sizeof in->text);
	memcpy(in->text + in->n, s, n);
	in->n += n;
}

static void
repeat(struct input *in, const char *pattern, int n)
{
	char number[16];
	for (int i = 0; i < n; i++) {
		snprintf(number, sizeof number, "%d", i);
		for (const char *p = pattern; *p; p++)
			add(in, *p == '@' ? number : (const char[]){*p, '\0'});
	}
}

static struct str
all(const struct input *in)
{
	return (struct str){in->text, in->n};
}

/* -- what reads ------------------------------------------------------------------------------- */

static const struct h1_limits limits = {1 << 20, 1 << 20, FIELDS_MAX};
static struct field fields[FIELDS_MAX];

static void
read_request(const void *arg)
{
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	h1_parse_request(all(arg), &limits, &rq);
}

static void
send_request(const void *arg)
{
	static const struct str keyed[] = {STR_INIT("x-keyed")}, cookies[] = {STR_INIT("lang")};
	static const struct key_rules rules = {.headers = keyed,
					       .header_count = 1,
					       .cookies = cookies,
					       .cookie_count = 1,
					       .normalise = true,
					       .query = QUERY_SORT};
	struct outgoing_settings set = {.via = STR_INIT("twice"),
					.drop = outgoing_overrides,
					.drop_count = outgoing_overrides_count};
	struct outgoing_asks asks = {.as_it_came = false};
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct outgoing o;
	struct buf key = {0}, out = {0};
	outgoing_settings_init(&set);
	if (h1_parse_request(all(arg), &limits, &rq))
		return;
	rq.scheme = STR("http");
	if (outgoing_init(&o, &rq, &set, &rules, true, true))
		return;
	outgoing_key(&o, &key);
	outgoing_variant(&o, buf_str(&key), STR("accept,x-a,via,forwarded"), &out);
	outgoing_fields(&o, buf_str(&key), &asks, &out);
	buf_fini(&key);
	buf_fini(&out);
}

static void
store_response(const void *arg)
{
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct buf out = {0}, names = {0};
	struct terms terms = {0};
	struct response_cc cc;
	if (!h1_parse_response(all(arg), &r))
		return;
	response_cc_select(&r.fields, STR("own-cache-control"), &cc);
	vary_names(&r.fields, &names);
	head_store(&r, 784111777, &out, &terms);
	buf_fini(&out);
	buf_fini(&names);
}

static void
read_conditions(const void *arg)
{
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct validators v = {STR("\"a\""), 1, 2, 200};
	struct slice slices[RANGES_MAX];
	struct request_cc cc;
	unsigned n;
	if (h1_parse_request(all(arg), &limits, &rq))
		return;
	request_cc_parse(&rq.fields, &cc);
	precond_decide(&rq, &v, 784111777);
	range_parse(fields_get(&rq.fields, FIELD_RANGE), 1000000, slices, &n);
}

static void
read_chunks(const void *arg)
{
	struct chunked c = {0};
	struct str rest = all(arg), data;
	const struct fault *fault;
	while (chunked_decode(&c, &rest, &data, &fault) == CHUNKED_DATA)
		;
}

/* -- what is worst for it --------------------------------------------------------------------- */

#define GET "GET / HTTP/1.1\r\nHost: h\r\n"
static const struct {
	const char *says;
	void (*run)(const void *arg);
	const char *begin, *piece, *end;
	int n;
} inputs[] = {
	/* clang-format off */
	{"fields of different names",       read_request, GET, "Name-@: @\r\n", "\r\n", 100},
	{"options of Connection",           read_request, GET "Connection: a", ",option-@", "\r\n\r\n", 500},
	{"lines of Connection",             read_request, GET, "Connection: close\r\n", "\r\n", 100},
	{"fields, and a Connection for them", read_request, GET "Connection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\r\n", "a: @\r\n", "\r\n", 100},
	{"a long target",                   read_request, "GET /", "%41b@", " HTTP/1.1\r\nHost: h\r\n\r\n", 500},
	{"sent: different names",           send_request, GET, "Name-@: @\r\n", "\r\n", 80},
	{"sent: lines of one name",         send_request, GET, "X-A: @\r\n", "\r\n", 80},
	{"sent: pairs of lines",            send_request, GET, "X-@: 1\r\nx-@: 2\r\n", "\r\n", 40},
	{"sent: overrides of a forwarder",  send_request, GET, "X-Forwarded-@: @\r\n", "\r\n", 80},
	{"sent: cookies",                   send_request, GET "Cookie: a=b", "; lang@=@", "\r\n\r\n", 300},
	{"sent: quoted cookies",            send_request, GET "Cookie: a=b", "\"\\;lang=@", "\r\n\r\n", 300},
	{"sent: lines of cookies",          send_request, GET, "Cookie: lang=@\r\n", "\r\n", 80},
	{"sent: types",                     send_request, GET "Accept: a/b", ", a/c;q=0.@", "\r\n\r\n", 300},
	{"sent: Via",                       send_request, GET "Via: 1.1 a", ", 1.1 b@", "\r\n\r\n", 300},
	{"sent: Forwarded",                 send_request, GET "Forwarded: for=a", ", for=b@;proto=http", "\r\n\r\n", 200},
	{"sent: a path of dots",            send_request, "GET ", "/a/..", "/ HTTP/1.1\r\nHost: h\r\n\r\n", 500},
	{"sent: parameters",                send_request, "GET /?", "&p@=@", " HTTP/1.1\r\nHost: h\r\n\r\n", 300},
	{"stored: fields and Connection",   store_response, "HTTP/1.1 200 OK\r\nConnection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p\r\n", "Name-@: @\r\n", "\r\n", 100},
	{"stored: names of no-cache",       store_response, "HTTP/1.1 200 OK\r\nCache-Control: no-cache=\"a", ",name-@", "\"\r\nA: b\r\nB: c\r\n\r\n", 300},
	{"stored: directives",              store_response, "HTTP/1.1 200 OK\r\nCache-Control: a", ",max-age=@", "\r\n\r\n", 300},
	{"stored: Vary",                    store_response, "HTTP/1.1 200 OK\r\nVary: a", ", b@", "\r\n\r\n", 300},
	{"stored: Vary on the same",        store_response, "HTTP/1.1 200 OK\r\nVary: a", ", a", "\r\n\r\n", 500},
	{"stored: a targeted field",        store_response, "HTTP/1.1 200 OK\r\nOwn-Cache-Control: a", ", b@=1", "\r\n\r\n", 300},
	{"asked: directives",               read_conditions, GET "Cache-Control: a", ", min-fresh=@", "\r\n\r\n", 300},
	{"asked: tags",                     read_conditions, GET "If-None-Match: \"b\"", ", \"c@\"", "\r\n\r\n", 300},
	{"asked: ranges",                   read_conditions, GET "Range: bytes=0-0", ",@-@", "\r\n\r\n", 300},
	{"chunks of one byte",              read_chunks, "", "1\r\na\r\n", "0\r\n\r\n", 500},
	{"extensions of a chunk",           read_chunks, "1", ";a=@", "\r\na\r\n0\r\n\r\n", 300},
	/* clang-format on */
};

static uint64_t
work_of(void (*run)(const void *arg), const struct input *in)
{
	steps = 0;
	run(in);
	return steps;
}

static uint64_t
work(int row, int n)
{
	static struct input in;
	in.n = 0;
	add(&in, inputs[row].begin);
	repeat(&in, inputs[row].piece, n);
	add(&in, inputs[row].end);
	return work_of(inputs[row].run, &in);
}

START_TEST(work_grows_with_the_input)
{
	uint64_t nothing = work(_i, 1), once = work(_i, inputs[_i].n),
		 twice = work(_i, 2 * inputs[_i].n);
	uint64_t more = once > nothing ? once - nothing : 0;
	ck_assert_uint_gt(nothing, 10); /* it is counted at all */
	ck_assert_msg(twice <= nothing + more * 9 / 4 + 200, "%s: %llu, %llu, %llu steps",
		      inputs[_i].says, (unsigned long long)nothing, (unsigned long long)once,
		      (unsigned long long)twice);
}
END_TEST

/* The check itself: uri_remove_dots on ever longer beginnings is quadratic, and seen to be. */
static void
quadratic(const void *arg)
{
	struct str s = all(arg);
	for (size_t n = 1; n <= s.n; n++) {
		struct buf b = {0};
		buf_add(&b, s.p, n);
		uri_remove_dots(&b, 0);
		buf_fini(&b);
	}
}

START_TEST(what_is_quadratic_is_noticed)
{
	static struct input in;
	memset(in.text, '/', sizeof in.text);
	in.n = 200;
	uint64_t once = work_of(quadratic, &in);
	in.n = 400;
	ck_assert_uint_gt(work_of(quadratic, &in), once * 3);
}
END_TEST

UNIT("work", LOOP(work_grows_with_the_input, inputs), TEST(what_is_quadratic_is_noticed))
