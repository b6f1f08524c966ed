/* The proxy itself answers in the form that the client likes, and with the name of a request by
 * which page, log and origin can be put together. */
#include "tests/kit/kit.h"

#include <string.h>

#define FRESH "Cache-Control: max-age=600\r\n"

static const char *
origins_id(void)
{
	const char *id = heard_field(origin_last(), "X-Request-ID");
	expect_that(id, "the origin was told of no request id:\n%s", origin_last()->head);
	return id;
}

static void
expect_said(struct answer a, const char *words)
{
	expect_that(strstr(a.body, words), "no \"%s\" in:\n%s", words, a.body);
}

SCENARIO("an origin that is dead: a page, JSON or text, and nothing of the origin in it")
{
	static const struct {
		const char *accept, *type;
	} forms[] = {
		{"Accept: text/html,*/*;q=0.8\r\n", "text/html; charset=utf-8"},
		{"Accept: application/json\r\n", "application/json"},
		{"Accept: application/problem+json\r\n", "application/problem+json"},
		{"", "text/plain"},
	};
	edge_start_yaml("access_log: \"-\"\n");
	origin_dies();
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct answer a = get_with(text("/%u", i), forms[i].accept);
		expect_status(a, 502);
		expect_field(a, "Content-Type", forms[i].type);
		expect_field(a, "Cache-Control", "no-store");
		expect_said(a, "Bad Gateway");
		expect_said(a, field(a, "X-Request-ID"));
		expect_that(!strstr(a.body, "127.0.0.1") && !strstr(a.body, "localhost"), "%s",
			    a.body);
		expect_int(ask("HEAD", text("/%u", i), forms[i].accept, NULL).status, 502);
	}
	struct answer last = get("/last");
	const char *id = text("id=\"%s\"", field(last, "X-Request-ID"));
	edge_stop();
	expect_that(strstr(edge_stdout(), id), "no %s in the log:\n%s", id, edge_stdout());
}

SCENARIO("a request that is refused has a page and a name, too")
{
	by_h1_only();
	edge_start_yaml("access_log: \"-\"\naccess_log_format: json\n");
	struct client *c = client_open();
	client_send(c, "GET /bad HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
	struct answer a = client_read(c, "GET");
	expect_status(a, 400);
	expect_said(a, "400 Bad Request: host");
	const char *id = text("\"id\":\"%s\"", field(a, "X-Request-ID"));
	client_close(c);
	edge_stop();
	expect_that(strstr(edge_stdout(), id), "no %s in the log:\n%s", id, edge_stdout());
}

SCENARIO("a client cannot name its request; the origin is told the name that the client sees")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\nX-Request-ID: of-the-origin\r\n");
	edge_start();
	struct answer a = get_with("/a", "X-Request-ID: mine\r\n");
	expect_int(heard_field_lines(origin_last(), "X-Request-ID"), 1);
	expect_field(a, "X-Request-ID", origins_id());
	expect_that(strcmp(origins_id(), "mine") != 0, "a stranger's name was taken over");
	expect_int((int)strlen(origins_id()), 32);
	struct answer b = get("/a");
	expect_field(b, "X-Request-ID", origins_id());
	expect_that(strcmp(field(a, "X-Request-ID"), field(b, "X-Request-ID")) != 0,
		    "one name twice");
}

SCENARIO("a trusted forwarder names its requests, in plain characters")
{
	origin_says("*", .fields = "Cache-Control: no-store\r\n");
	edge_start_yaml("forwarded:\n  trust: [ 127.0.0.0/8 ]\n");
	struct answer a = get_with("/a", "X-Request-ID: its-own.1\r\n");
	expect_text(origins_id(), "its-own.1");
	expect_field(a, "X-Request-ID", "its-own.1");
	a = get_with("/a", "X-Request-ID: <script>\r\n");
	expect_that(!strchr(origins_id(), '<'), "%s", origins_id());
	expect_field(a, "X-Request-ID", origins_id());
}

SCENARIO("a name is neither kept nor part of a key, and no answer is shared by it")
{
	origin_says("/x", .fields = FRESH "X-Request-ID: of-the-origin\r\n", .body = "x");
	origin_says("/varies", .fields = FRESH "Vary: X-Request-ID\r\n", .body = "y");
	edge_start();
	for (int i = 0; i < 4; i++) {
		struct answer a = get_with("/x", text("X-Request-ID: a%d\r\n", i));
		expect_answer(a, 200, "x");
		if (i)
			expect_hit(a);
		else
			expect_field(a, "X-Request-ID", origins_id());
		expect_that(!field(a, "X-Request-ID") ||
				    strcmp(field(a, "X-Request-ID"), "of-the-origin") != 0,
			    "another's name is kept");
	}
	origin_expect_requests_for("/x", 1);
	for (int i = 0; i < 3; i++)
		expect_answer(get("/varies"), 200, "y");
	origin_expect_requests_for("/varies", 3);
}
