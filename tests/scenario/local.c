/* Routes deny clients, redirect them, and give fixed answers, by themselves. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define TRUST "forwarded: { trust: [ 127.0.0.0/8 ] }\n"
#define BAD   "X-Forwarded-For: 192.0.2.1\r\n"
#define GOOD  "X-Forwarded-For: 198.51.100.1\r\n"

static void
write_page(const char *name, const char *content, size_t n)
{
	FILE *f = fopen(text("%s/%s", kit_dir(), name), "w");
	expect(f && fwrite(content, 1, n, f) == n && fclose(f) == 0);
}

SCENARIO("a denied client gets no hit, and leaves no trace in the cache")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST "routes: [ { path: /x, deny: [ 192.0.2.0/24 ] } ]\n");
	expect_status(get_with("/x", BAD), 403);
	expect_int(origin_requests(), 0);
	expect_answer(get_with("/x", GOOD), 200, "hello");
	expect_hit(get_with("/x", GOOD));
	struct answer a = get_with("/x", BAD);
	expect_status(a, 403);
	expect_verdict(a, "detail=denied");
	expect_miss(a);
	expect_status(ask("HEAD", "/x", BAD, NULL), 403);
	expect_status(ask("POST", "/x", BAD, "body"), 403);
	expect_status(get_with("/%78", BAD), 403);
	edge_expect_stat("requests.denied", 5);
	expect_int(origin_requests(), 1);
}

SCENARIO("allow alone admits nobody else")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST "routes: [ { path: /x, allow: [ 198.51.100.0/24 ] } ]\n");
	expect_answer(get_with("/x", GOOD), 200, "hello");
	expect_status(get_with("/x", BAD), 403);
}

SCENARIO("an empty allow admits nobody")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST "routes: [ { path: /x, allow: [ ] } ]\n");
	expect_status(get("/x"), 403);
	expect_status(get_with("/x", GOOD), 403);
	expect_answer(get("/y"), 200, "hello");
	expect_int(origin_requests(), 1);
}

/* The forwarder says X-Forwarded-For and passes on Forwarded as the client sent it. */
SCENARIO(
	"a client whose own Forwarded says something else is unknown: never allowed, always denied")
{
	static const char *const own[] = {
		"for=127.0.0.1",
		"for=192.0.2.7",
		"for=_hidden",
		"for=unknown",
		"for=\"x",
		"",
		"by=192.0.2.7",
		"proto=https",
		"for=127.0.0.1;",
		"for=127.0.0.1, for=x",
		"for=127.0.0.1, for=198.51.100.2",
	};
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(TRUST "access_log: \"-\"\nroutes:\n"
			      "  - { path: /inside/, allow: [ 127.0.0.0/8, 198.51.100.0/24 ] }\n"
			      "  - { path: /any/, allow: [ any ] }\n"
			      "  - { path: /open/, deny: [ 192.0.2.0/24 ] }\n"
			      "  - { path: /rated/, rate: { requests: 1, per: 1h, burst: 1 } }\n");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		const char *fields = text(GOOD "Forwarded: %s\r\n", own[i]);
		static const char *const paths[] = {"/inside/x", "/any/x", "/open/x"};
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
			struct answer a = get_with(paths[k], fields);
			expect_that(a.status == 403, "%s with Forwarded: %s got %d", paths[k],
				    own[i], a.status);
		}
	}
	expect_int(origin_requests(), 0);
	expect_answer(get_with("/inside/x", GOOD "Forwarded: for=198.51.100.1\r\n"), 200, "hello");
	expect_answer(get_with("/open/x", GOOD), 200, "hello");
	expect_answer(get("/inside/y"), 200, "hello"); /* the forwarder speaks for itself */
	/* Those who are unknown share one rate, and take nobody else's. */
	expect_status(get_with("/rated/x", GOOD "Forwarded: for=x\r\n"), 200);
	expect_status(get_with("/rated/x", BAD "Forwarded: by=y\r\n"), 429);
	expect_status(get_with("/rated/x", GOOD), 200);
	expect_status(get_with("/rated/x", BAD), 200);
	expect_status(get("/rated/x"), 200);
	wait_until(strstr(edge_stdout(), "\nunknown - - "));
}

SCENARIO("a host that is none is refused before a rule for hosts is asked")
{
	static const char *const none[] = {".int.test",	  "a..int.test",  "int.test..",
					   ".",		  "a%2eint.test", "%61.int.test",
					   "a~.int.test", "%69nt.test"};
	origin_says("*", .body = "inside");
	edge_yaml("routes: [ { host: \"*.int.test\", allow: [ any ] }, { deny: [ any ] } ]\n");
	edge_start(H2_LISTEN);
	struct h2_client *by_h2 = h2_open();
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct client *c = client_open();
		client_send(c, text("GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", none[i]));
		struct answer a = client_read(c, "GET");
		expect_that(a.status == 400, "Host: %s got %d", none[i], a.status);
		client_close(c);
		a = h2_read(by_h2, h2_request(by_h2, "GET", "/x",
					      text(":authority: %s\r\n", none[i]), NULL));
		expect_that(a.status == 400, ":authority: %s got %d", none[i], a.status);
	}
	h2_close(by_h2);
	expect_int(origin_requests(), 0);
}

SCENARIO("who is not a trusted forwarder cannot name another client")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes: [ { path: /x, allow: [ 198.51.100.0/24 ] } ]\n");
	expect_status(get_with("/x", GOOD), 403);
	expect_int(origin_requests(), 0);
}

SCENARIO("a denied client cannot purge")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml(EDGE_CACHE("  purge_from: [ any ]\n") TRUST
			"routes: [ { path: /x, deny: [ 192.0.2.0/24 ] } ]\n");
	get_with("/x", GOOD);
	expect_status(ask("PURGE", "/x", BAD, NULL), 403);
	expect_hit(get_with("/x", GOOD));
}

SCENARIO("a redirect keeps path and query, and chooses its host itself")
{
	edge_start_yaml("routes:\n"
			"  - path: /old/\n"
			"    redirect: { to: \"https://www.example.com$path$query\" }\n"
			"  - path: /new/\n"
			"    redirect: { to: /fresh, status: 302 }\n");
	struct answer a = get("/old/x?b=1&c");
	expect_answer(a, 301, "");
	expect_field(a, "Location", "https://www.example.com/old/x?b=1&c");
	expect_verdict(a, "detail=redirect");
	expect_field(get("/old/%0d%0aX:1"), "Location", "https://www.example.com/old/%0d%0aX:1");
	expect_status(ask("POST", "/old/x", "", NULL), 308);
	expect_status(ask("HEAD", "/old/x", "", NULL), 301);
	struct answer b = get("/new/x");
	expect_status(b, 302);
	expect_field(b, "Location", "/fresh");
	edge_expect_stat("requests.routed", 5);
	expect_int(origin_requests(), 0);
}

SCENARIO("a route can answer instead of an origin that is being repaired, also for what is kept")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml(
		"response_headers: { set: { X-A: b } }\n"
		"routes:\n"
		"  - path: /shop/\n"
		"    answer: { status: 503, body: \"<p>Back at nine.</p>\", content_type: text/html, retry_after: 10m }\n"
		"  - { path: /empty, answer: { status: 204 } }\n");
	struct answer a = get("/shop/x");
	expect_answer(a, 503, "<p>Back at nine.</p>");
	expect_field(a, "Content-Type", "text/html");
	expect_field(a, "Retry-After", "600");
	expect_field(a, "X-A", "b");
	expect_verdict(a, "detail=answer");
	struct answer head = ask("HEAD", "/shop/x", "", NULL);
	expect_answer(head, 503, "");
	expect_field(head, "Content-Length", "20");
	expect_status(get("/empty"), 204);
	expect_answer(get("/x"), 200, "hello");
	edge_expect_stat("requests.routed", 3);
}

SCENARIO("an answer may have several lines and any letters, and then says its charset")
{
	edge_start_yaml("routes:\n"
			"  - path: /a\n"
			"    answer:\n"
			"      status: 503\n"
			"      body: |\n"
			"        Gr\xc3\xbc\xc3\x9f"
			"e:\n"
			"        back at nine.\n"
			"  - { path: /b, answer: { status: 503, body: plain } }\n");
	struct answer a = get("/a");
	expect_answer(a, 503,
		      "Gr\xc3\xbc\xc3\x9f"
		      "e:\nback at nine.\n");
	expect_field(a, "Content-Type", "text/plain; charset=utf-8");
	expect_field(get("/b"), "Content-Type", "text/plain");
}

SCENARIO("a path with letters beyond ASCII is that of the requests that encode them")
{
	edge_start_yaml("routes:\n"
			"  - { path: /caf\xc3\xa9/, answer: { status: 200, body: coffee } }\n"
			"  - { path: /th%C3%A9/, answer: { status: 200, body: tea } }\n");
	expect_answer(get("/caf%C3%A9/"), 200, "coffee");
	expect_answer(get("/caf%c3%a9/menu"), 200, "coffee");
	expect_status(get("/cafe/"), 404);
	expect_answer(get("/th%C3%A9/"), 200, "tea");
	struct output o = program(edge_binary(), "check", "-c", text("%s/twice.yaml", kit_dir()));
	expect(strstr(o.out, "/caf\xc3\xa9/") && strstr(o.out, "/th%C3%A9/"));
}

SCENARIO("a route answers with a file, which a reload reads anew")
{
	by_http_only();
	const char *yaml = "routes:\n"
			   "  - { path: /a, answer: { status: 503, file: %D/page.html } }\n"
			   "  - { path: /b, answer: { status: 200, file: %D/page.html, "
			   "content_type: text/x } }\n";
	write_page("page.html", "<p>Back at nine.</p>", 20);
	edge_start_yaml(yaml);
	struct answer a = get("/a/x?y");
	expect_answer(a, 503, "<p>Back at nine.</p>");
	expect_field(a, "Content-Type", "text/html");
	expect_field(get("/b"), "Content-Type", "text/x");
	a = ask("HEAD", "/a", NULL, NULL);
	expect_field(a, "Content-Length", "20");
	write_page("page.html", "<p>Back at ten.</p>", 19);
	expect_answer(get("/a"), 503, "<p>Back at nine.</p>");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	expect_answer(get("/a"), 503, "<p>Back at ten.</p>");
	expect_answer(get("/b"), 200, "<p>Back at ten.</p>");
	/* One that is gone changes nothing, and is named. */
	expect_int(remove(text("%s/page.html", kit_dir())), 0);
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "twice.yaml:2: routes.answer.file: cannot read") &&
			    strstr(o.err, "page.html"),
		    "%s", o.err);
	expect_answer(get("/a"), 503, "<p>Back at ten.</p>");
}

SCENARIO("a page of a megabyte is sent whole, a larger one is refused")
{
	enum { MOST = 1 << 20 };
	static char page[MOST + 1];
	for (int i = 0; i < MOST + 1; i++)
		page[i] = (char)('a' + i % 23);
	write_page("page", page, MOST);
	edge_start_yaml("routes: [ { path: /, answer: { status: 200, file: %D/page } } ]\n");
	struct answer a = get("/");
	expect_status(a, 200);
	expect(a.body_bytes == MOST && memcmp(a.body, page, MOST) == 0);
	expect_field(a, "Content-Type", "text/plain");
	edge_stop();
	write_page("page", page, MOST + 1);
	edge_restart();
	expect(edge_said("larger than 1024 KiB"));
	expect_status(get("/"), 503);
}

SCENARIO("a start goes on without a file that a route answers with: no other answer is made of it")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(
		"routes:\n"
		"  - { path: /dir, answer: { status: 200, file: %D } }\n"
		"  - { path: /a, answer: { status: 200, file: %D/none, content_type: text/x } }\n"
		"  - { path: /b, answer: { status: 403, file: %D/none, content_type: text/x } }\n");
	expect(edge_said("it is no file") &&
	       edge_said("twice.yaml:3: routes.answer.file: cannot read"));
	struct answer a = get("/a");
	expect_status(a, 503);
	expect_verdict(a, "detail=answer-file");
	expect_status(get("/dir"), 503);
	expect_answer(get("/b"), 403, ""); /* who was kept out is kept out */
	expect_answer(get("/x"), 200, "hello");
	write_page("none", "here", 4);
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 2); /* the directory is still no file */
	expect_status(get("/a"), 503);
}
