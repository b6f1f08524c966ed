/* Routes by pattern, method and header field: what they match, and that no client gets another route's copy. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
/* A route marks its answers. */
#define MARKED(n) "response_headers: { set: { X-Route: \"" #n "\" } }"

static void
expect_route(const char *method, const char *path, const char *fields, const char *number)
{
	struct answer a = ask(method, path, fields, NULL);
	const char *mark = field(a, "X-Route");
	expect_that(strcmp(mark ? mark : "none", number) == 0, "%s %s %s: route %s, not %s", method,
		    path, fields, mark ? mark : "none", number);
}

SCENARIO("the first route of the file that matches applies, whatever it matches by")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "x", .times = 99);
	edge_start_yaml(
		"routes:\n"
		"  - { path: /private/, pass: on, " MARKED(
			1) " }\n"
			   "  - { path: \"*.css\", " MARKED(
				   2) " }\n"
				      "  - { path: \"/img/*/thumb.png\", " MARKED(
					      3) " }\n"
						 "  - { path: /img/*, " MARKED(
							 4) " }\n"
							    "  - { path: /api/, methods: [ GET ], headers: { Accept: \"*json*\" }, " MARKED(
								    5) " }\n"
								       "  - { path: /api/, methods: [ POST, PUT ], " MARKED(
									       6) " }\n"
										  "  - { path: /api/, " MARKED(
											  7) " }\n");
	expect_route("GET", "/a/b.css", "", "2");
	expect_route("GET", "/private/b.css", "", "1");
	expect_route("GET", "/img/a.css", "", "2");
	expect_route("GET", "/img/7/thumb.png", "", "3");
	expect_route("GET", "/img/7/8/thumb.png", "", "4");
	expect_route("GET", "/api/x", "Accept: application/json\r\n", "5");
	expect_route("HEAD", "/api/x", "Accept: application/json\r\n", "5");
	expect_route("POST", "/api/x", "Accept: application/json\r\n", "6");
	expect_route("GET", "/api/x", "Accept: text/html\r\n", "7");
	expect_route("DELETE", "/api/x", "", "7");
	expect_route("GET", "/", "", "none");
}

static const char two_groups[] = "origins:\n"
				 "  - { name: web, url: \"%O\", host: web.test }\n"
				 "  - { name: beta, url: \"%O\", host: beta.test }\n"
				 "routes:\n"
				 "  - { headers: { X-Beta: \"1*\" }, origin: beta }\n";

SCENARIO("clients whose field chooses another group of origins have copies of their own")
{
	by_http_only();
	by_h1_only(); /* Connection has no place in HTTP/2 */
	origin_says("/x", .fields = FRESH, .body = "web");
	origin_says("/x", .fields = FRESH, .body = "beta");
	edge_start_yaml(two_groups);
	expect_answer(get("/x"), 200, "web");
	expect_answer(get_with("/x", "X-Beta: 1\r\n"), 200, "beta");
	expect_text(heard_field(origin_request(0), "Host"), "web.test");
	expect_text(heard_field(origin_request(1), "Host"), "beta.test");
	for (int i = 0; i < 2; i++) {
		expect_answer(get_with("/x", "X-Beta: 12\r\n"), 200, "beta");
		expect_answer(get_with("/x", "X-Beta: 2\r\n"), 200, "web");
		expect_answer(get("/x"), 200, "web");
		expect_answer(get_with("/x", "X-Beta: 1\r\nConnection: x-beta\r\n"), 200, "web");
	}
	origin_expect_requests(2);
}

SCENARIO("copies of a route that is chosen by a field outlive a restart, and no other finds them")
{
	origin_says("/x", .fields = FRESH, .body = "beta");
	origin_says("/x", .fields = FRESH, .body = "web");
	edge_start_yaml("admission: { sightings: 1 }\n"
			"routes: [ { headers: { X-Beta: \"*\" } } ]\n");
	expect_answer(get_with("/x", "X-Beta: 1\r\n"), 200, "beta");
	edge_wait_stat("disk.objects", 1);
	edge_stop();
	edge_restart();
	struct answer a = get_with("/x", "X-Beta: 2\r\n");
	expect_answer(a, 200, "beta");
	expect_hit(a);
	expect_answer(get("/x"), 200, "web");
}

/* The route of a POST keys as none of the two others does, of which one is chosen by a field. */
static const char three_keys[] = EDGE_CACHE(
	"  purge_from: 127.0.0.1\n") "routes:\n"
				     "  - { methods: [ POST ] }\n"
				     "  - { headers: { X-Beta: \"*\" }, query: ignore }\n"
				     "  - { query: sort }\n";

SCENARIO("a purge, a PURGE and a POST forget what all routes of a URL have stored")
{
	static const char *const how[] = {"POST", "PURGE", "twice purge"};
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "x", .times = 99);
	edge_start_yaml(three_keys);
	client_from("127.0.0.1");
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2; k++) {
			get_with("/x?b&a", "X-Beta: 1\r\n");
			get("/x?b&a");
		}
		expect_hit(get_with("/x?b&a", "X-Beta: 1\r\n"));
		expect_hit(get("/x?b&a"));
		if (i < 2)
			expect_status(ask(how[i], "/x?b&a", "", NULL), 200);
		else
			expect(program(edge_binary(), "purge", "http://example.com/x?b&a",
				       "--admin", text("127.0.0.1:%u", edge_admin_port()))
				       .status == 0);
		expect_that(verdict_has(get("/x?a&b"), "fwd=uri-miss"), "after %s", how[i]);
		expect_that(verdict_has(get_with("/x", "X-Beta: 1\r\n"), "fwd=uri-miss"),
			    "after %s, by a field", how[i]);
	}
}
