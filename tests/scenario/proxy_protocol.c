/* Listeners with proxy+: a forwarder says by the PROXY protocol who its client is. It is believed, and
 * nobody else is. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <unistd.h>

#define LISTEN_BY(scheme) "listen: [ \"proxy+" scheme "127.0.0.1:0\" ]\n"
#define TRUST		  "forwarded:\n  trust: [ 127.0.0.1 ]\n"
#define LINE(client)	  "PROXY TCP4 " client " 192.0.2.9 56324 443\r\n"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
/* 198.51.100.7, and an extension that names a protocol */
static const char binary[] =
	SIGNATURE "\x21\x11\0\x11\306\063\144\7\300\0\2\11\334\4\1\273\1\0\2h2";
static const char local[] = SIGNATURE "\x20\0\0\0";

static void
start(const char *more)
{
	edge_yaml(text("%s%s", LISTEN_BY(""), *more ? more : TRUST));
	edge_start();
}

static struct answer
ask_behind(const char *head, size_t n, const char *fields)
{
	struct client *c = client_open();
	client_send_bytes(c, head, n);
	client_request(c, "GET", "/x", fields);
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

static const char *
client_told(void)
{
	return heard_field(origin_last(), "X-Forwarded-For");
}

SCENARIO("the client that a trusted forwarder names is who origins and the log are told of")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello", .times = 0);
	edge_yaml(text("%s%saccess_log: \"-\"\n", LISTEN_BY("http://"), TRUST));
	edge_start();
	expect_answer(ask_behind(LINE("192.0.2.1"), strlen(LINE("192.0.2.1")), NULL), 200, "hello");
	expect_text(client_told(), "192.0.2.1");
	expect_that(strstr(heard_field(origin_last(), "Forwarded"), "for=192.0.2.1;"),
		    "Forwarded: %s", heard_field(origin_last(), "Forwarded"));
	expect_answer(ask_behind(binary, sizeof binary - 1, NULL), 200, "hello");
	expect_text(client_told(), "198.51.100.7");
	static const char six[] = "PROXY TCP6 2001:db8::1 2001:db8::9 56324 443\r\n";
	expect_answer(ask_behind(six, sizeof six - 1, NULL), 200, "hello");
	expect_text(client_told(), "2001:db8::1");
	expect_that(strstr(heard_field(origin_last(), "Forwarded"), "for=\"[2001:db8::1]\";"),
		    "Forwarded: %s", heard_field(origin_last(), "Forwarded"));
	edge_expect_stat("proxy_protocol.heads", 3);
	edge_stop();
	const char *log = edge_stdout();
	expect_that(strstr(log, "192.0.2.1 - - [") && strstr(log, "198.51.100.7 - - [") &&
			    strstr(log, "2001:db8::1 - - ["),
		    "log: %s", log);
}

SCENARIO("what that client claims of itself is not believed, for it is no forwarder")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	start("");
	const char *claims = "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\n";
	expect_answer(ask_behind(LINE("192.0.2.1"), strlen(LINE("192.0.2.1")), claims), 200,
		      "hello");
	expect_text(client_told(), "192.0.2.1");
	expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "http");
	/* Nor that of one whom the forwarder has no address of: else a client that came to it by
	 * other ways than TCP would have the forwarder's word. */
	expect_answer(ask_behind("PROXY UNKNOWN\r\n", 15, claims), 200, "hello");
	expect_text(client_told(), "unknown");
	expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "http");
	/* A second forwarder, behind the first, is one. */
	expect_answer(ask_behind(LINE("127.0.0.1"), strlen(LINE("127.0.0.1")), claims), 200,
		      "hello");
	expect_text(client_told(), "10.0.0.1, 127.0.0.1");
	/* LOCAL: the forwarder speaks for itself. */
	expect_answer(ask_behind(local, sizeof local - 1, claims), 200, "hello");
	expect_text(client_told(), "10.0.0.1, 127.0.0.1");
}

SCENARIO("the head may come byte by byte, and the request right behind it")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	start("");
	const struct {
		const char *p;
		size_t n;
	} heads[] = {{LINE("192.0.2.1"), strlen(LINE("192.0.2.1"))}, {binary, sizeof binary - 1}};
	for (int i = 0; i < 2; i++) {
		struct client *c = client_open();
		for (size_t k = 0; k < heads[i].n; k++)
			client_send_bytes(c, heads[i].p + k, 1);
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
		client_request(c, "GET", "/x", NULL);
		expect_answer(client_read(c, "GET"), 200, "hello");
	}
	struct client *both = client_open();
	client_send(both, LINE("192.0.2.77") "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_answer(client_read(both, "GET"), 200, "hello");
	expect_text(client_told(), "192.0.2.77");
	edge_expect_stat("proxy_protocol.heads", 3);
	edge_expect_stat("connections.accepted", 3);
}

SCENARIO("it stands before TLS, and is not part of it")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	cert_write(text("%s/a.pem", kit_dir()), .names = "a.example");
	edge_yaml(text("%s%stls:\n  certificates: [ %%D/a.pem ]\n", LISTEN_BY("https://"), TRUST));
	edge_start();
	for (int i = 0; i < 2; i++) {
		struct client *c = client_open_tls(.name = "a.example",
						   .before = i ? binary : LINE("192.0.2.1"),
						   .before_bytes = i ? sizeof binary - 1
								     : strlen(LINE("192.0.2.1")));
		expect(client_is_in(c));
		client_send(c, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n");
		expect_answer(client_read(c, "GET"), 200, "hello");
		expect_text(client_told(), i ? "198.51.100.7" : "192.0.2.1");
		expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "https");
	}
	expect(!client_is_in(client_open_tls(.name = "a.example")));
	edge_expect_stat("proxy_protocol.broken", 1);
	edge_expect_stat("tls.handshakes", 2);
}

SCENARIO("HTTP/2 without TLS begins behind it too")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	edge_yaml(LISTEN_BY("h2c://") TRUST);
	edge_start();
	struct client *c = client_open();
	client_send(c, LINE("192.0.2.1") "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	h2_raw_frame(c, H2_SETTINGS, 0, 0, NULL, 0);
	h2_raw_headers(c, H2_END_STREAM | H2_END_HEADERS, 1, H2_GET("/x"));
	uint8_t body[5];
	expect(h2_raw_wait(c, H2_DATA, 1, body, sizeof body));
	expect_text(client_told(), "192.0.2.1");
}

SCENARIO("a forwarder that must say who its client is and does not is closed, without an answer")
{
	start("");
	static const char *const others[] = {
		"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "PROXY TCP4 nobody\r\n",
		"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n", "\r\n\r\nQUIT", "\026\003\001\002"};
	int n = sizeof others / sizeof *others;
	for (int i = 0; i < n; i++) {
		struct client *c = client_open();
		client_send(c, others[i]);
		client_expect_closed(c);
	}
	edge_expect_stat("proxy_protocol.broken", n);
	/* cut in the middle */
	struct client *cut = client_open();
	client_send(cut, "PROXY TCP4 192.0");
	client_half_close(cut);
	client_expect_closed(cut);
	edge_expect_stat("proxy_protocol.broken", n + 1);
	/* One that only looks whether somebody is here does no wrong. */
	client_close(client_open());
	edge_wait_stat("connections.closed", n + 2);
	edge_expect_stat("proxy_protocol.broken", n + 1);
	edge_expect_stat("proxy_protocol.heads", 0);
	edge_expect_stat("requests.total", 0);
}

enum { TICK_MS = 50 }; /* so often limits of time are looked at */

SCENARIO("the head has timeouts.header, however it drips")
{
	clock_hold();
	start(TRUST "timeouts:\n  header: 300ms\n");
	struct client *c = client_open(), *silent = client_open();
	client_send(c, "PROXY UNKNOWN ");
	edge_wait_stat("connections.open", 2);
	for (int ms = 0; ms < 290; ms += 29) {
		expect(!client_has_ended(c) && !client_has_ended(silent));
		clock_advance(29);
		client_send_some(c, "x", 1);
	}
	clock_advance(10 + TICK_MS);
	client_expect_closed(c);
	client_expect_closed(silent);
	edge_expect_stat("proxy_protocol.broken", 2);
}

SCENARIO("who is not trusted is not listened to")
{
	start("forwarded:\n  trust: [ 192.0.2.0/24 ]\n");
	struct client *c = client_open();
	client_send(c, LINE("192.0.2.1") "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
	client_expect_closed(c);
	edge_expect_stat("proxy_protocol.strangers", 1);
	edge_expect_stat("requests.total", 0);
	wait_until(edge_said("127.0.0.1 came to a listener for the PROXY protocol"));
	edge_expect_stat("connections.open", 0);
}

SCENARIO("on another listener such a head is a bad request, whoever sends it")
{
	by_http_only();
	edge_start_yaml(TRUST);
	struct client *c = client_open();
	client_send(c, LINE("192.0.2.1") "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_status(client_read(c, "GET"), 400);
	client_expect_closed(c);
	c = client_open();
	client_send_bytes(c, binary, sizeof binary - 1);
	client_send(c, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_status(client_read(c, "GET"), 400);
	client_expect_closed(c);
	edge_expect_stat("proxy_protocol.heads", 0);
}

SCENARIO("limits.per_address is the client's, not the forwarder's")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	start(TRUST "limits:\n  per_address: 2\n");
	struct client *in[4];
	for (int i = 0; i < 4; i++) { /* two of each of two clients */
		in[i] = client_open();
		client_send(in[i], i < 2 ? LINE("192.0.2.1") : LINE("192.0.2.2"));
		client_request(in[i], "GET", "/x", NULL);
		expect_answer(client_read(in[i], "GET"), 200, "hello");
	}
	struct client *third = client_open();
	client_send(third, LINE("192.0.2.1"));
	expect_status(client_read(third, "GET"), 503);
	client_expect_closed(third);
	edge_expect_stat("connections.refused", 1);
	client_close(in[0]);
	edge_wait_stat("connections.closed", 2);
	third = client_open();
	client_send(third, LINE("192.0.2.1"));
	client_request(third, "GET", "/x", NULL);
	expect_answer(client_read(third, "GET"), 200, "hello");
}

SCENARIO("draining answers a request that came behind its head, and waits for no head")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello",
		    .hold_head = go);
	start("");
	struct client *c = client_open(), *half = client_open();
	client_send(half, "PROXY TCP4 ");
	client_send(c, LINE("192.0.2.1") "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
	edge_wait_requests(1);
	edge_signal(15);
	client_expect_closed(half);
	barrier_open(go);
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_int(edge_wait_exit(), 0);
}

SCENARIO("check wants the forwarders named")
{
	char *says;
	edge_yaml(LISTEN_BY("http://"));
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "forwarded.trust"), "%s", says);
}

SCENARIO("curl writes heads that are understood")
{
	needs("curl");
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	start("");
	struct output o = program("curl", "-sS", "--fail", "--haproxy-protocol",
				  text("http://127.0.0.1:%u/x", edge_port()));
	expect_text(o.out, "hello");
	expect_text(client_told(), "127.0.0.1");
	edge_expect_stat("proxy_protocol.heads", 1);
}
