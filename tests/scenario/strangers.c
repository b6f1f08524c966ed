/* One client's request changes nothing for the others: an answer that may not be stored removes no
 * copy, and does not end the sharing of fetches. */
#include "tests/kit/kit.h"

#define FRESH  "Cache-Control: max-age=600\r\n"
#define RELOAD "Cache-Control: no-cache\r\n"

static const struct {
	const char *says, *method, *fields;
	struct say answer;
} rows[] = {
	/* clang-format off */
	{ "Authorization", "GET", RELOAD "Authorization: x\r\n", {.fields = FRESH, .body = "mine"} },
	{ "a private page", "GET", RELOAD "Cookie: a=b\r\n", {.fields = "Cache-Control: private\r\n", .body = "mine"} },
	{ "no-store with a cookie", "GET", RELOAD "Cookie: a=b\r\n", {.fields = "Cache-Control: no-store\r\n", .body = "mine"} },
	{ "302", "GET", RELOAD, {.status = 302, .fields = "Location: /login\r\n"} },
	{ "307", "GET", RELOAD, {.status = 307, .fields = "Location: /login\r\n"} },
	{ "400", "GET", RELOAD, {.status = 400, .fields = "Cache-Control: no-store\r\n"} },
	{ "401", "GET", RELOAD, {.status = 401} },
	{ "403", "GET", RELOAD, {.status = 403} },
	{ "429", "GET", RELOAD, {.status = 429} },
	{ "501 that is not kept", "GET", RELOAD, {.status = 501, .fields = "Cache-Control: no-store\r\n"} },
	{ "a private page", "GET", RELOAD, {.fields = "Cache-Control: private\r\n", .body = "mine"} },
	{ "a page that sets a cookie", "GET", RELOAD, {.fields = FRESH "Set-Cookie: a=b\r\n", .body = "mine"} },
	{ "HEAD with Authorization", "HEAD", RELOAD "Authorization: x\r\n", {.fields = FRESH, .body = "whole"} },
	{ "HEAD with Authorization and another length", "HEAD", RELOAD "Authorization: x\r\n", {.fields = FRESH, .body = "another length"} },
	{ "HEAD with a cookie and another tag", "HEAD", RELOAD "Cookie: a=b\r\n", {.fields = FRESH "ETag: \"2\"\r\n", .body = "whole"} },
	{ "304 with another Vary", "GET", RELOAD, {.status = 304, .fields = FRESH "Vary: X-Any\r\nETag: \"1\"\r\n"} },
	{ "304 that is private", "GET", RELOAD, {.status = 304, .fields = "Cache-Control: private\r\nETag: \"1\"\r\n"} },
	/* clang-format on */
};

SCENARIO("an answer that may not be stored removes no copy")
{
	enum { N = sizeof rows / sizeof *rows };
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		origin_says(text("/%d", i), .fields = FRESH "ETag: \"1\"\r\n", .body = "whole");
		origin_script(text("/%d", i), &rows[i].answer);
		origin_says(text("/%d", i), .fields = FRESH, .body = "fetched again");
	}
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	for (int i = 0; i < N; i++) {
		const char *path = text("/%d", i);
		expect_answer(get(path), 200, "whole");
		ask(rows[i].method, path, rows[i].fields, NULL);
		expect_int(origin_requests_for(path), 2);
		struct answer a = get(path);
		if (a.status == 200 && strcmp(a.body, "whole") == 0)
			continue;
		wrong++;
		note("%s: the copy was gone", rows[i].says);
	}
	expect_int(wrong, 0);
}

SCENARIO(
	"a full answer to everybody's question makes the copy stale, and it is asked about next time")
{
	origin_says("/x", .fields = FRESH "ETag: \"1\"\r\n", .body = "old");
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "not for you to keep");
	origin_says("/x", .fields = FRESH "ETag: \"2\"\r\n", .body = "new");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	get("/x");
	expect_answer(get_with("/x", RELOAD), 200, "not for you to keep");
	expect_answer(get("/x"), 200, "new");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"1\"");
	expect_hit(get("/x"));
	origin_expect_requests(3);
}

static const struct {
	const char *says, *fields;
	struct say answer;
} firsts[] = {
	{"an answer to Authorization", "Authorization: x\r\n", {.fields = FRESH, .body = "mine"}},
	{"a private page for a cookie",
	 "Cookie: a=b\r\n",
	 {.fields = "Cache-Control: private\r\n", .body = "mine"}},
	{"an error", "X-Odd: 1\r\n", {.status = 400, .fields = "Cache-Control: no-store\r\n"}},
	{"trouble", "X-Odd: 1\r\n", {.status = 503}},
};

SCENARIO("what one client was answered does not make the others fetch in parallel")
{
	enum { N = sizeof firsts / sizeof *firsts, CLIENTS = 8 };
	struct barrier *go = barrier_new();
	for (int i = 0; i < N; i++) {
		origin_script(text("/%d", i), &firsts[i].answer);
		origin_says(text("/%d", i), .fields = FRESH, .body = "shared", .hold_head = go);
	}
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start();
	for (int i = 0; i < N; i++)
		get_with(text("/%d", i), firsts[i].fields);
	struct call *call[N][CLIENTS];
	for (int i = 0; i < N; i++)
		for (int c = 0; c < CLIENTS; c++)
			call[i][c] = call_get(text("/%d", i));
	edge_wait_requests(N + N * CLIENTS);
	barrier_open(go);
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		for (int c = 0; c < CLIENTS; c++)
			call_expect(call[i][c], 200, "shared");
		if (origin_requests_for(text("/%d", i)) == 2)
			continue;
		wrong++;
		note("%s: then %d fetches", firsts[i].says,
		     origin_requests_for(text("/%d", i)) - 1);
	}
	expect_int(wrong, 0);
}

SCENARIO("who carries credentials need not wait for each other's private pages")
{
	enum { N = 4 };
	struct barrier *go = barrier_new();
	origin_says("/me", .fields = "Cache-Control: private\r\n", .body = "first");
	origin_says("/me", .fields = "Cache-Control: private\r\n", .body = "mine", .hold_head = go);
	edge_start();
	get_with("/me", "Cookie: who=0\r\n");
	struct call *call[N];
	for (int i = 0; i < N; i++)
		call[i] = call_with("GET", "/me", text("Cookie: who=%d\r\n", i + 1), NULL);
	origin_wait_requests(1 + N); /* all at once: none of them is answered yet */
	barrier_open(go);
	for (int i = 0; i < N; i++)
		call_expect(call[i], 200, "mine");
}

SCENARIO("requests that change other URLs do not keep fetches under way from being stored")
{
	enum { FETCHES = 8, ROUNDS = 60, AT_ONCE = 50 };
	struct barrier *go = barrier_new();
	struct call *call[FETCHES];
	char post[AT_ONCE * 100] = "";
	origin_says("*", .status = 204);
	for (int i = 0; i < FETCHES; i++)
		origin_says(text("/%d", i), .fields = FRESH, .body = "kept", .hold_head = go);
	clock_hold(); /* nobody loses patience meanwhile */
	edge_start();
	for (int i = 0; i < FETCHES; i++)
		call[i] = call_get(text("/%d", i));
	origin_wait_requests(FETCHES);
	struct client *c = client_open();
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = 0;
		for (int i = 0; i < AT_ONCE; i++)
			n += (size_t)snprintf(post + n, sizeof post - n,
					      "POST /api/%d/%d HTTP/1.1\r\nHost: example.com\r\n"
					      "Content-Length: 1\r\n\r\nx",
					      round, i);
		client_send(c, post);
		for (int i = 0; i < AT_ONCE; i++)
			expect_status(client_read(c, "POST"), 204);
	}
	barrier_open(go);
	for (int i = 0; i < FETCHES; i++)
		call_expect(call[i], 200, "kept");
	for (int i = 0; i < FETCHES; i++)
		expect_hit(get(text("/%d", i)));
}
