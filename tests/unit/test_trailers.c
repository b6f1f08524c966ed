/* test_trailers.c - what may stand behind a body, and who is sent it.
 * rooms: serve cache coding http base filter
 */
#include "proxy/serve/rules/trailers.h"

#include "tests/kit/unit.h"

/* clang-format off */
static const struct {
	const char *says, *lines, *want;
} passes[] = {
	{"nothing",                           "",                                              ""},
	{"the end alone",                     "\r\n",                                          ""},
	{"what nobody on the way acts on",    "grpc-status: 0\r\ngrpc-message: ok\r\n\r\n",    "grpc-status: 0\r\ngrpc-message: ok\r\n"},
	{"in whatever case, without spaces around", "Server-Timing: \t a;dur=1 \r\n\r\n",       "Server-Timing: a;dur=1\r\n"},
	{"an empty value",                    "X-Sum:\r\n\r\n",                                "X-Sum: \r\n"},
	{"colons in a value",                 "X: a:b:c\r\n\r\n",                              "X: a:b:c\r\n"},
	{"ETag (RFC 9110 8.8.3)",             "ETag: \"1\"\r\n\r\n",                           "ETag: \"1\"\r\n"},
	{"not what frames a message",         "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
	{"not what describes a body",         "Content-Encoding: gzip\r\nContent-Type: a/b\r\nContent-Digest: x\r\n\r\n", ""},
	{"not what caches obey",              "Cache-Control: public\r\nAge: 1\r\nExpires: 0\r\nVary: *\r\n\r\n", ""},
	{"not a cookie",                      "Set-Cookie: a=b\r\n\r\n",                       ""},
	{"not of a connection",               "Connection: close\r\nTE: x\r\nUpgrade: h2c\r\nTrailer: x\r\n\r\n", ""},
	{"not a redirect, nor a challenge",   "Location: /\r\nWWW-Authenticate: Basic\r\nproxy-anything: x\r\n\r\n", ""},
	{"not a browser's policies",          "Access-Control-Allow-Origin: *\r\nSEC-Fetch-Site: x\r\nStrict-Transport-Security: x\r\n\r\n", ""},
	{"the rest of such lines stays",      "Age: 1\r\nX: y\r\nVia: z\r\n\r\n",              "X: y\r\n"},
	{"nothing behind the empty line",     "X: y\r\n\r\nZ: z\r\n",                          "X: y\r\n"},
	{"a line that did not end",           "X: y\r\nZ: z",                                  "X: y\r\nZ: z\r\n"},
	{"a line without a colon ends it",    "X: y\r\nZ\r\nA: b\r\n",                         "X: y\r\n"},
};
/* clang-format on */

START_TEST(what_passes)
{
	struct buf out = {0};
	trailers_pass(str_of(passes[_i].lines), NULL, NULL, false, &out);
	ck_assert_msg(str_eq(buf_str(&out), str_of(passes[_i].want)), "%s: \"%.*s\"",
		      passes[_i].says, STR_ARG(buf_str(&out)));
	buf_fini(&out);
}
END_TEST

START_TEST(rules_and_tags_hold_behind_the_body_too)
{
	struct str gone[] = {STR("X-Secret")}, names[] = {STR("Surrogate-Key")};
	struct header_rules rules = {.gone = gone, .gone_n = 1};
	struct tag_settings tags = {.names = names, .names_n = 1, .strip = true};
	struct str lines = STR("x-secret: 1\r\nsurrogate-key: a b\r\nX: y\r\n\r\n");
	struct buf out = {0};
	tags_prepare(&tags);
	trailers_pass(lines, &rules, &tags, false, &out);
	ck_assert(str_eq(buf_str(&out), STR("X: y\r\n")));
	out.n = 0;
	tags.strip = false;
	trailers_pass(lines, NULL, &tags, false, &out);
	ck_assert(str_eq(buf_str(&out), STR("x-secret: 1\r\nsurrogate-key: a b\r\nX: y\r\n")));
	buf_fini(&out);
}
END_TEST

/* clang-format off */
static const struct {
	const char *says, *te;
	bool wanted;
} requests[] = {
	{"no TE",                NULL,                   false},
	{"trailers",             "trailers",             true},
	{"in capitals",          "Trailers",             true},
	{"among codings",        "gzip;q=0.5, trailers", true},
	{"another word",         "trailersx",            false},
	{"a coding",             "gzip",                 false},
};
/* clang-format on */

START_TEST(who_wants_them)
{
	struct field line[1];
	struct fields f = {.v = line, .cap = 1};
	if (requests[_i].te)
		fields_add(&f, STR("TE"), str_of(requests[_i].te));
	ck_assert_msg(trailers_are_wanted(&f) == requests[_i].wanted, "%s", requests[_i].says);
}
END_TEST

UNIT("trailers", LOOP(what_passes, passes), TEST(rules_and_tags_hold_behind_the_body_too),
     LOOP(who_wants_them, requests))
