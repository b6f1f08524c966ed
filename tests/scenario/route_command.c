/* twice route: what a configuration makes of a URL, said without a proxy, and the same as a proxy does. */
#include "tests/kit/kit.h"

#include <jansson.h>

/* A file of the scenario's with that text; its path. */
static char *
file(const char *name, const char *words)
{
	char *path = text("%s/%s", kit_dir(), name);
	FILE *f = fopen(path, "w");
	expect(f && fputs(words, f) >= 0 && fclose(f) == 0);
	return path;
}

static const char few[] =
	"forwarded: { trust: [ 127.0.0.0/8 ] }\n"
	"origins:\n"
	"  - { name: web, url: \"http://127.0.0.1:1\" }\n"
	"  - { name: api, url: \"http://127.0.0.1:2\", host: api.internal }\n"
	"routes:\n"
	"  - { host: \"*.example.com\", path: /api/, origin: api, key_headers: [ X-Key ] }\n"
	"  - { path: /old/, redirect: { to: \"https://www.example.com$path$query\" } }\n"
	"  - path: /in/\n"
	"    allow: [ 192.0.2.0/24 ]\n"
	"  - { path: /shop/, answer: { status: 503 } }\n"
	"  - { path: /account, pass: on }\n"
	"  - { path: /chat/, upgrade: [ websocket ] }\n";

#define route(...) program(edge_binary(), "route", "-c", file("few.yaml", few), __VA_ARGS__)

static void
says(struct output o, const char *const *words)
{
	expect_that(o.status == 0 && !*o.err, "exit %d: %s", o.status, o.err);
	for (; *words; words++)
		expect_that(strstr(o.out, *words), "it does not say \"%s\":\n%s", *words, o.out);
}
#define expect_says(o, ...) says(o, (const char *const[]){__VA_ARGS__, NULL})

SCENARIO("how often a client may ask is said of all routes and of this one")
{
	static const char rated[] = "rate: { requests: 10, per: 1s, burst: 50 }\n"
				    "origins: [ \"http://127.0.0.1:1\" ]\n"
				    "routes:\n"
				    "  - { path: /x, rate: { requests: 5, per: 1m, hits: off } }\n"
				    "  - { path: /y }\n";
	const char *all = "rate     10 requests of a client in 1 s, 50 at once, all routes\n";
	const char *here =
		"rate     5 requests of a client in 60 s, 5 at once, this route; hits do "
		"not count\n";
	struct output o =
		program(edge_binary(), "route", "-c", file("rated.yaml", rated), "http://a/x");
	expect_says(o, all, here);
	o = program(edge_binary(), "route", "-c", file("rated.yaml", rated), "http://a/y");
	expect_says(o, all);
	expect(!strstr(o.out, "this route"));
	o = route("http://a/x");
	expect(!strstr(o.out, "rate "));
}

SCENARIO("a route is named with its line, what it sets, the key, and what an origin is asked")
{
	expect_says(route("http://a.example.com/api/1?b", "-H", "X-Key: v"), "route    number 1, ",
		    "few.yaml:6 (host *.example.com, path /api/)", "origin: api\n",
		    "key_headers: [ X-Key ]\n", "look in the cache",
		    "key      http://a.example.com/api/1?b\n",
		    "origin   group api is asked for /api/1?b, Host: api.internal\n");
	expect_says(route("http://x/account/me"), "number 5, ", "pass: on\n", "pass to the origin",
		    "The route says that requests pass",
		    "few.yaml:6 (host *.example.com, path /api/): "
		    "its host differs",
		    "few.yaml:7 (host any, path /old/): its path differs");
	expect_says(route("http://x/"), "route    none: the defaults\n",
		    "group web is asked for /,");
	expect_says(
		route("http://x/chat/", "-H", "Connection: upgrade", "-H", "Upgrade: websocket"),
		"upgrade: [ websocket ]\n", "open a tunnel");
}

SCENARIO("what ends at the proxy is said, with status and Location, and no origin is asked")
{
	struct output o = route("http://x/old/y?z");
	expect_says(o, "redirect; status 301; Location: https://www.example.com/old/y?z\n");
	expect(!strstr(o.out, "\norigin "));
	expect_says(route("http://x/shop/y"), "answer as the route says; status 503\n");
	expect_says(route("http://x/a%20b c"), "refuse as malformed; status 400\n");
}

SCENARIO("a signed request, and one that passes, is said to keep its host and target")
{
	static const char sorted[] = "origins: [ \"http://127.0.0.1:1\" ]\n"
				     "routes:\n"
				     "  - { path: /pass, pass: on }\n"
				     "  - { path: /x, query: sort }\n";
	const char *conf = file("sorted.yaml", sorted);
	struct output o = program(edge_binary(), "route", "-c", conf, "http://A:80/x?b&a");
	expect_says(o, "asked for /x?a&b, Host: a\n");
	o = program(edge_binary(), "route", "-c", conf, "http://A:80/x?b&a", "-H",
		    "Authorization: x");
	expect_says(o, "asked for /x?b&a, Host: A:80\n", "goes to the origin as it came");
	o = program(edge_binary(), "route", "-c", conf, "http://A:80/pass?b&a");
	expect_says(o, "asked for /pass?b&a, Host: A:80\n");
}

SCENARIO("who may ask depends on the address, and on what a trusted forwarder says of it")
{
	expect_says(route("http://x/in/"), "say --from ADDRESS", "look in the cache");
	expect_says(route("http://x/in/", "--from", "192.0.2.9"), "192.0.2.9 may ask\n",
		    "look in the cache");
	expect_says(route("http://x/in/", "--from", "192.0.3.9"), "192.0.3.9 may not ask\n",
		    "refuse with 403");
	expect_says(
		route("http://x/in/", "--from", "127.0.0.1", "-H", "X-Forwarded-For: 192.0.2.1"),
		"192.0.2.1 may ask\n");
	expect_says(route("http://x/in/", "--from", "::1", "-H", "X-Forwarded-For: 192.0.2.1"),
		    "::1 may not ask\n");
}

SCENARIO("a path that an origin could read as another route's is said to be doubtful")
{
	expect_says(route("http://x/%61ccount"), "number 5, ",
		    "No route matches the path as it is written", "pass to the origin",
		    "its path differs from the URL's as it is written");
	expect_says(route("http://x/%69n/", "--from", "192.0.2.9"), "refuse with 403",
		    "nobody may ask");
}

SCENARIO("of many routes that do not match ten are named, and the others are counted")
{
	char *many = text("origins: [ { url: \"http://127.0.0.1:1\" } ]\nroutes:\n");
	for (int i = 1; i <= 25; i++)
		many = text("%s  - { path: /%d/ }\n", many, i);
	struct output o =
		program(edge_binary(), "route", "http://x/23/", "-c", file("many.yaml", many));
	expect_says(o, "number 23, ", "many.yaml:25 ", "not      number 10, ", "and 12 more\n");
	expect(!strstr(o.out, "number 11, "));
}

SCENARIO("a route for a method or a field is said to be that of requests which have it")
{
	static const char more[] = "origins: [ \"http://127.0.0.1:1\" ]\n"
				   "routes:\n"
				   "  - { path: /x, methods: [ POST ], pass: on }\n"
				   "  - { path: /x, headers: { X-Beta: \"1*\" } }\n"
				   "  - { path: \"*.css\" }\n"
				   "  - { path: /y }\n";
	const char *conf = file("more.yaml", more);
	struct output o = program(edge_binary(), "route", "-c", conf, "http://a/x");
	expect_says(o, "none: the defaults", "(host any, path /x): its methods differ",
		    "(host any, path /x): it asks for header fields that the request does not have",
		    "(host any, path *.css): its path differs");
	o = program(edge_binary(), "route", "-c", conf, "http://a/x", "--method", "POST");
	expect_says(o, "number 1, ", "methods: [ POST ]", "pass to the origin");
	o = program(edge_binary(), "route", "-c", conf, "http://a/x", "-H", "X-Beta: 12");
	expect_says(o, "number 2, ", "headers: [ \"X-Beta: 1*\" ]",
		    "key      http://a/x\n           @if x-beta:1*\n");
	o = program(edge_binary(), "route", "-c", conf, "http://a/y/a.css");
	expect_says(o, "number 3, ");
	o = program(edge_binary(), "route", "-c", conf, "http://a/x", "--method", "TRACE");
	expect_that(o.status == 2 && strstr(o.err, "TRACE"), "exit %d: %s", o.status, o.err);
}

SCENARIO("wrong usage, a wrong configuration and a URL that is none exit with 2 and a sentence")
{
	struct output o = program(edge_binary(), "route", "http://x/");
	expect_that(o.status == 2 && strstr(o.err, "-c FILE"), "exit %d: %s", o.status, o.err);
	o = program(edge_binary(), "route", "-c", file("few.yaml", few));
	expect_that(o.status == 2 && strstr(o.err, "which URL"), "exit %d: %s", o.status, o.err);
	o = program(edge_binary(), "route", "http://x/", "-c", file("bad.yaml", "\nroute: [ ]\n"));
	expect_that(o.status == 2 && strstr(o.err, "bad.yaml:2: "), "exit %d: %s", o.status, o.err);
	o = route("x/y", "http://x/");
	expect_that(o.status == 2 && strstr(o.err, "x/y: a URL begins with") &&
			    strstr(o.out, "url      http://x/"),
		    "exit %d: %s%s", o.status, o.err, o.out);
	o = route("http://x/", "--from", "here");
	expect_that(o.status == 2 && strstr(o.err, "address"), "exit %d: %s", o.status, o.err);
}

/* ---- against what a proxy does --------------------------------------------------------------- */

enum { REQUESTS = 1000 };
/* Every route marks its answers with its number. */
#define MARKED(n) "response_headers: { set: { X-Route: \"" #n "\" } }"
/* clang-format off */
static const char marked[] =
	"origins: [ { url: \"%O\" } ]\n"
	"forwarded: { trust: [ 127.0.0.0/8 ] }\n"
	EDGE_CACHE("  status_key: on\n")
	"routes:\n"
	"  - { host: shop.example.com, path: /api/, pass: on, " MARKED(1) " }\n"
	"  - { host: shop.example.com, path: /img/, normalise: on, query: sort, " MARKED(2) " }\n"
	"  - { host: \"*.example.com\", path: /old/, redirect: { to: \"https://$host$path$query\" }, " MARKED(3) " }\n"
	"  - { path: /in/, deny: [ 192.0.2.0/24 ], " MARKED(4) " }\n"
	"  - { host: shop.example.com, path: /x, query: ignore, " MARKED(5) " }\n"
	"  - { path: /down/, answer: { status: 503, body: soon }, " MARKED(6) " }\n"
	"  - { host: \"*.example.com\", key_headers: [ X-Key ], drop_params: [ \"a*\" ], " MARKED(7) " }\n"
	"  - { path: /API/, " MARKED(8) " }\n"
	"  - { path: /api, pass_cookies: [ s ], " MARKED(9) " }\n"
	"  - { path: /img/, " MARKED(10) " }\n"
	"  - { path: \"*.css\", " MARKED(11) " }\n"
	"  - { path: \"*x*\", methods: [ POST ], " MARKED(12) " }\n"
	"  - { path: \"*old*\", headers: { X-Key: \"k*\" }, " MARKED(13) " }\n"
	"  - { path: \"/x/*/*\", headers: { X-Key: a }, " MARKED(14) " }\n";
/* clang-format on */
enum { MARKS = 15 };
static const bool never_meant[MARKS] = {
	[12] = true, [14] = true}; /* by another method, another field */

static unsigned seed = 20;

static unsigned
below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

#define PICK(list) (list)[below(sizeof(list) / sizeof *(list))]

/* Hosts of any case, and paths that origins read in several ways. */
static char *
random_url(void)
{
	static const char *const hosts[] = {"shop.example.com",	 "SHOP.example.com",
					    "a.b.example.com",	 "example.com",
					    "shop.example.com.", "x",
					    "x.example.com:81"};
	static const char *const pieces[] = {
		"api",	  "API", "%61pi", "img", "old", "in", "%69n",	    "down",  "DOWN",   "..",
		"%2e%2e", ".",	 "",	  "a;b", "%2f", "x",  "%252e%252e", "b.css", "%3f.css"};
	static const char *const queries[] = {"", "", "?", "?b=2&a=1", "?a1=2&c", "?x=/in/"};
	char *url = text("http://%s", PICK(hosts));
	for (unsigned n = 1 + below(4); n; n--)
		url = text("%s/%s", url, PICK(pieces));
	return text("%s%s%s", url, below(2) ? "/" : "", PICK(queries));
}

/* twice route says this of all of them, as lines of JSON. */
static char *
ask_route(char *const *urls, const char *fields)
{
	char *config = text("%s/twice.yaml", kit_dir()), *list = text("%s/urls", kit_dir());
	FILE *f = fopen(list, "w");
	for (int i = 0; i < REQUESTS; i++)
		fprintf(f, "%s\n", urls[i]);
	expect(fclose(f) == 0);
	struct output o =
		program("sh", "-c",
			"exec \"$0\" route - --json --from 127.0.0.1 -c \"$1\" -H \"$2\" -H "
			"'Cookie: s=1' -H 'X-Key: k' < \"$3\"",
			edge_binary(), config, fields, list);
	expect_that(o.status == 0, "exit %d: %s", o.status, o.err);
	return o.out;
}

static const char *
string(const json_t *of, const char *key)
{
	const char *s = json_string_value(json_object_get(of, key));
	return s ? s : "";
}

/* How often each route was meant; 0: none. */
static int tried[MARKS], tried_denied, tried_passed;

/* The proxy's answer, and the head that its origin heard for it, are what was said. */
static void
compare(const json_t *said, struct answer a, const char *url, int heard_before)
{
	long long number =
		json_integer_value(json_object_get(json_object_get(said, "route"), "number"));
	long long status = json_integer_value(json_object_get(said, "status"));
	const json_t *origin = json_object_get(said, "origin");
	const char *mark = field(a, "X-Route"), *to = field(a, "Location");
	expect_that(atoll(mark ? mark : "0") == number, "%s: route %s, said was %lld (%s)", url,
		    mark ? mark : "none", number, string(said, "does"));
	expect_that(a.status == (status ? (int)status : 200), "%s: status %d, said was %lld", url,
		    a.status, status);
	expect_that(strcmp(to ? to : "", string(said, "location")) == 0,
		    "%s: Location %s, said was %s", url, to ? to : "none",
		    string(said, "location"));
	expect_that(origin_requests() - heard_before == (json_is_object(origin) ? 1 : 0),
		    "%s: the origin heard %d requests, said was: %s", url,
		    origin_requests() - heard_before, string(said, "does"));
	tried[number]++;
	tried_denied += status == 403;
	tried_passed += strcmp(string(said, "does"), "pass to the origin") == 0;
	if (!json_is_object(origin))
		return;
	const char *line = text("GET %s HTTP/1.1\r\n", string(origin, "target"));
	const char *head = origin_request(heard_before)->head;
	expect_that(strncmp(head, line, strlen(line)) == 0,
		    "%s: said was %s, the origin heard:\n%s", url, line, head);
	expect_that(strcasestr(head, text("\r\nhost: %s\r\n", string(origin, "host"))),
		    "%s: said was Host %s, the origin heard:\n%s", url, string(origin, "host"),
		    head);
	bool looks = strcmp(string(said, "does"), "look in the cache") == 0;
	expect_verdict(a, looks ? "fwd=uri-miss" : "fwd=bypass");
	const char *key = string(said, "key");
	if (looks && !strchr(key, '\n'))
		expect_that(strstr(verdict(a), text("key=\"%s\"", key)),
			    "%s: said was the key %s: %s", url, key, verdict(a));
}

static void
ask_both(char *const *urls, const char *who)
{
	char *lines = ask_route(urls, who), *save;
	struct client *c = client_open();
	char *line = strtok_r(lines, "\n", &save);
	for (int i = 0; i < REQUESTS; i++, line = strtok_r(NULL, "\n", &save)) {
		json_t *said = line ? json_loads(line, 0, NULL) : NULL;
		expect_that(said, "no line for %s", urls[i]);
		expect_text(string(said, "url"), urls[i]);
		const char *host = urls[i] + strlen("http://");
		size_t n = strcspn(host, "/");
		int before = origin_requests();
		client_send(c, text("GET %s HTTP/1.1\r\nHost: %.*s\r\n%s\r\nCookie: s=1\r\n"
				    "X-Key: k\r\n\r\n",
				    host + n, (int)n, host, who));
		compare(said, client_read(c, "GET"), urls[i], before);
		json_decref(said);
	}
}

SCENARIO_IN(120, "of 1000 random requests a proxy makes what twice route said")
{
	by_http_only();
	by_h1_only();
	char *urls[REQUESTS];
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "x");
	edge_start_yaml(marked);
	for (int i = 0; i < REQUESTS; i++)
		urls[i] = random_url();
	ask_both(urls, "X-Forwarded-For: 198.51.100.1");
	ask_both(urls, "X-Forwarded-For: 192.0.2.1");
	for (int i = 0; i < MARKS; i++)
		expect_that(tried[i] >= 10 || never_meant[i], "route %d was tried %d times", i,
			    tried[i]);
	expect(tried_denied >= 50 && tried_passed >= 50);
	note("%d denied, %d passed", tried_denied, tried_passed);
}
