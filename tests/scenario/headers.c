/* Rules for header fields: what origins are sent, and what clients are, from the cache too. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <stdlib.h>

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("answers are changed on their way to the client: fetched, from the cache, and errors")
{
	origin_says("/x", .fields = FRESH "Server: secret/1.0\r\nX-A: origin\r\nX-Two: 1\r\n",
		    .body = "hello");
	edge_start_yaml("response_headers:\n"
			"  set: { X-A: twice, X-Host: \"$host\" }\n"
			"  add: [ \"X-Two: 2\" ]\n"
			"  remove: [ Server, Via ]\n");
	for (int i = 0; i < 3; i++) {
		struct answer a = get("/x");
		expect_answer(a, 200, "hello");
		expect_field(a, "X-A", "twice");
		expect_field(a, "X-Host", "example.com");
		expect_field(a, "X-Two", "1, 2");
		expect_no_field(a, "Server");
		expect_no_field(a, "Via");
		if (i)
			expect_hit(a);
	}
	struct answer none = ask("TRACE", "/x", "", NULL);
	expect_status(none, 405);
	expect_field(none, "X-A", "twice");
	expect_int(origin_requests_for("/x"), 1);
}

SCENARIO("rules apply to parts, conditions and HEAD of what is kept")
{
	origin_says("/x", .fields = FRESH "Server: secret/1.0\r\n", .etag = "\"1\"",
		    .body = "hello");
	edge_start_yaml("response_headers: { set: { X-A: b }, remove: [ Server ] }\n");
	get("/x");
	struct answer part = get_with("/x", "Range: bytes=1-2\r\n");
	expect_answer(part, 206, "el");
	expect_field(part, "Content-Range", "bytes 1-2/5");
	struct answer same = get_with("/x", "If-None-Match: \"1\"\r\n");
	expect_status(same, 304);
	struct answer head = ask("HEAD", "/x", "", NULL);
	expect_status(head, 200);
	struct answer many = get_with("/x", "Range: bytes=0-0,3-3\r\n");
	expect_status(many, 206);
	struct answer all[] = {part, same, head, many};
	for (int i = 0; i < 4; i++) {
		expect_field(all[i], "X-A", "b");
		expect_no_field(all[i], "Server");
	}
}

SCENARIO("what is kept is as the origin sent it: other rules act on it after a restart")
{
	origin_says("/x", .fields = FRESH "Server: secret/1.0\r\n", .body = "hello");
	edge_start_yaml("admission: { sightings: 1 }\nresponse_headers: { remove: [ Server ] }\n");
	expect_no_field(get("/x"), "Server");
	edge_wait_stat("disk.objects", 1);
	edge_stop();
	edge_yaml("admission: { sightings: 1 }\nresponse_headers: { set: { X-New: \"1\" } }\n");
	edge_start();
	struct answer a = get("/x");
	expect_hit(a);
	expect_field(a, "Server", "secret/1.0");
	expect_field(a, "X-New", "1");
}

SCENARIO("a route's rules come after those for all, and only for its requests")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(
		"response_headers: { set: { X-A: all, X-B: all } }\n"
		"routes:\n"
		"  - path: /r/\n"
		"    response_headers: { set: { X-A: route }, remove: [ X-B ], add: { X-C: \"1\" } }\n");
	struct answer other = get("/o"), routed = get("/r/o");
	expect_field(other, "X-A", "all");
	expect_field(other, "X-B", "all");
	expect_no_field(other, "X-C");
	expect_field(routed, "X-A", "route");
	expect_no_field(routed, "X-B");
	expect_field(routed, "X-C", "1");
}

SCENARIO("origins are sent what the rules say")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("request_headers:\n"
			"  set: [ \"X-Edge: fra1\", \"X-Site: $scheme://$host\" ]\n"
			"  add: { X-More: \"2\" }\n"
			"  remove: [ Cookie ]\n");
	get_with("/x", "X-Edge: mine\r\nx-edge: again\r\nX-More: 1\r\nCookie: a=b\r\n"
		       "Connection: x-site\r\n");
	const struct heard *h = origin_request(0);
	expect_text(heard_field(h, "X-Edge"), "fra1");
	expect_int(heard_field_lines(h, "X-Edge"), 1);
	expect_text(heard_field(h, "X-Site"),
		    text("%s://example.com", edge_is_tls() ? "https" : "http"));
	expect_text(heard_field(h, "X-More"), "1, 2");
	expect(heard_field(h, "Cookie") == NULL);
}

SCENARIO("what a rule sets makes one variant, whatever clients send under its name")
{
	origin_says("/x", .fields = FRESH "Vary: X-Edge, Cookie\r\n", .body = "hello");
	edge_start_yaml("request_headers: { set: { X-Edge: fra1 }, remove: [ Cookie ] }\n");
	get_with("/x", "X-Edge: evil\r\nCookie: a\r\n");
	expect_hit(get_with("/x", "X-Edge: other\r\n"));
	expect_hit(get_with("/x", "Cookie: b\r\n"));
	expect_int(origin_requests(), 1);
}

SCENARIO("a key header that a rule sets is keyed as it is sent")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes:\n"
			"  - key_headers: [ X-Country ]\n"
			"    request_headers: { set: { X-Country: de } }\n");
	get_with("/x", "X-Country: fr\r\n");
	expect_hit(get_with("/x", "X-Country: us\r\n"));
	expect_text(heard_field(origin_request(0), "X-Country"), "de");
}

SCENARIO("the client's address in a request makes variants where the answer varies on it")
{
	origin_says("/v", .fields = FRESH "Vary: X-Client\r\n", .body = "one");
	origin_says("/v", .fields = FRESH "Vary: X-Client\r\n", .body = "two");
	edge_start_yaml("request_headers: { set: { X-Client: $client_address } }\n"
			"forwarded: { trust: [ 127.0.0.0/8 ] }\n");
	expect_answer(get_with("/v", "X-Forwarded-For: 192.0.2.1\r\n"), 200, "one");
	expect_answer(get_with("/v", "X-Forwarded-For: 192.0.2.2\r\n"), 200, "two");
	expect_answer(get_with("/v", "X-Forwarded-For: 192.0.2.1\r\n"), 200, "one");
	expect_int(origin_requests(), 2);
	expect_text(heard_field(origin_request(0), "X-Client"), "192.0.2.1");
	expect_text(heard_field(origin_request(1), "X-Client"), "192.0.2.2");
}

SCENARIO("who is not a trusted forwarder cannot say which address a rule sends")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("request_headers: { set: { X-Client: $client_address } }\n");
	get_with("/x", "X-Forwarded-For: 192.0.2.1\r\nX-Client: 192.0.2.2\r\n");
	expect_text(heard_field(origin_request(0), "X-Client"), "127.0.0.1");
}

static struct answer
ask_host(struct client *c, const char *target)
{
	client_send(c, text("GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n", target));
	return client_read(c, "GET");
}

SCENARIO("Strict-Transport-Security goes out by https, and never without")
{
	static const char hsts[] = "max-age=31536000";
	origin_says("/x", .fields = FRESH, .body = "hello");
	cert_write(text("%s/a.pem", kit_dir()), .names = "a.example");
	edge_start_yaml("listen: [ \"https://127.0.0.1:0\", \"127.0.0.1:0\" ]\n"
			"tls: { certificates: [ %D/a.pem ] }\n"
			"response_headers:\n"
			"  set: [ \"Strict-Transport-Security: max-age=31536000\" ]\n");
	struct client *c = client_open_tls(.name = "a.example");
	for (int i = 0; i < 2; i++)
		expect_field(ask_host(c, "/x"), "Strict-Transport-Security", hsts);
	const char *at = strstr(edge_stderr(), "listening on 127.0.0.1:");
	expect(at != NULL);
	struct client *plain =
		client_open_to((unsigned)strtoul(at + strlen("listening on 127.0.0.1:"), NULL, 10));
	for (int i = 0; i < 2; i++)
		expect_no_field(ask_host(plain, "/x"), "Strict-Transport-Security");
}
