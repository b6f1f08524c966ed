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
#include "proxy/http/field_block.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"
#include "proxy/http/negotiate.h"
#include "proxy/http/precond.h"
#include "proxy/http/range.h"
#include "proxy/http/structured.h"
#include "proxy/http/uri.h"
#include "proxy/serve/outgoing/outgoing.h"
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
	char text[100000];
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
send_with(const struct input *in, const struct key_rules *rules, bool trusted)
{
	struct outgoing_settings set = {.via = STR_INIT("twice"),
					.drop = outgoing_overrides,
					.drop_count = outgoing_overrides_count,
					.name_seed = 0x5eed};
	struct outgoing_asks asks = {.as_it_came = false};
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct outgoing o;
	struct buf key = {0}, out = {0};
	outgoing_settings_init(&set);
	if (h1_parse_request(all(in), &limits, &rq))
		return;
	rq.scheme = STR("http");
	if (outgoing_init(&o, &rq, &set, rules, trusted, true))
		return;
	outgoing_key(&o, &key);
	outgoing_variant(&o, buf_str(&key), STR("accept,x-a,via,forwarded"), &out);
	outgoing_fields(&o, buf_str(&key), &asks, &out);
	buf_fini(&key);
	buf_fini(&out);
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
	send_with(arg, &rules, true);
	send_with(arg, &rules, false);
}

static void
drop_parameters(const void *arg)
{
	static const struct str drop[] = {STR_INIT("utm_*"), STR_INIT("p")};
	static const struct key_rules rules = {.drop_params = drop, .drop_count = 2};
	send_with(arg, &rules, false);
}

static void
keep_parameters(const void *arg)
{
	static const struct str keep[] = {STR_INIT("p"), STR_INIT("q")};
	static const struct key_rules rules = {
		.keep_params = keep, .keep_count = 2, .query = QUERY_SORT};
	send_with(arg, &rules, false);
}

/* A variant by all the names that the request has, as an origin's Vary may demand. */
static void
vary_on_all(const void *arg)
{
	static const struct key_rules rules = {.normalise = true};
	struct outgoing_settings set = {.via = STR_INIT("twice")};
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct outgoing o;
	struct buf key = {0}, names = {0}, out = {0};
	outgoing_settings_init(&set);
	if (h1_parse_request(all(arg), &limits, &rq))
		return;
	rq.scheme = STR("http");
	if (outgoing_init(&o, &rq, &set, &rules, false, true))
		return;
	for (unsigned i = 0; i < rq.fields.n && i < 16; i++) {
		buf_add_str(&names, fields[rq.fields.n - 1 - i].name);
		buf_add(&names, ",", 1);
	}
	outgoing_key(&o, &key);
	outgoing_variant(&o, buf_str(&key), buf_str(&names), &out);
	buf_fini(&key);
	buf_fini(&names);
	buf_fini(&out);
}

static void
name_client(const void *arg)
{
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct network any;
	if (h1_parse_request(all(arg), &limits, &rq) || network_parse("any", &any))
		return;
	forwarded_client(&rq.fields, &any, 1, STR("192.0.2.1"));
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

/* Stored, read again, and brought up to date by a 304 with the same fields. */
static void
update_response(const void *arg)
{
	static struct field more[2][FIELDS_MAX + 10];
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}}, stored, updated;
	struct buf out = {0};
	struct terms terms = {0};
	char date[DATE_BYTES];
	if (!h1_parse_response(all(arg), &r))
		return;
	head_store(&r, 784111777, &out, &terms);
	stored.fields = (struct fields){.v = more[0], .cap = FIELDS_MAX + 10};
	updated.fields = (struct fields){.v = more[1], .cap = FIELDS_MAX + 10};
	field_block_check(buf_str(&out));
	if (head_read(buf_str(&out), &stored))
		head_update(&stored, &r, 784111777, date, &updated);
	buf_fini(&out);
}

static void
unite_names(const void *arg)
{
	struct response r = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct buf a = {0}, out = {0};
	if (!h1_parse_response(all(arg), &r))
		return;
	vary_names(&r.fields, &a);
	vary_union(buf_str(&a), buf_str(&a), &out);
	buf_fini(&a);
	buf_fini(&out);
}

static void
resolve(const void *arg)
{
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}}, resolved = {0};
	struct buf out = {0};
	if (h1_parse_request(all(arg), &limits, &rq))
		return;
	rq.scheme = STR("http");
	cachekey_resolve(&rq, fields_get(&rq.fields, FIELD_LOCATION), &out, &resolved);
	out.n = 0;
	uri_add_decoded(rq.path_query, &out);
	buf_fini(&out);
}

static void
read_conditions(const void *arg)
{
	struct request rq = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct validators v = {STR("\"a\""), 1, 2, 200};
	struct range ranges[RANGES_MAX];
	struct request_cc cc;
	unsigned n;
	if (h1_parse_request(all(arg), &limits, &rq))
		return;
	request_cc_parse(&rq.fields, &cc);
	precond_decide(&rq, &v, 784111777);
	range_parse(fields_get(&rq.fields, FIELD_RANGE), 1000000, ranges, &n);
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
	{"sent: types",                     send_request, GET "Accept: a/b", ", a/c;q=0.@", "\r\n\r\n", 600},
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
	{"codings of a transfer",           read_request, GET "Transfer-Encoding: a", ", chunked, a@", "\r\n\r\n", 300},
	{"lines of lengths",                read_request, GET, "Content-Length: 5\r\n", "\r\n", 100},
	{"lines of expectations",           read_request, GET, "Expect: 100-continue\r\n", "\r\n", 100},
	{"lines of hosts",                  read_request, GET, "Host: h@\r\n", "\r\n", 100},
	{"a long host",                     read_request, "GET / HTTP/1.1\r\nHost: a", "%41b@", "\r\n\r\n", 500},
	{"a head of empty values",          read_request, GET, "X:\r\n", "\r\n", 100},
	{"a value of blanks",               read_request, GET "X: ", " \t", "a\r\n\r\n", 3000},
	{"sent: codings",                   send_request, GET "Accept-Encoding: gzip", ", br;q=0.@, x@", "\r\n\r\n", 600},
	{"sent: languages",                 send_request, GET "Accept-Language: de", ", en-x@;q=0.5", "\r\n\r\n", 300},
	{"sent: parts of a language",       send_request, GET "Accept-Language: de", "-abc@", "\r\n\r\n", 300},
	{"sent: parameters of a type",      send_request, GET "Accept: a/b", ";p@=\"\\\";\"", "\r\n\r\n", 300},
	{"sent: charsets",                  send_request, GET "Accept-Charset: a", ", b@;q=0.1", "\r\n\r\n", 300},
	{"sent: a list that is keyed",      send_request, GET "X-Keyed: a", ", b@", "\r\n\r\n", 300},
	{"sent: lines that are keyed",      send_request, GET, "X-Keyed: a@\r\n", "\r\n", 80},
	{"sent: lines of types",            send_request, GET, "Accept: a/@\r\n", "\r\n", 80},
	{"sent: lines of Via",              send_request, GET, "Via: 1.1 b@\r\n", "\r\n", 80},
	{"sent: comments of Via",           send_request, GET "Via: 1.1 a (", "(\\)@", ")\r\n\r\n", 300},
	{"sent: lines of Forwarded",        send_request, GET, "Forwarded: for=@;host=h\r\n", "\r\n", 80},
	{"sent: elements of Forwarded",     send_request, GET "Forwarded: for=a", ";proto=http;host=h@", "\r\n\r\n", 200},
	{"sent: a list of protocols",       send_request, GET "X-Forwarded-Proto: http", ", https", "\r\n\r\n", 500},
	{"sent: a list of hosts",           send_request, GET "X-Forwarded-Host: h", ", h@", "\r\n\r\n", 300},
	{"sent: TE, Trailer, Upgrade",      send_request, GET "TE: a\r\nUpgrade: b\r\nTrailer: c", ", d@", "\r\n\r\n", 300},
	{"sent: equal parameters",          send_request, "GET /?", "&p", " HTTP/1.1\r\nHost: h\r\n\r\n", 1000},
	{"sent: parameters backwards",      send_request, "GET /?z", "&=@", " HTTP/1.1\r\nHost: h\r\n\r\n", 500},
	{"dropped parameters",              drop_parameters, "GET /?", "&utm_@=@&p&q@", " HTTP/1.1\r\nHost: h\r\n\r\n", 300},
	{"kept parameters",                 keep_parameters, "GET /?", "&p=@&q@&q", " HTTP/1.1\r\nHost: h\r\n\r\n", 300},
	{"a variant by 16 names",           vary_on_all, GET, "Name-@: @\r\n", "\r\n", 100},
	{"a variant by one name of many lines", vary_on_all, GET, "X-A: a, b@\r\n", "\r\n", 100},
	{"who asks: X-Forwarded-For",       name_client, GET "X-Forwarded-For: 192.0.2.1", ", 192.0.2.9", "\r\n\r\n", 300},
	{"who asks: lines of it",           name_client, GET, "X-Forwarded-For: 192.0.2.1\r\n", "\r\n", 100},
	{"who asks: Forwarded",             name_client, GET "Forwarded: for=192.0.2.1", ", for=\"[2001:db8::1]:8@\"", "\r\n\r\n", 800},
	{"who asks: both",                  name_client, GET "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1", ", for=a;by=b;for=192.0.2.1", "\r\n\r\n", 200},
	{"where it is: a long reference",   resolve, GET "Location: http://h/a", "/../%41%7e@", "\r\n\r\n", 300},
	{"where it is: a long base",        resolve, "GET /a", "/%2e%2e/b@", " HTTP/1.1\r\nHost: h\r\nLocation: c\r\n\r\n", 300},
	{"stored: lines of Set-Cookie",     store_response, "HTTP/1.1 200 OK\r\n", "Set-Cookie: a=@; Path=/\r\n", "\r\n", 100},
	{"stored: lines of Cache-Control",  store_response, "HTTP/1.1 200 OK\r\n", "Cache-Control: max-age=@, private=\"a@\"\r\n", "\r\n", 100},
	{"stored: lines of Vary",           store_response, "HTTP/1.1 200 OK\r\n", "Vary: x-@\r\n", "\r\n", 100},
	{"stored: names of private",        store_response, "HTTP/1.1 200 OK\r\nCache-Control: private=\"a", ", name-@", "\"\r\nName-1: b\r\n\r\n", 300},
	{"stored: names, and fields of these names", store_response, "HTTP/1.1 200 OK\r\nCache-Control: no-cache=\"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t\"\r\n", "N-@: @\r\n", "\r\n", 100},
	{"stored: Surrogate-Control",       store_response, "HTTP/1.1 200 OK\r\nSurrogate-Control: a", ", b@=\"c\"", "\r\n\r\n", 300},
	{"stored: CDN-Cache-Control",       store_response, "HTTP/1.1 200 OK\r\nCDN-Cache-Control: a", ", b@=c;d=e", "\r\n\r\n", 300},
	{"stored: Cache-Status of others",  store_response, "HTTP/1.1 200 OK\r\nCache-Status: a", ", b@; hit", "\r\n\r\n", 300},
	{"stored: lines of Age",            store_response, "HTTP/1.1 200 OK\r\n", "Age: @\r\n", "\r\n", 100},
	{"updated: different names",        update_response, "HTTP/1.1 200 OK\r\n", "Name-@: @\r\n", "\r\n", 100},
	{"updated: lines of one name",      update_response, "HTTP/1.1 200 OK\r\n", "X-A: @\r\n", "\r\n", 100},
	{"updated: lines of a known name",  update_response, "HTTP/1.1 200 OK\r\n", "Via: 1.1 a@\r\n", "\r\n", 100},
	{"united: names of Vary",           unite_names, "HTTP/1.1 200 OK\r\nVary: a", ", b@", "\r\n\r\n", 300},
	{"asked: lines of directives",      read_conditions, GET, "Cache-Control: max-age=@\r\n", "\r\n", 100},
	{"asked: Pragma",                   read_conditions, GET "Pragma: a", ", no-cache", "\r\n\r\n", 300},
	{"asked: lines of tags",            read_conditions, GET, "If-None-Match: \"c@\"\r\n", "\r\n", 100},
	{"asked: a tag without an end",     read_conditions, GET "If-None-Match: ", "\"a, W/", "\r\n\r\n", 500},
	{"asked: If-Match",                 read_conditions, GET "If-Match: \"b\"", ", \"c@\"", "\r\n\r\n", 300},
	{"asked: a long If-Range",          read_conditions, GET "Range: bytes=0-1\r\nIf-Range: \"", "a@", "\"\r\n\r\n", 300},
	{"asked: ranges of digits",         read_conditions, GET "Range: bytes=0", "9", "-\r\n\r\n", 3000},
	{"trailers of chunks",              read_chunks, "1\r\na\r\n0\r\n", "T-@: u\r\n", "\r\n", 100},
	{"a size of leading zeros",         read_chunks, "", "0", "1\r\na\r\n0\r\n\r\n", 1000},
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

/* Names of one value under a hash that strangers can compute:
 * FNV-1a, cut to 512 values, was ours. */
static uint64_t
work_of_colliding(unsigned n)
{
	static struct input in;
	char name[32];
	in.n = 0;
	add(&in, GET);
	for (unsigned i = 0, found = 0; found < n; i++) {
		uint32_t h = 2166136261u;
		snprintf(name, sizeof name, "x-name-of-one-hash-%u", i);
		for (const char *p = name; *p; p++)
			h = (h ^ (unsigned char)*p) * 16777619u;
		if ((h ^ h >> 15) % 512)
			continue;
		found++;
		add(&in, name);
		add(&in, ": 1\r\n");
	}
	add(&in, "X-A: 1\r\nX-A: 2\r\n\r\n");
	return work_of(send_request, &in);
}

/* Names that differ where the two cases of a letter do, and are of no letters. */
static uint64_t
work_of_twins(unsigned n)
{
	static struct input in;
	in.n = 0;
	add(&in, GET);
	for (unsigned i = 0; i < n; i++) {
		char name[] = "x-^^^^^^^^";
		for (unsigned bit = 0; bit < 8; bit++)
			name[2 + bit] = i >> bit & 1 ? '^' : '~';
		add(&in, name);
		add(&in, ": 1\r\n");
	}
	add(&in, "X-A: 1\r\nX-A: 2\r\n\r\n");
	return work_of(send_request, &in);
}

static uint64_t (*const colliding[])(unsigned) = {work_of_colliding, work_of_twins};

START_TEST(names_that_were_made_to_collide_cost_what_others_do)
{
	uint64_t nothing = colliding[_i](1), once = colliding[_i](90), twice = colliding[_i](180);
	ck_assert_msg(twice <= nothing + (once - nothing) * 9 / 4 + 200, "%llu, %llu, %llu steps",
		      (unsigned long long)nothing, (unsigned long long)once,
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

UNIT("work", LOOP(work_grows_with_the_input, inputs),
     LOOP(names_that_were_made_to_collide_cost_what_others_do, colliding),
     TEST(what_is_quadratic_is_noticed))
