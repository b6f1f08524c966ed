/* One client asks in an odd way, then another in the plain way: the second must never get what the
 * first made of the answer. Either the oddity does not reach the origin, or it is another key, or
 * the request passes. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

/* Sends these lines (without an empty one) as a request. */
static struct answer
raw(const char *head)
{
	struct client *c = client_open();
	client_send(c, text("%s\r\n", head));
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

struct attack {
	const char *says, *attacker, *victim;
	const char *poison; /* in what the origin hears, this would change the answer */
	const char *vary;
};

/* The origin's answer to the attacker is "bad" if it heard the poison. */
static int
succeeds(const struct attack *a, int i)
{
	char *path = text("/%d", i);
	origin_says(path, .fields = text(FRESH "%s", a->vary ? a->vary : ""), .body = "first");
	origin_says(path, .fields = text(FRESH "%s", a->vary ? a->vary : ""), .body = "second");
	int before = origin_requests();
	raw(text("GET %s HTTP/1.1\r\n%s", path, a->attacker));
	bool heard = false;
	for (int n = before; n < origin_requests(); n++)
		heard = heard || strcasestr(origin_request(n)->head, a->poison);
	struct answer v = raw(text("GET %s HTTP/1.1\r\n%s", path, a->victim));
	bool poisoned = heard && strcmp(v.body, "first") == 0;
	if (poisoned)
		note("%s", a->says);
	return poisoned;
}

#define HOST "Host: t\r\n"
static const struct attack plain[] = {
	/* clang-format off */
	{"a port that is the default", "Host: t:80\r\n", HOST, "t:80", NULL},
	{"a port with a zero", "Host: t:080\r\n", HOST, "t:080", NULL},
	{"a colon without a port", "Host: t:\r\n", HOST, "t:\r", NULL},
	{"a host in upper case", "Host: VICTIM.test\r\n", "Host: victim.test\r\n", "VICTIM.t\x1f", NULL},
	{"a final dot", "Host: t.\r\n", HOST, "Host: t.", NULL},
	{"a varying field that Connection lists", HOST "Connection: accept-language\r\nAccept-Language: de\r\n", HOST "Accept-Language: de\r\n", "GET", "Vary: Accept-Language\r\n"},
	{"the origin of a script that Connection lists", HOST "Connection: Origin\r\nOrigin: https://app\r\n", HOST "Origin: https://app\r\n", "GET", "Vary: Origin\r\n"},
	{"languages in another order", HOST "Accept-Language: zh, en\r\n", HOST "Accept-Language: en, zh\r\n", "zh", "Vary: Accept-Language\r\n"},
	{"languages in another case", HOST "Accept-Language: ZH\r\n", HOST "Accept-Language: zh\r\n", "ZH\x1f", "Vary: Accept-Language\r\n"},
	{"a weight of 1", HOST "Accept-Language: zh;q=1.0\r\n", HOST "Accept-Language: zh\r\n", "q=1", "Vary: Accept-Language\r\n"},
	{"types in another order", HOST "Accept: a/b, c/d\r\n", HOST "Accept: c/d, a/b\r\n", "a/b", "Vary: Accept\r\n"},
	{"an origin with a comma", HOST "Origin: x,\r\n", HOST "Origin: x\r\n", "x,", "Vary: Origin\r\n"},
	{"a split list", HOST "X-L: a\r\nX-L: b\r\n", HOST "X-L: a, b\r\n", "X-L: a\r", "Vary: X-L\r\n"},
	{"split cookies", HOST "Cookie: a=1\r\nCookie: b=2\r\n", HOST "Cookie: a=1; b=2\r\n", "a=1\r", "Vary: Cookie\r\n"},
	{"a coding that nobody has", HOST "Accept-Encoding: gzip, xyz\r\n", HOST "Accept-Encoding: gzip\r\n", "xyz", "Vary: Accept-Encoding\r\n"},
	{"a field with an underscore", HOST "Accept_Language: de\r\n", HOST, "accept_", "Vary: Accept-Language\r\n"},
	{"a field with dots", HOST "Accept.Language: de\r\n", HOST, "accept.", "Vary: Accept-Language\r\n"},
	{"another URL with dots", HOST "X.Original.URL: /admin\r\n", HOST, "/admin", NULL},
	{"another URL", HOST "X-Original-URL: /admin\r\n", HOST, "/admin", NULL},
	{"another URL with underscores", HOST "X_Original_URL: /admin\r\n", HOST, "/admin", NULL},
	{"a URL to rewrite", HOST "X-Rewrite-URL: /admin\r\n", HOST, "/admin", NULL},
	{"another method", HOST "X-HTTP-Method-Override: POST\r\n", HOST, "POST", NULL},
	{"another host", HOST "X-Host: evil.test\r\n", HOST, "evil", NULL},
	{"another host of a proxy", HOST "X-Forwarded-Server: evil.test\r\nX-Forwarded-Host: evil.test\r\n", HOST, "evil", NULL},
	{"a prefix of the path", HOST "X-Forwarded-Prefix: /evil\r\n", HOST, "evil", NULL},
	{"another scheme", HOST "X-Forwarded-Scheme: evil\r\nX-Forwarded-Proto: evil\r\n", HOST, "evil", NULL},
	{"a profile of the device, by URL", HOST "X-Wap-Profile: http://evil.test/\r\n", HOST, "evil", NULL},
	{"where to copy the resource", HOST "Destination: http://evil.test/\r\n", HOST, "evil", NULL},
	{"another network's word on the scheme", HOST "CF-Visitor: {\"scheme\":\"evil\"}\r\nCloudFront-Forwarded-Proto: evil\r\n", HOST, "evil", NULL},
	{"a surrogate that understands markup", HOST "Surrogate-Capability: evil=\"ESI/1.0\"\r\n", HOST, "evil", NULL},
	{"the source of a script", HOST "Translate: f\r\n", HOST, "Translate", NULL},
	{"a GET with a body", HOST "Content-Length: 0\r\nX-Forwarded-Port: 666\r\n", HOST, "X-Forwarded-Port", NULL},
	{"an address that claims to be another", HOST "X-Forwarded-For: evil\r\n", HOST, "evil", "Vary: X-Forwarded-For\r\n"},
	{"a way that claims to be another", HOST "Via: 1.0 evil\r\n", HOST, "evil", "Vary: Via\r\n"},
	/* clang-format on */
};

SCENARIO("what one client writes oddly, another never gets")
{
	int n = 0;
	edge_start();
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		n += succeeds(&plain[i], (int)i);
	expect_int(n, 0);
}

SCENARIO("a GET with a body shares nothing")
{
	origin_says("/x", .fields = FRESH, .body = "made of the body");
	origin_says("/x", .fields = FRESH, .body = "plain");
	edge_start();
	expect_answer(ask("GET", "/x", NULL, "q=evil"), 200, "made of the body");
	expect_answer(get("/x"), 200, "plain");
	expect_answer(ask("GET", "/x", NULL, "q=evil"), 200, "plain");
	origin_expect_requests(3);
}

SCENARIO("Vary on what is said about the client is keyed by what goes out")
{
	origin_says("/f", .fields = FRESH "Vary: Forwarded, X-Forwarded-For\r\n", .body = "first");
	origin_says("/f", .fields = FRESH "Vary: Forwarded, X-Forwarded-For\r\n", .body = "second");
	origin_says("/v", .fields = FRESH "Vary: Via\r\n", .body = "first");
	origin_says("/v", .fields = FRESH "Vary: Via\r\n", .body = "second");
	edge_start();
	get("/f");
	expect_hit(get("/f"));
	expect_hit(get_with("/f", "X-Forwarded-For: 6.6.6.6\r\n")); /* sent as ours */
	get("/v");
	expect_hit(get("/v"));
	expect_answer(get_with("/v", "Via: 1.1 other\r\n"), 200, "second");
	expect_answer(get("/v"), 200, "first");
}

SCENARIO("weights of Accept-Encoding make no variants")
{
	origin_says("/x", .fields = FRESH "Vary: Accept-Encoding\r\n", .body = "x");
	edge_start();
	for (int i = 0; i < 100; i++)
		get_with("/x", text("Accept-Encoding: gzip;q=0.%d, x%d\r\n", i + 100, i));
	origin_expect_requests(1);
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "gzip");
}

static const char *const doubtful[] = {
	"lang=de; lang=en",	  "lang =de",	 "lang=\"de\"", "a=\"; lang=de",
	"lang=de\r\nCookie: x=1", "a=b,lang=de", "l%61ng=de",	"Lang=de",
};

SCENARIO("a keyed cookie that not everybody reads alike passes")
{
	by_h1_only();
	edge_yaml("routes:\n  - key_cookies: [ lang ]\n");
	edge_start();
	for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++) {
		char *path = text("/%zu", i), *cookie = text("Cookie: %s\r\n", doubtful[i]);
		origin_says(path, .fields = FRESH, .body = "bad");
		origin_says(path, .fields = FRESH, .body = "good");
		expect_answer(get_with(path, cookie), 200, "bad");
		expect_answer(get(path), 200, "good");
		get_with(path, "Cookie: lang=de\r\n");
		get_with(path, "Cookie: lang=de\r\n");
		expect_that(origin_requests_for(path) == 3, "%s", doubtful[i]);
		get_with(path, cookie);
		expect_that(origin_requests_for(path) == 4, "%s", doubtful[i]);
	}
}

SCENARIO("no spelling of a path or host escapes a route that passes")
{
	static const struct {
		const char *host, *target;
	} spellings[] = {
		{"t", "/account"},
		{"t", "/%61ccount"},
		{"t", "//account"},
		{"t", "/./account"},
		{"t", "/x/../account"},
		{"t", "/x/%2e%2e/account"},
		{"t", "/x/..%2faccount"},
		{"t", "/%2561ccount"},
		{"t", "/;x=1/account"},
		{"t", "/ACCOUNT"},
		{"t", "/account/../static/a"},
		{"t", "/static/..%2faccount"},
		{"private", "/a"},
		{"private.", "/b"},
		{"PRIVATE:80", "/c"},
	};
	origin_says("*", .fields = FRESH, .body = "secret");
	edge_start_yaml("routes:\n"
			"  - path: /account\n    pass: on\n"
			"  - host: private\n    pass: on\n"
			"  - path: /static/\n");
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		int before = origin_requests();
		for (int n = 0; n < 2; n++)
			raw(text("GET %s HTTP/1.1\r\nHost: %s\r\n", spellings[i].target,
				 spellings[i].host));
		expect_that(origin_requests() == before + 2, "%s %s is stored", spellings[i].host,
			    spellings[i].target);
		/* what passes is asked for as it is written */
		expect_text(origin_last()->target, spellings[i].target);
	}
	raw("GET /static/b HTTP/1.1\r\nHost: t\r\n");
	expect_hit(raw("GET /static/b HTTP/1.1\r\nHost: t\r\n"));
}

SCENARIO("a field that overrides goes on where a route names it, and is keyed")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("routes:\n  - key_headers: [ x-original-url, my_field ]\n");
	get_with("/x", "X-Original-URL: /a\r\nMy_Field: 1\r\nOther_Field: 2\r\n");
	expect_text(heard_field(origin_last(), "X-Original-URL"), "/a");
	expect_text(heard_field(origin_last(), "My_Field"), "1");
	expect(!heard_field(origin_last(), "Other_Field"));
	get_with("/x", "X-Original-URL: /b\r\n");
	get("/x");
	get_with("/x", "X-Original-URL: /a\r\nMy_Field: 1\r\n");
	origin_expect_requests(3);
}

SCENARIO("which fields stop here is a setting")
{
	origin_says("*", .body = "x");
	edge_start_yaml("forwarded:\n  drop: [ x-mine, \"x-our-*\" ]\n  keep_underscores: on\n");
	get_with("/x", "X-Mine: 1\r\nX-Our-Own: 2\r\nX-Original-URL: /a\r\nA_B: 3\r\n");
	expect(!heard_field(origin_last(), "X-Mine"));
	expect(!heard_field(origin_last(), "X-Our-Own"));
	expect_text(heard_field(origin_last(), "X-Original-URL"), "/a");
	expect_text(heard_field(origin_last(), "A_B"), "3");
}

SCENARIO("a Connection of a thousand options is refused")
{
	by_h1_only();
	char options[4096] = "";
	for (int i = 0; i < 1000; i++)
		strcat(options, i ? ",ab" : "ab");
	origin_says("*", .body = "x");
	edge_start();
	expect_status(get_with("/x", text("Connection: %s\r\n", options)), 400);
	origin_expect_requests(0);
}

/* An origin that does not read the body of some request takes it for the next request, and answers
 * that: so none whose answer may be shared travels behind a body. */
SCENARIO("what carried a request's body carries only requests with bodies from then on")
{
	static const char *const methods[] = {"POST", "GET", "DELETE", "OPTIONS"};
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start("--workers", "1");
	for (int i = 0; i < 4; i++) {
		ask(methods[i], text("/%d", i), NULL, "GET /evil HTTP/1.1\r\n");
		unsigned fed = origin_last()->connection;
		get(text("/a%d", i));
		unsigned clean = origin_last()->connection;
		expect(clean != fed);
		get(text("/b%d", i));
		expect_int(origin_last()->connection, clean);
	}
	/* And those are kept, too. */
	ask("POST", "/4", NULL, "x");
	expect_int(origin_last()->connection, origin_request(0)->connection);
}

SCENARIO("at the limit of connections the one kind makes room for the other")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start_yaml("workers: 1\norigins:\n  - url: %O\n    max_connections: 1\n");
	for (int i = 0; i < 3; i++) {
		expect_status(ask("POST", text("/p%d", i), NULL, "x"), 200);
		expect_status(get(text("/g%d", i)), 200);
	}
}
