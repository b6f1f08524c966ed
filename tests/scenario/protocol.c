/* HTTP/1.1 and 1.0 with clients and origins: connections, framing, hop-by-hop (RFC 9110 7, RFC
 * 9112). */
#include "tests/kit/kit.h"

#include <strings.h>

#define FRESH "Cache-Control: max-age=600\r\n"

SCENARIO("one connection carries many requests")
{
	origin_says("*", .body = "hello");
	edge_start();
	struct client *c = client_open();
	for (int i = 0; i < 20; i++) {
		client_request(c, "GET", text("/%d", i), NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	client_quiet(c);
}

SCENARIO("pipelined requests are answered in order")
{
	struct barrier *go = barrier_new();
	origin_says("/slow", .body = "slow", .hold_head = go);
	origin_says("/fast", .body = "fast");
	edge_start();
	struct client *c = client_open();
	client_send(
		c,
		"GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\n\r\n"
		"HEAD /fast HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	origin_wait_requests(1);
	barrier_open(go);
	expect_answer(client_read(c, "GET"), 200, "slow");
	expect_answer(client_read(c, "GET"), 200, "fast");
	expect_answer(client_read(c, "HEAD"), 200, "");
	expect_answer(client_read(c, "GET"), 200, "fast");
	client_expect_closed(c);
}

SCENARIO("a hundred pipelined cached requests at once")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	get("/x");
	struct client *c = client_open();
	for (int i = 0; i < 100; i++)
		client_request(c, "GET", "/x", NULL);
	for (int i = 0; i < 100; i++)
		expect_answer(client_read(c, "GET"), 200, "hello");
	client_quiet(c);
}

SCENARIO("Connection: close is honoured")
{
	origin_says("/x", .body = "hello");
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/x", "Connection: close\r\n");
	struct answer a = client_read(c, "GET");
	expect_answer(a, 200, "hello");
	expect_field(a, "Connection", "close");
	client_expect_closed(c);
}

SCENARIO("an HTTP/1.0 client gets a body it can delimit, and its connection is closed")
{
	origin_says("/chunked", .body = "hello", .chunked = true);
	origin_says("/plain", .body = "hello");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct client *c = client_open();
		client_send(c, i ? "GET /plain HTTP/1.0\r\n\r\n"
				 : "GET /chunked HTTP/1.0\r\nHost: a\r\n\r\n");
		struct answer a = client_read(c, "GET");
		expect_answer(a, 200, "hello");
		expect_no_field(a, "Transfer-Encoding");
		client_expect_closed(c);
	}
}

SCENARIO("an HTTP/1.0 client may keep its connection where the length is known")
{
	origin_says("/x", .body = "hello");
	edge_start();
	struct client *c = client_open();
	client_send(c, "GET /x HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
	struct answer a = client_read(c, "GET");
	expect_answer(a, 200, "hello");
	const char *connection = field(a, "Connection");
	if (connection && strcasecmp(connection, "keep-alive") == 0) {
		client_send(c, "GET /x HTTP/1.0\r\nHost: a\r\n\r\n");
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	client_expect_closed(c);
}

SCENARIO("a chunked answer reaches the client whole, stored or not")
{
	enum { BYTES = 500000 };
	origin_says("/c", .fields = FRESH, .pattern_bytes = BYTES, .seed = 5, .chunked = true);
	edge_start();
	for (int i = 0; i < 4; i++) {
		struct answer a = get("/c");
		expect_status(a, 200);
		expect(a.body_bytes == BYTES && is_pattern(a.body, 5, 0, BYTES));
	}
}

SCENARIO("an answer delimited by the end of the connection reaches the client whole")
{
	origin_says("/u", .body = "until the end", .until_close = true);
	edge_start();
	expect_answer(get("/u"), 200, "until the end");
}

SCENARIO("a chunked upload reaches the origin as it was")
{
	origin_says("/up", .body = "thanks");
	edge_start();
	struct client *c = client_open();
	client_request(c, "POST", "/up", "Transfer-Encoding: chunked\r\n");
	client_send(c, "5\r\nhello\r\n");
	client_send(c, "7;ext=1\r\n, world\r\n0\r\n");
	client_send(c, "X-Trailer: t\r\n\r\n");
	expect_answer(client_read(c, "POST"), 200, "thanks");
	expect_text(origin_last()->body, "hello, world");
	expect(origin_last()->whole);
	client_quiet(c);
}

SCENARIO("an upload with a length streams: the origin reads its beginning before its end is sent")
{
	enum { BYTES = 8 << 20 };
	origin_says("/up", .body = "thanks");
	edge_start();
	char *body = pattern(11, BYTES);
	struct client *c = client_open();
	client_request(c, "PUT", "/up", text("Content-Length: %d\r\n", BYTES));
	client_send_bytes(c, body, BYTES / 2);
	origin_wait_requests(1);
	size_t n;
	wait_until((origin_wire(0, &n), n > BYTES / 4));
	client_send_bytes(c, body + BYTES / 2, BYTES / 2);
	expect_answer(client_read(c, "PUT"), 200, "thanks");
	expect_int((long long)origin_last()->body_bytes, BYTES);
	expect(memcmp(origin_last()->body, body, BYTES) == 0);
}

SCENARIO("Expect: 100-continue gets its 100 before the body is sent")
{
	origin_says("/up", .body = "thanks");
	edge_start();
	struct client *c = client_open();
	client_request(c, "POST", "/up", "Content-Length: 5\r\nExpect: 100-continue\r\n");
	/* No byte of the body before the 100. */
	char line[26] = "";
	expect_int((long long)client_read_body(c, line, 25), 25);
	expect_that(strncmp(line, "HTTP/1.1 100 ", 13) == 0, "no 100 came, but \"%s\"", line);
	client_send(c, "hello");
	expect_answer(client_read(c, "POST"), 200, "thanks");
	expect_text(origin_last()->body, "hello");
}

SCENARIO("an unknown expectation is 417")
{
	origin_says("*", .body = "x");
	edge_start();
	expect_status(ask("POST", "/up", "Expect: miracles\r\n", "hello"), 417);
	origin_expect_requests(0);
}

SCENARIO("an answer before the upload's end reaches the client")
{
	origin_says("/early", .status = 413, .body = "too much", .early = true, .close = true);
	edge_start();
	struct client *c = client_open();
	client_request(c, "POST", "/early", "Content-Length: 100000000\r\n");
	client_send_bytes(c, pattern(1, 100000), 100000);
	struct answer a = client_try(c, "POST");
	expect_answer(a, 413, "too much");
	/* The rest of the body is not read for ever: the connection closes. */
	client_expect_closed(c);
}

SCENARIO("hop-by-hop fields of a request stay here")
{
	by_h1_only();
	origin_says("/x", .body = "hello");
	edge_start();
	get_with(
		"/x",
		"Connection: keep-alive, X-Mine, X-Other\r\nX-Mine: 1\r\nX-Other: 2\r\nX-Stays: 3\r\n"
		"Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: foo\r\n"
		"Proxy-Authorization: Basic eDp5\r\n");
	const struct heard *h = origin_last();
	expect_text(heard_field(h, "X-Mine"), NULL);
	expect_text(heard_field(h, "X-Other"), NULL);
	expect_text(heard_field(h, "X-Stays"), "3");
	expect_text(heard_field(h, "Keep-Alive"), NULL);
	expect_text(heard_field(h, "Proxy-Connection"), NULL);
	expect_text(heard_field(h, "Upgrade"), NULL);
	expect_text(heard_field(h, "Proxy-Authorization"), NULL);
}

SCENARIO("Connection cannot be used to strip what the proxy itself says or needs")
{
	origin_says("/x", .body = "hello");
	edge_start();
	get_with(
		"/x",
		"Connection: Host, Via, X-Forwarded-For, Content-Length, Authorization\r\nAuthorization: Basic eDp5\r\n");
	const struct heard *h = origin_last();
	expect_text(heard_field(h, "Host"), "example.com");
	expect(heard_field(h, "Via") != NULL);
	expect(heard_field(h, "X-Forwarded-For") != NULL);
}

SCENARIO("hop-by-hop fields of an answer stay here, fresh and from the cache")
{
	origin_says("/x",
		    .fields = FRESH
		    "Connection: X-Mine\r\nX-Mine: 1\r\nX-Stays: 2\r\nKeep-Alive: timeout=5\r\n"
		    "Proxy-Authenticate: Basic\r\nProxy-Connection: close\r\nUpgrade: foo\r\n",
		    .body = "hello");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_no_field(a, "X-Mine");
		expect_field(a, "X-Stays", "2");
		expect_no_field(a, "Keep-Alive");
		expect_no_field(a, "Proxy-Connection");
		expect_no_field(a, "Upgrade");
	}
	origin_expect_requests(1);
}

SCENARIO("trailers of a chunked answer are dropped or passed on as trailers, never as fields")
{
	origin_says("/t", .fields = FRESH "Trailer: X-Sum\r\n", .body = "hello", .chunked = true,
		    .trailers = "X-Sum: 5\r\nContent-Length: 9\r\nCache-Control: no-store\r\n");
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/t");
		expect_answer(a, 200, "hello");
		expect_no_field(a, "X-Sum");
		expect_that(!strstr(a.trailers, "Content-Length"), "framing in trailers: %s",
			    a.trailers);
	}
}

SCENARIO("interim answers are passed on and never stored")
{
	origin_says("/hints", .fields = FRESH, .body = "page",
		    .interim =
			    "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n");
	edge_start();
	struct answer a = get("/hints");
	expect_answer(a, 200, "page");
	expect_that(strstr(a.interim, "103") && strstr(a.interim, "</style.css>"),
		    "no 103 came: %s", a.interim);
	expect_no_field(a, "Link");
	a = get("/hints");
	expect_answer(a, 200, "page");
	expect_text(a.interim, "");
	expect_no_field(a, "Link");
}

SCENARIO("interim answers are not sent to an HTTP/1.0 client")
{
	origin_says("/hints", .body = "page",
		    .interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
	edge_start();
	struct client *c = client_open();
	client_send(c, "GET /hints HTTP/1.0\r\nHost: a\r\n\r\n");
	struct answer a = client_read(c, "GET");
	expect_answer(a, 200, "page");
	expect_text(a.interim, "");
}

SCENARIO("HEAD: the head of the answer, no body, also from the cache")
{
	origin_says("/x", .fields = FRESH "X-Tag: 1\r\n", .body = "hello");
	edge_start();
	struct answer a = ask("HEAD", "/x", NULL, NULL);
	expect_answer(a, 200, "");
	expect_field(a, "Content-Length", "5");
	expect_text(origin_last()->method, "HEAD");
	expect_answer(get("/x"), 200, "hello");
	a = ask("HEAD", "/x", NULL, NULL);
	expect_hit(a);
	expect_field(a, "Content-Length", "5");
	expect_field(a, "X-Tag", "1");
	origin_expect_requests(2);
}

SCENARIO("204 and 304 from the origin have no body and the connection stays in step")
{
	origin_says("/204", .status = 204);
	origin_says("/304", .status = 304, .fields = "ETag: \"x\"\r\n");
	origin_says("/x", .body = "hello");
	edge_start();
	struct client *c = client_open();
	client_request(c, "GET", "/204", NULL);
	expect_answer(client_read(c, "GET"), 204, "");
	client_request(c, "GET", "/304", "If-None-Match: \"x\"\r\n");
	expect_answer(client_read(c, "GET"), 304, "");
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	client_quiet(c);
}

SCENARIO("any method passes, with its body: also M-SEARCH and one nobody knows")
{
	origin_says("*", .body = "done");
	edge_start();
	static const char *const methods[] = {"PUT",	  "DELETE",   "PATCH", "OPTIONS",
					      "M-SEARCH", "PROPFIND", "FOO!"};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		expect_answer(ask(methods[i], "/m", NULL, "body"), 200, "done");
		expect_text(origin_last()->method, methods[i]);
		expect_text(origin_last()->body, "body");
	}
	edge_expect_stat("requests.passed", 7);
}

SCENARIO("CONNECT is refused, TRACE and OPTIONS obey Max-Forwards")
{
	origin_says("*", .body = "from the origin");
	edge_start();
	struct client *c = client_open();
	client_send(c, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
	struct answer a = client_read(c, "CONNECT");
	expect_int(a.status, 405);
	expect_field(a, "Allow", "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS");
	client_close(c);
	origin_expect_requests(0);
	a = ask("OPTIONS", "/x", "Max-Forwards: 0\r\n", NULL);
	expect_that(a.status == 200 || a.status == 204, "OPTIONS with Max-Forwards: 0 got %d",
		    a.status);
	origin_expect_requests(0);
	ask("OPTIONS", "/x", "Max-Forwards: 3\r\n", NULL);
	origin_expect_requests(1);
	expect_text(heard_field(origin_last(), "Max-Forwards"), "2");
	a = ask("TRACE", "/x", "Max-Forwards: 0\r\nCookie: secret\r\n", NULL);
	expect_that(a.status == 200 || a.status == 405 || a.status == 501, "TRACE got %d",
		    a.status);
	expect_that(!strstr(a.body, "secret"), "TRACE echoed a cookie");
	origin_expect_requests(1);
}

SCENARIO("OPTIONS * is answered or passed, never cached under a path")
{
	origin_says("*", .fields = FRESH, .body = "o");
	edge_start();
	struct client *c = client_open();
	client_send(c, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
	struct answer a = client_read(c, "OPTIONS");
	expect_that(a.status < 500, "OPTIONS * got %d", a.status);
	client_quiet(c);
}

SCENARIO(
	"absolute form: the authority of the target wins over Host, and the origin gets origin form")
{
	origin_says("/abs?q", .body = "hello");
	edge_start();
	struct client *c = client_open();
	client_send(c, "GET http://real.example/abs?q HTTP/1.1\r\nHost: other.example\r\n\r\n");
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_text(heard_field(origin_last(), "Host"), "real.example");
	expect_text(origin_last()->target, "/abs?q");
}

SCENARIO("requests arriving byte by byte are understood")
{
	origin_says("/x", .body = "hello");
	edge_start();
	struct client *c = client_open();
	const char *r =
		"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	for (; *r; r++)
		client_send_bytes(c, r, 1);
	expect_answer(client_read(c, "POST"), 200, "hello");
	expect_text(origin_last()->body, "abc");
}

SCENARIO("answers arriving byte by byte are understood")
{
	origin_says("/x", .fields = FRESH, .body = "hello, byte by byte", .drip = 1);
	origin_says("/c", .fields = FRESH, .body = "hello, byte by byte", .drip = 1,
		    .chunked = true);
	edge_start();
	expect_answer(get("/x"), 200, "hello, byte by byte");
	expect_answer(get("/c"), 200, "hello, byte by byte");
}

SCENARIO("empty bodies: of length 0 and chunked")
{
	origin_says("/a", .fields = FRESH);
	origin_says("/b", .fields = FRESH, .chunked = true);
	edge_start();
	for (int i = 0; i < 3; i++) {
		expect_answer(get("/a"), 200, "");
		expect_answer(get("/b"), 200, "");
	}
	origin_expect_requests(2);
}

SCENARIO("curl agrees")
{
	by_http_only();
	needs("curl");
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	char *url = text("http://127.0.0.1:%u/x", edge_port());
	expect_text(program("curl", "-sS", "--fail", url).out, "hello");
	expect_text(program("curl", "-sS", "--fail", "--http1.0", url).out, "hello");
	expect_text(program("curl", "-sS", "--fail", "-r", "1-3", url).out, "ell");
	expect_text(program("curl", "-sS", "--fail", "-T", "/etc/hostname", url).out, "hello");
	expect_text(program("curl", "-sS", "--fail", "--compressed", "-H", "Expect: 100-continue",
			    "-d", "x", url)
			    .out,
		    "hello");
}
