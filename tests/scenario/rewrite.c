/* The origin is asked for another path than the client's: strip_prefix, add_prefix and rewrite of a route. Everything
 * else stays with the client's URL. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define STALE "Cache-Control: max-age=10\r\nAge: 20\r\n"
#define API   "routes:\n  - { path: /api, strip_prefix: /api }\n"
#define BLOG                 \
	"routes:\n"          \
	"  - path: /blog/\n" \
	"    rewrite: { from: '^/blog/([0-9]+)/(.*)$', to: '/posts?id=$1&rest=$2' }\n"

static struct output
twice(const char *command, const char *url)
{
	return program(edge_binary(), command, url, "--admin",
		       text("127.0.0.1:%u", edge_admin_port()));
}

static void
expect_asked(int i, const char *method, const char *target)
{
	expect_text(origin_request(i)->method, method);
	expect_text(origin_request(i)->target, target);
}

SCENARIO(
	"strip_prefix asks the origin for the rest of the path, and keeps the answer under the client's")
{
	by_http_only();
	origin_says("/x?y", .fields = FRESH, .body = "hello");
	edge_start_yaml(API "  - { path: / }\n");
	expect_answer(get("/api/x?y"), 200, "hello");
	expect_hit(get("/api/x?y"));
	expect_status(get("/x"), 404);
	expect_asked(0, "GET", "/x?y");
	expect_status(edge_purge("url=http://example.com/x?y"), 200);
	expect_hit(get("/api/x?y"));
	expect_status(edge_purge("url=http://example.com/api/x?y"), 200);
	expect_miss(get("/api/x?y"));
}

SCENARIO("paths that begin alike but not by whole segments are asked for as they came")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(API);
	get("/apis/x");
	get("/api");
	expect_asked(0, "GET", "/apis/x");
	expect_asked(1, "GET", "/");
}

SCENARIO("what add_prefix names is never left")
{
	static const char *const out[] = {"/..%2fsecret", "/a/%252e%252e/%252e%252e/b", "/..;x/b",
					  "/%5c..%5csecret"};
	origin_says("*", .body = "hello");
	edge_start_yaml("routes:\n  - { path: /, add_prefix: /public }\n");
	expect_status(get("/a?b"), 200);
	expect_asked(0, "GET", "/public/a?b");
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		expect_status(get(out[i]), 400);
	origin_expect_requests(1);
	expect_status(get("/../secret"), 200);
	expect_asked(1, "GET", "/public/secret");
}

SCENARIO("rewrite puts what the pattern holds into path and query")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(BLOG);
	expect_answer(get("/blog/12/a/b?ignored"), 200, "hello");
	expect_hit(get("/blog/12/a/b?ignored"));
	get("/blog/about?x");
	get("/blog/12/a&id=13");
	expect_asked(0, "GET", "/posts?id=12&rest=a/b");
	expect_asked(1, "GET", "/blog/about?x");
	expect_asked(2, "GET", "/posts?id=12&rest=a%26id%3D13");
	expect_status(get(text("/blog/1/%02047d", 0)), 414);
	origin_expect_requests(3);
}

SCENARIO(
	"every question of the cache goes to that path: validation, ranges, HEAD, uploads, signed requests")
{
	origin_says("/old", .fields = STALE, .etag = "\"1\"", .body = "hello");
	origin_says("/film", .fields = FRESH, .etag = "\"f\"", .pattern_bytes = 3 << 20, .seed = 7,
		    .ranges = true);
	origin_says("*", .body = "hello");
	edge_start_yaml(API);
	get("/api/old");
	expect_answer(get("/api/old"), 200, "hello");
	expect_text(heard_field(origin_request(1), "If-None-Match"), "\"1\"");
	expect_asked(1, "GET", "/old");
	expect_status(get_with("/api/film", "Range: bytes=2000000-2000099\r\n"), 206);
	expect_status(get("/api/film"), 200);
	for (int i = 2; i < origin_requests(); i++)
		expect_asked(i, "GET", "/film");
	int n = origin_requests();
	ask("HEAD", "/api/head", NULL, NULL);
	expect_asked(n, "HEAD", "/head");
	ask("POST", "/api/form?a", NULL, "body");
	expect_asked(n + 1, "POST", "/form?a");
	get_with("/api/mine", "Authorization: Basic YTpi\r\n");
	expect_asked(n + 2, "GET", "/mine");
	ask("OPTIONS", "/api/form", NULL, NULL);
	expect_asked(n + 3, "OPTIONS", "/form");
}

SCENARIO("a body that breaks off is gone on with at that path")
{
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = 200000, .seed = 3,
		    .cut = true, .cut_at = 100000, .ranges = true);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = 200000, .seed = 3,
		    .ranges = true);
	edge_start_yaml(API);
	struct answer a = get("/api/x");
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, 200000);
	expect_asked(1, "GET", "/x");
	expect(heard_field(origin_request(1), "Range"));
}

SCENARIO("a tunnel leads to that path")
{
	by_h1_only();
	origin_says("/ws", .raw = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
				  "Upgrade: websocket\r\n\r\n");
	edge_start_yaml(
		"routes:\n  - { path: /api, strip_prefix: /api, upgrade: [ websocket ] }\n");
	struct client *c = client_open();
	client_request(c, "GET", "/api/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	expect_status(client_read_head(c), 101);
	client_close(c);
	expect_asked(0, "GET", "/ws");
}

SCENARIO("redirects to paths of the origin lead clients to theirs, stored or not")
{
	by_http_only();
	static const struct {
		const char *from, *location, *want;
	} rows[] = {
		{"/a", "/login?next=%2Fa#top", "/api/login?next=%2Fa#top"},
		{"/b", "http://example.com/login", "http://example.com/api/login"},
		{"/c", "https://example.com/login", "https://example.com/api/login"},
		{"/d", "//example.com/login", "//example.com/api/login"},
		{"/e", "http://other.example/login", "http://other.example/login"},
		{"/f", "login", "login"},
		{"/g", "../login", "../login"},
		{"/h", "/", "/api/"},
		{"/i", "?page=2", "?page=2"},
		{"/j", "mailto:a@example.com", "mailto:a@example.com"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		origin_says(rows[i].from, .status = 302,
			    .fields = text(FRESH "Location: %s\r\n", rows[i].location));
	origin_says("/doc", .fields = FRESH "Content-Location: /doc.en\r\n", .body = "hello");
	edge_start_yaml(API);
	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			expect_field(get(text("/api%s", rows[i].from)), "Location", rows[i].want);
		expect_field(get("/api/doc"), "Content-Location", "/api/doc.en");
	}
	origin_expect_requests(sizeof rows / sizeof *rows + 1);
}

SCENARIO("a redirect is left as it is where no path of the route is asked for by that")
{
	origin_says("*", .status = 302, .fields = "Location: /login\r\n");
	edge_start_yaml("routes:\n"
			"  - { path: /v1, strip_prefix: /v1, add_prefix: /app }\n"
			"  - { path: /blog, rewrite: { from: '^/blog/(.*)$', to: /$1 } }\n"
			"  - { path: /login, pass: on }\n"
			"  - { path: /, add_prefix: /top }\n");
	expect_field(get("/v1/a"), "Location", "/login");
	expect_field(get("/blog/a"), "Location", "/login");
	expect_field(get("/a"), "Location", "/login");
	origin_forget("*");
	origin_says("*", .status = 302, .fields = "Location: /top/login\r\n");
	expect_field(get("/b"), "Location", "/top/login"); /* that is another route's */
	origin_forget("*");
	origin_says("*", .status = 302, .fields = "Location: /top/home\r\n");
	expect_field(get("/c"), "Location", "/home");
}

SCENARIO("an unsafe method that points at a path of the origin invalidates the client's")
{
	by_http_only();
	origin_says("/list", .fields = FRESH, .body = "old");
	origin_says("/list", .fields = FRESH, .body = "new");
	origin_says("/add", .status = 201, .fields = "Location: /list\r\n");
	edge_start_yaml(EDGE_CACHE("  invalidate_locations: on\n") API);
	expect_answer(get("/api/list"), 200, "old");
	expect_field(ask("POST", "/api/add", NULL, "x"), "Location", "/api/list");
	expect_answer(get("/api/list"), 200, "new");
}

SCENARIO("rules for who may ask, and redirects of routes, go by the client's path")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes:\n"
			"  - { path: /private, deny: [ 0.0.0.0/0, \"::/0\" ] }\n"
			"  - { path: /old, redirect: { to: /new$path } }\n"
			"  - { path: /api, strip_prefix: /api }\n");
	expect_status(get("/private"), 403);
	expect_field(get("/old"), "Location", "/new/old");
	expect_answer(get("/api/old"), 200, "hello");
	expect_asked(0, "GET", "/old");
}

SCENARIO("checks of servers ask for their own path")
{
	clock_hold();
	origin_says("@1*", .body = "hello");
	edge_start_yaml(text("origins:\n  - name: web\n    servers: [ %s, %s ]\n"
			     "    health: { path: /healthz, every: 500ms, timeout: 500ms }\n"
			     "routes:\n  - { path: /, add_prefix: /v2 }\n",
			     origin_door(1), origin_door(2)));
	clock_advance(500);
	wait_until(origin_requests_for("@1/healthz") >= 1);
}

SCENARIO("explain and the access log of an error say which path the origin is asked for")
{
	by_http_only();
	edge_yaml("access_log: %D/log\n" API "  - { path: / }\n");
	edge_start();
	struct output o = twice("explain", "http://example.com/api/x?y");
	expect_that(strstr(o.out, "is asked for /x?y, Host: "), "%s", o.out);
	o = twice("explain", "http://example.com/api/a/..%2fx");
	expect_that(strstr(o.out, "makes none of this one that is safe"), "%s", o.out);
	get("/api/x?y");
	get("/x?y");
	edge_stop();
	o = program("cat", text("%s/log", kit_dir()));
	expect_that(strstr(o.out, "\"GET /api/x?y HTTP/"), "%s", o.out);
	expect_that(strstr(o.out, " origin_target=\"/x?y\""), "%s", o.out);
	expect(!strstr(strstr(o.out, "origin_target=") + 1, "origin_target="));
}

SCENARIO("route says it without a proxy")
{
	char *path = text("%s/some.yaml", kit_dir());
	FILE *f = fopen(path, "w");
	expect(f && fputs("origins: [ \"http://127.0.0.1:1\" ]\n" BLOG, f) >= 0 && fclose(f) == 0);
	struct output o =
		program(edge_binary(), "route", "-c", path, "http://example.com/blog/7/a?b");
	expect_that(strstr(o.out, "is asked for /posts?id=7&rest=a, Host: example.com\n"), "%s",
		    o.out);
	expect_that(strstr(o.out, "key      http://example.com/blog/7/a?b\n"), "%s", o.out);
}

SCENARIO("the access log in JSON does, too, and not of what was refused before")
{
	edge_yaml("access_log: %D/log\naccess_log_format: json\n" API);
	edge_start();
	get("/api/x");
	expect_status(get("/api/a/..%2fx"), 400);
	edge_stop();
	struct output o = program("cat", text("%s/log", kit_dir()));
	expect_that(strstr(o.out, ",\"origin_target\":\"/x\""), "%s", o.out);
	expect(!strstr(strstr(o.out, "origin_target") + 1, "origin_target"));
}

SCENARIO("a reload changes the path that the origin is asked for")
{
	origin_says("*", .body = "hello");
	edge_start_yaml("routes:\n  - { path: /api, strip_prefix: /api }\n");
	get("/api/a");
	edge_rewrite("routes:\n  - { path: /api, add_prefix: /v2 }\n");
	expect_int(
		program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()))
			.status,
		0);
	get("/api/b");
	expect_asked(0, "GET", "/a");
	expect_asked(1, "GET", "/v2/api/b");
}
