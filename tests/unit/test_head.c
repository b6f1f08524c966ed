/* rooms: http base
 *
 * test_head.c - heads written: stored and updated; and Cache-Status. */
#include "proxy/http/field_block.h"
#include "proxy/http/head.h"
#include "tests/kit/heads.h"

#define NOW   784111777
#define TODAY "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define LATER "Date: Sun, 06 Nov 1994 09:00:00 GMT\n"

/* A stored head as text. */
static void
unpack(struct buf *b)
{
	struct field_block block;
	ck_assert(field_block_check(buf_str(b)) && field_block_open(buf_str(b), &block));
	struct buf text = {0};
	buf_add_str(&text, block.start);
	buf_add_str(&text, block.lines);
	buf_fini(b);
	*b = text;
}

static const struct {
	const char *says, *response, *want;
} stored[] = {
	/* clang-format off */
	{"end-to-end fields in their order",      "HTTP/1.1 200 OK\n" TODAY "A: 1\nB: 2", "HTTP/1.1 200 OK\n" TODAY "A: 1\nB: 2\n"},
	{"Date is added",                         "HTTP/1.1 200 OK\nA: 1", "HTTP/1.1 200 OK\nA: 1\n" TODAY},
	{"a Date that is none is replaced",       "HTTP/1.1 200 OK\nDate: foo\nA: 1", "HTTP/1.1 200 OK\nA: 1\n" TODAY},
	{"what is written for every answer goes", "HTTP/1.1 200 OK\n" TODAY "Age: 5\nContent-Length: 3\nTransfer-Encoding: chunked", "HTTP/1.1 200 OK\n" TODAY},
	{"hop-by-hop goes (3.1)",                 "HTTP/1.1 200 OK\n" TODAY "Keep-Alive: x\nProxy-Authenticate: y\nTE: z\nUpgrade: u", "HTTP/1.1 200 OK\n" TODAY},
	{"with what Connection lists",            "HTTP/1.1 200 OK\n" TODAY "Connection: a, b\nA: 1\nB: 2\nC: 3", "HTTP/1.1 200 OK\n" TODAY "C: 3\n"},
	{"fields of no-cache are not kept",       "HTTP/1.1 200 OK\n" TODAY "Cache-Control: no-cache=\"a, b\", max-age=9\nA: 1\nB: 2\nC: 3", "HTTP/1.1 200 OK\n" TODAY "Cache-Control: no-cache=\"a, b\", max-age=9\nC: 3\n"},
	{"fields of private are not kept",        "HTTP/1.1 200 OK\n" TODAY "Cache-Control: private=set-cookie\nSet-Cookie: a=b", "HTTP/1.1 200 OK\n" TODAY "Cache-Control: private=set-cookie\n"},
	{"Set-Cookie is kept",                    "HTTP/1.1 200 OK\n" TODAY "Set-Cookie: a=b\nSet-Cookie: c=d", "HTTP/1.1 200 OK\n" TODAY "Set-Cookie: a=b\nSet-Cookie: c=d\n"},
	{"so is an inner Cache-Status",           "HTTP/1.1 200 OK\n" TODAY "Cache-Status: inner; hit", "HTTP/1.1 200 OK\n" TODAY "Cache-Status: inner; hit\n"},
	{"and what is meant for other CDNs",      "HTTP/1.1 200 OK\n" TODAY "CDN-Cache-Control: max-age=1", "HTTP/1.1 200 OK\n" TODAY "CDN-Cache-Control: max-age=1\n"},
	{"HTTP/2 becomes HTTP/1.1",               "HTTP/2 404 \n" TODAY, "HTTP/1.1 404 \n" TODAY},
	/* clang-format on */
};

START_TEST(store)
{
	struct buf b = {0};
	struct terms t = {0};
	head_store(response_of(stored[_i].response), NOW, &b, &t);
	unpack(&b);
	ck_assert_msg(strcmp(text_of(&b), stored[_i].want) == 0, "%s:\n%s", stored[_i].says,
		      text_of(&b));
	ck_assert_uint_eq(t.etag_bytes, 0);
	buf_fini(&b);
}
END_TEST

START_TEST(where_the_tag_stands)
{
	struct buf b = {0};
	struct terms t = {0};
	buf_add_lit(&b, "something before");
	size_t from = b.n;
	head_store(response_of("HTTP/1.1 200 OK\n" TODAY "ETag:  W/\"a\"\nETag: \"b\""), NOW, &b,
		   &t);
	ck_assert(str_eq((struct str){b.p + from + t.etag_at, t.etag_bytes}, STR("W/\"a\"")));
	buf_fini(&b);
}
END_TEST

START_TEST(a_stripped_head_has_no_cookie)
{
	struct buf b = {0};
	struct terms t = {.flags = TERMS_STRIPPED};
	const char *text = "HTTP/1.1 200 OK\n" TODAY "Set-Cookie: a=b\nA: 1\nSet-Cookie: c=d";
	head_store(response_of(text), NOW, &b, &t);
	unpack(&b);
	ck_assert_str_eq(text_of(&b), "HTTP/1.1 200 OK\n" TODAY "A: 1\n");
	b.n = 0;
	head_store(response_of(text), NOW, &b, NULL); /* for who asked */
	unpack(&b);
	ck_assert_ptr_nonnull(strstr(text_of(&b), "Set-Cookie: c=d\n"));
	buf_fini(&b);
}
END_TEST

START_TEST(what_is_passed_on_keeps_its_age)
{
	struct buf b = {0};
	head_store(response_of("HTTP/1.1 200 OK\n" TODAY
			       "Age: 5\nCache-Control: private=a\nA: 1\nTE: x"),
		   NOW, &b, NULL);
	unpack(&b);
	ck_assert_str_eq(text_of(&b),
			 "HTTP/1.1 200 OK\n" TODAY "Age: 5\nCache-Control: private=a\nA: 1\n");
	buf_fini(&b);
}
END_TEST

START_TEST(what_only_the_first_client_gets)
{
	static const struct {
		const char *response;
		bool withholds, when_stripped;
	} rows[] = {
		{"HTTP/1.1 200 OK\nCache-Control: private=\"set-cookie\"\nSet-Cookie: a=b", true,
		 true},
		{"HTTP/1.1 200 OK\nCache-Control: no-cache=A\nA: 1", true, true},
		{"HTTP/1.1 200 OK\nCache-Control: no-cache=A\nB: 1", false, false},
		{"HTTP/1.1 200 OK\nCache-Control: private\nA: 1", false, false},
		{"HTTP/1.1 200 OK\nSet-Cookie: a=b", false, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct response *r = response_of(rows[i].response);
		struct terms plain = {0}, stripped = {.flags = TERMS_STRIPPED};
		struct buf b = {0};
		ck_assert(head_store(r, NOW, &b, &plain) == rows[i].withholds);
		ck_assert(head_store(r, NOW, &b, &stripped) == rows[i].when_stripped);
		ck_assert(!head_store(r, NOW, &b, NULL));
		buf_fini(&b);
	}
}
END_TEST

static const struct {
	const char *says, *stored, *fresh, *want;
} updates[] = {
	/* clang-format off */
	{"new values replace, others stay",       "A: 1\nB: 2\n" TODAY, "A: 3\n" LATER, "B: 2\nA: 3\n" LATER},
	{"all lines of a name",                   "A: 1\nA: 2\n" TODAY, "A: 3\nA: 4\n" LATER, "A: 3\nA: 4\n" LATER},
	{"new names are added",                   "A: 1\n" TODAY, "B: 2\n" LATER, "A: 1\nB: 2\n" LATER},
	{"without a Date it is now",              "A: 1\n" LATER, "A: 2", "A: 2\n" TODAY},
	{"names in any case",                     "cache-control: a\n" TODAY, "Cache-Control: b\n" LATER, "Cache-Control: b\n" LATER},
	{"Content-Type and Location are replaced", "Content-Type: a\nContent-Location: /a\n" TODAY, "Content-Type: b\nContent-Location: /b\n" LATER, "Content-Type: b\nContent-Location: /b\n" LATER},
	{"what speaks of the bytes stays",        "Content-Encoding: a\nContent-Range: a\nETag: a\nContent-MD5: a\n" TODAY, "Content-Encoding: b\nContent-Range: b\nETag: b\nContent-MD5: b\nContent-Length: 5\n" LATER,
	 "Content-Encoding: a\nContent-Range: a\nETag: a\nContent-MD5: a\n" LATER},
	{"bytes that are not coded never are",    "A: 1\n" TODAY, "Content-Encoding: b\n" LATER, "A: 1\n" LATER},
	{"a tag where there was none is added",   "A: 1\n" TODAY, "ETag: \"b\"\n" LATER, "A: 1\nETag: \"b\"\n" LATER},
	{"the variant stays where it is filed",   "Vary: a\n" TODAY, "Vary: b\n" LATER, "Vary: a\n" LATER},
	{"hop-by-hop is not taken over",          "A: 1\n" TODAY, "Connection: b\nB: 1\nKeep-Alive: x\n" LATER, "A: 1\n" LATER},
	{"a 304's Set-Cookie is nobody else's",   "Set-Cookie: a=1\n" TODAY, "Set-Cookie: a=2\n" LATER, "Set-Cookie: a=1\n" LATER},
	{"also where there was none",             "A: 1\n" TODAY, "Set-Cookie: a=2\n" LATER, "A: 1\n" LATER},
	{"an Age is a fact for the new terms",    "A: 1\n" TODAY, "Age: 3\n" LATER, "A: 1\nAge: 3\n" LATER},
	/* clang-format on */
};

START_TEST(update)
{
	char head[512], answer[512], want[512], date[DATE_BYTES];
	struct head_text h;
	struct field was[32], is[64];
	struct response old = {.fields = {.v = was, .cap = 32}},
			updated = {.fields = {.v = is, .cap = 64}};
	struct buf b = {0};
	snprintf(head, sizeof head, "HTTP/1.1 200 OK\n%s", updates[_i].stored);
	snprintf(answer, sizeof answer, "HTTP/1.1 304 Not Modified\n%s", updates[_i].fresh);
	snprintf(want, sizeof want, "HTTP/1.1 200 OK\n%s", updates[_i].want);
	ck_assert(h1_parse_response(head_text_set(&h, head), &old));
	ck_assert(head_update(&old, response_of(answer), NOW, date, &updated));
	buf_add_lit(&b, "HTTP/1.1 200 OK\n");
	for (unsigned i = 0; i < updated.fields.n; i++)
		buf_printf(&b, "%.*s: %.*s\n", STR_ARG(is[i].name), STR_ARG(is[i].value));
	ck_assert_msg(strcmp(text_of(&b), want) == 0, "%s:\n%s", updates[_i].says, text_of(&b));
	buf_fini(&b);
}
END_TEST

START_TEST(more_fields_than_room_are_no_update)
{
	char date[DATE_BYTES];
	struct head_text h;
	struct field was[4], is[3];
	struct response old = {.fields = {.v = was, .cap = 4}},
			updated = {.fields = {.v = is, .cap = 3}};
	ck_assert(h1_parse_response(head_text_set(&h, "HTTP/1.1 200 OK\nA: 1\nB: 2"), &old));
	ck_assert(head_update(&old, response_of("HTTP/1.1 304 x\nA: 3"), NOW, date, &updated));
	ck_assert(!head_update(&old, response_of("HTTP/1.1 304 x\nC: 3"), NOW, date, &updated));
}
END_TEST

/* -- Cache-Status (RFC 9211)
 * ----------------------------------------------------------------------- */

static const struct {
	struct cache_status s;
	const char *want;
} statuses[] = {
	/* clang-format off */
	{{.name = "twice", .hit = true, .has_ttl = true, .ttl = 60, .detail = "ram"}, "twice; hit; ttl=60; detail=ram"},
	{{.name = "twice", .fwd = "uri-miss", .fwd_status = 200, .detail = "first-sight"}, "twice; fwd=uri-miss; fwd-status=200; detail=first-sight"},
	{{.name = "twice", .fwd = "uri-miss", .stored = true, .detail = "seen-current"}, "twice; fwd=uri-miss; stored; detail=seen-current"},
	{{.name = "twice", .fwd = "stale", .collapsed = true, .has_ttl = true, .ttl = -5}, "twice; fwd=stale; ttl=-5; collapsed"},
	{{.name = "edge 1", .hit = true}, "\"edge 1\"; hit"},
	{{.name = "twice", .hit = true, .key = STR_INIT("http://h/\nx=\"y\\")}, "twice; hit; key=\"http://h/ x=\\\"y\\\\\""},
	{{.name = "twice", .fwd = "miss", .detail = "502 from origin"}, "twice; fwd=miss; detail=\"502 from origin\""},
	/* clang-format on */
};

START_TEST(cache_status)
{
	struct buf b = {0};
	cache_status_format(&statuses[_i].s, &b);
	ck_assert_str_eq(text_of(&b), statuses[_i].want);
	buf_fini(&b);
}
END_TEST

UNIT("head", LOOP(store, stored), TEST(where_the_tag_stands), TEST(a_stripped_head_has_no_cookie),
     TEST(what_is_passed_on_keeps_its_age), TEST(what_only_the_first_client_gets),
     LOOP(update, updates), TEST(more_fields_than_room_are_no_update), LOOP(cache_status, statuses))
