/* test_h2_head.c - which heads of HTTP/2 become requests, and which rule the others break.
 * rooms: http base
 */
#include "proxy/http/h2_head.h"

#include "tests/kit/unit.h"

static const struct {
	const char *says;
	const char *method, *scheme, *authority, *path;
	const char *name, *value; /* a field; NULL: none */
	bool has_body;
	const struct fault *want;
} heads[] = {
	{"a plain GET", "GET", "http", "a", "/x?y", NULL, NULL, false, NULL},
	{"no authority, but Host", "GET", "http", NULL, "/x", "host", "a", false, NULL},
	{"both, the same", "GET", "http", "A:80", "/x", "host", "a:80", false, NULL},
	{"both, and they differ", "GET", "http", "a", "/x", "host", "b", false, &fault_HOST},
	{"neither", "GET", "http", NULL, "/x", NULL, NULL, false, &fault_HOST},
	{"a user in the authority", "GET", "http", "u@a", "/x", NULL, NULL, false, &fault_HOST},
	{"a port that is none", "GET", "http", "a:99999", "/x", NULL, NULL, false, &fault_HOST},
	{"the other scheme", "GET", "https", "a", "/x", NULL, NULL, false, &fault_SCHEME},
	{"the scheme in capital letters", "GET", "HTTP", "a", "/x", NULL, NULL, false, NULL},
	{"no path", "GET", "http", "a", "", NULL, NULL, false, &fault_TARGET},
	{"an absolute path", "GET", "http", "a", "http://b/", NULL, NULL, false, &fault_TARGET},
	{"a blank in the path", "GET", "http", "a", "/a b", NULL, NULL, false, &fault_TARGET},
	{"a percent sign alone", "GET", "http", "a", "/%zz", NULL, NULL, false, &fault_TARGET},
	{"a fragment", "GET", "http", "a", "/a#b", NULL, NULL, false, &fault_TARGET},
	{"OPTIONS *", "OPTIONS", "http", "a", "*", NULL, NULL, false, NULL},
	{"GET *", "GET", "http", "a", "*", NULL, NULL, false, &fault_TARGET},
	{"CONNECT", "CONNECT", "http", "a:443", "/", NULL, NULL, false, &fault_CONNECT},
	{"no method", "", "http", "a", "/", NULL, NULL, false, &fault_METHOD},
	{"a method that is no token", "G T", "http", "a", "/", NULL, NULL, false, &fault_METHOD},
	{"a body of known length", "POST", "http", "a", "/", "content-length", "5", true, NULL},
	{"a length and no body", "POST", "http", "a", "/", "content-length", "5", false,
	 &fault_LENGTH},
	{"a length of 0 and no body", "POST", "http", "a", "/", "content-length", "0", false, NULL},
	{"a length that is none", "POST", "http", "a", "/", "content-length", "+5", true,
	 &fault_LENGTH},
	{"a body of unknown length", "POST", "http", "a", "/", NULL, NULL, true, NULL},
	{"an expectation", "POST", "http", "a", "/", "expect", "100-continue", true, NULL},
	{"an unknown expectation", "POST", "http", "a", "/", "expect", "tea", true, &fault_EXPECT},
};

static struct str
str_or_none(const char *z)
{
	return z ? str_of(z) : (struct str){0};
}

START_TEST(head)
{
	const struct h1_limits limits = {.head_bytes = 1000, .url_bytes = 100, .field_count = 10};
	struct field room[4];
	struct request r = {.fields = {.v = room, .cap = 4}};
	const struct h2_head h = {
		.method = str_of(heads[_i].method),
		.scheme = str_of(heads[_i].scheme),
		.authority = str_or_none(heads[_i].authority),
		.path = str_of(heads[_i].path),
		.has_body = heads[_i].has_body,
	};
	if (heads[_i].name)
		fields_add(&r.fields, str_of(heads[_i].name), str_of(heads[_i].value));
	const struct fault *got = h2_head_read(&h, STR("http"), &limits, &r);
	ck_assert_msg(got == heads[_i].want, "%s: %s", heads[_i].says, got ? got->word : "well");
	if (got)
		return;
	ck_assert(r.by_h2 && r.minor == 1 && str_eq(r.scheme, STR("http")));
	ck_assert_uint_eq(fields_count(&r.fields, FIELD_HOST), 1);
	ck_assert(str_eq(r.authority, fields_get(&r.fields, FIELD_HOST)));
	ck_assert_int_eq(r.framing != FRAMING_NONE,
			 heads[_i].has_body || fields_has(&r.fields, FIELD_CONTENT_LENGTH));
	ck_assert_int_eq(r.expect_continue, fields_has(&r.fields, FIELD_EXPECT));
}
END_TEST

START_TEST(limits_are_those_of_http1)
{
	const struct h1_limits limits = {.head_bytes = 1000, .url_bytes = 4, .field_count = 1};
	struct field room[4];
	struct request r = {.fields = {.v = room, .cap = 4}};
	struct h2_head h = {STR("GET"), STR("http"), STR("a"), STR("/long"), false, 0};
	ck_assert_ptr_eq(h2_head_read(&h, STR("http"), &limits, &r), &fault_URL_TOO_LONG);
	r.fields.n = 0;
	fields_add(&r.fields, STR("a"), STR("b"));
	fields_add(&r.fields, STR("c"), STR("d"));
	h.path = STR("/");
	ck_assert_ptr_eq(h2_head_read(&h, STR("http"), &limits, &r), &fault_TOO_MANY_FIELDS);
}
END_TEST

UNIT("h2_head", LOOP(head, heads), TEST(limits_are_those_of_http1))
