/* lifetimes.c - lifetimes of a route instead of the origin's: for whom, and what they leave alone. */
#include "tests/kit/kit.h"

#define ROUTE(rules) "routes:\n  - path: /r/\n" rules

static void
says(const char *path, const char *fields)
{
	origin_says(path, .fields = fields, .body = "hello");
}

/* clang-format off */
static const struct {
	const char *sentence, *fields, *cache; /* the settings of the route */
	bool kept;
} rows[] = {
	{"ttl is a lifetime where none is stated",          "",                                   "ttl: 1h", true},
	{"and instead of the origin's",                     "Cache-Control: max-age=0\r\n",       "ttl: 1h", true},
	{"and instead of Expires",                          "Expires: 0\r\n",                     "ttl: 1h", true},
	{"and a shorter one than the origin's",             "Cache-Control: max-age=600\r\n",     "ttl: 0s", false},
	{"no-store holds",                                  "Cache-Control: no-store\r\n",        "ttl: 1h", false},
	{"private holds",                                   "Cache-Control: private\r\n",         "ttl: 1h", false},
	{"no-cache holds",                                  "Cache-Control: no-cache\r\n",        "ttl: 1h", false},
	{"cache-control is neither private nor no-store",   "Cache-Control: private, max-age=9\r\n", "ttl: 1h, ignore: [ cache-control ]", false},
	{"nor the other way round",                         "Cache-Control: no-store\r\n",        "ttl: 1h, ignore: [ cache-control, private ]", false},
	{"cache-control is no-cache",                       "Cache-Control: no-cache\r\n",        "ttl: 1h, ignore: [ cache-control ]", true},
	{"private where it is named",                       "Cache-Control: private\r\n",         "ttl: 1h, ignore: [ private ]", true},
	{"no-store where it is named",                      "Cache-Control: no-store\r\n",        "ttl: 1h, ignore: [ no-store ]", true},
	{"without ttl what is ignored leaves no lifetime",  "Cache-Control: max-age=600\r\n",     "ignore: [ cache-control ]", false},
	{"but the default's",                               "Cache-Control: max-age=0\r\n",       "default_ttl: 1h, ignore: [ cache-control ]", true},
	{"expires alone",                                   "Expires: 0\r\n",                     "default_ttl: 1h, ignore: [ expires ]", true},
	{"an answer with a cookie is not kept",             "Set-Cookie: a=b\r\n",                "ttl: 1h", false},
	{"an answer for other fields, too, is a variant",   "Vary: *\r\n",                        "ttl: 1h", false},
	{"unless Vary is ignored",                          "Vary: *\r\n",                        "ttl: 1h, ignore: [ vary ]", true},
	{"ttl_status is of its status alone",               "",                                   "ttl_status: { 404: 1h }", false},
	{"ttl_type is of answers with that type",           "Content-Type: Image/PNG; a=b\r\n",   "ttl_type: { image/png: 1h }", true},
	{"or of that kind",                                 "Content-Type: image/png\r\n",        "ttl_type: { \"image/*\": 1h }", true},
	{"and of no other",                                 "Content-Type: text/html\r\n",        "ttl_type: { \"image/*\": 1h }", false},
	{"a type comes before its kind",                    "Content-Type: image/svg+xml\r\n",    "ttl: 1h, ttl_type: { \"image/*\": 1h, image/svg+xml: 0s }", false},
	{"all others have ttl",                             "Content-Type: text/css\r\n",         "ttl: 1h, ttl_type: { \"image/*\": 0s }", true},
	{"two types are none",                              "Content-Type: image/png\r\nContent-Type: image/gif\r\n", "ttl_type: { \"image/*\": 1h }", false},
	{"ttl_status comes before ttl_type",                "Content-Type: image/png\r\n",        "ttl_type: { \"image/*\": 1h }, ttl_status: { 200: 0s }", false},
};
/* clang-format on */

SCENARIO("what a route says of lifetimes counts, and forbids nothing that is not named")
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		says(text("/%zu/", i), rows[i].fields);
	char *yaml = text("routes:\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		yaml = text("%s  - { path: /%zu/, cache: { %s } }\n", yaml, i, rows[i].cache);
	edge_start_yaml(yaml);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		get(text("/%zu/", i));
		struct answer a = get(text("/%zu/", i));
		expect_that(verdict_has(a, "hit") == rows[i].kept, "%s: %s", rows[i].sentence,
			    a.head);
	}
}

SCENARIO("default_ttl counts before a guess, but where a route speaks of guesses alone")
{
	static const struct {
		const char *path, *ttl;
	} want[] = {
		{"/old", "ttl=3600"},	   {"/new", "ttl=3600"},	{"/guess/old", "ttl=86400"},
		{"/pool/old", "ttl=7200"}, {"/pool/plain", "ttl=3600"}, {"/both/old", "ttl=60"},
	};
	clock_hold();
	says("/new", "Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT\r\n");
	says("/pool/plain", "");
	says("*", "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n");
	edge_start_yaml("cache: { default_ttl: 1h }\n"
			"routes:\n"
			"  - { path: /guess/, cache: { default_ttl: 0s } }\n"
			"  - { path: /pool/, cache: { heuristic_max: 2h } }\n"
			"  - { path: /both/, cache: { heuristic_max: 2h, default_ttl: 1m } }\n");
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		get(want[i].path);
		expect_verdict(get(want[i].path), want[i].ttl);
	}
}

SCENARIO("a request with Authorization or a cookie that is not keyed meets no lifetime of a route")
{
	origin_says("*", .fields = "Cache-Control: private\r\nSet-Cookie: s=1\r\n", .body = "x");
	edge_start_yaml(ROUTE("    key_cookies: [ lang, \"shop_*\" ]\n"
			      "    cache: { ttl: 1h, ignore: [ private, set-cookie ] }\n"));
	static const char *const owners[] = {"Authorization: Basic x\r\n", "Cookie: s=1\r\n",
					     "Cookie: lang=de; s=1\r\n", "X-Api-Key: 1\r\n",
					     "Cookie: s=1\r\nCookie: lang=de\r\n"};
	get("/r/a");
	struct answer a = get("/r/a");
	expect_hit(a);
	expect_no_field(a, "Set-Cookie");
	for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
		a = get_with("/r/a", owners[i]);
		expect_that(!verdict_has(a, "hit"), "%s: %s", owners[i], a.head);
		get_with(text("/r/%zu", i), owners[i]);
		a = get_with(text("/r/%zu", i), owners[i]);
		expect_that(!verdict_has(a, "hit"), "%s: %s", owners[i], a.head);
	}
	get_with("/r/k", "Cookie: lang=de; shop_a=1\r\n");
	expect_hit(get_with("/r/k", "Cookie: lang=de; shop_a=1\r\n"));
}

SCENARIO("lifetimes by type are for nobody's own answers, and for no errors")
{
	origin_says("/r/a", .fields = "Content-Type: text/css\r\n", .body = "x");
	origin_says("/r/no", .status = 404, .fields = "Content-Type: text/css\r\n", .body = "no");
	edge_start_yaml(ROUTE("    cache: { ttl_type: { text/css: 1h } }\n"));
	get_with("/r/a", "Cookie: s=1\r\n");
	expect_miss(get_with("/r/a", "Cookie: s=1\r\n"));
	expect_miss(get("/r/a"));
	expect_hit(get("/r/a"));
	get("/r/no");
	expect_miss(get("/r/no"));
}

SCENARIO("a lifetime by status, for an error and for a redirect")
{
	origin_says("/r/404", .status = 404, .body = "no");
	origin_says("/r/302", .status = 302, .fields = "Location: /x\r\n");
	origin_says("/r/410", .status = 410, .body = "gone");
	clock_hold();
	edge_start_yaml(ROUTE("    cache: { ttl: 1h, ttl_status: { 404: 1m, 302: 10s } }\n"));
	get("/r/404");
	get("/r/302");
	get("/r/410");
	struct answer a = get("/r/404");
	expect_hit(a);
	expect_verdict(a, "ttl=60");
	a = get("/r/302");
	expect_hit(a);
	expect_verdict(a, "ttl=10");
	expect_miss(get("/r/410")); /* ttl is for what is no error */
}

SCENARIO("what was kept because a rule ignored a directive is not found without the rule")
{
	origin_says("*", .fields = "Cache-Control: private, max-age=600\r\n", .body = "x");
	edge_start_yaml(ROUTE("    cache: { ttl: 1h, ignore: [ private ] }\n"));
	get("/r/a");
	expect_hit(get("/r/a"));
	edge_rewrite(ROUTE("    cache: { ttl: 1h }\n"));
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0, "%s", o.err);
	expect_miss(get("/r/a"));
}
