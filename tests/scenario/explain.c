/* GET /explain and twice explain: why a URL is on disk or not, without changing that. */
#include "tests/kit/kit.h"

#include <jansson.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define URL   "http://example.com"

static struct answer
ask_admin(const char *path)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
	return client_read(c, "GET");
}

/* A word of the explanation, by its path; "": there is none, or it is null. */
static const char *
word(const char *query, const char *path)
{
	struct answer a = ask_admin(text("/explain?url=%s", query));
	expect_that(a.status == 200, "%s: %d %s", query, a.status, a.body);
	json_t *v = json_loads(a.body, 0, NULL);
	char *copy = text("%s", path), *save;
	for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
		v = json_object_get(v, part);
	if (json_is_integer(v))
		return text("%lld", (long long)json_integer_value(v));
	return json_is_string(v) ? json_string_value(v) : "";
}

SCENARIO("a URL is explained before its first request, after it, and when it is on disk")
{
	by_http_only();
	origin_says("/x", .fields = FRESH "ETag: \"1\"\r\n", .body = "hello");
	edge_start();
	expect_text(word(URL "/x", "now.does"), "fetch");
	expect_text(word(URL "/x", "now.verdict"), "first-sight");
	expect_text(word(URL "/x", "seen.generation"), "neither");
	expect_text(word(URL "/x", "key"), URL "/x");
	get("/x");
	expect_text(word(URL "/x", "stored.where"), "RAM");
	expect_text(word(URL "/x", "seen.generation"), "current");
	expect_text(word(URL "/x", "now.does"), "answer");
	expect_text(word(URL "/x", "now.verdict"), "seen-current");
	expect_text(word(URL "/x", "last.verdict"), "first-sight");
	expect_text(word(URL "/x", "last.status"), "200");
	expect_text(word(URL "/x", "stored.headers.etag"), "\"1\"");
	get("/x");
	edge_wait_stat("disk.objects", 1);
	expect_text(word(URL "/x", "stored.where"), "RAM and disk");
	expect_text(word(URL "/x", "now.verdict"), "on-disk");
	edge_restart(); /* on disk alone */
	edge_wait_stat("disk.objects", 1);
	expect_text(word(URL "/x", "stored.where"), "disk");
	expect_text(word(URL "/x", "stored.status"), "200");
	expect_text(word(URL "/x", "now.does"), "answer");
}

SCENARIO("asking is no sighting, asks no origin and counts nothing")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	for (int i = 0; i < 5; i++)
		word(URL "/x", "key");
	expect_verdict(get("/x"), "detail=first-sight");
	expect_int(origin_requests(), 1);
	expect_int((int)edge_stat("requests.total"), 1);
	expect_int((int)edge_stat("admission.generation.keys"), 1);
}

SCENARIO("a variant is found by the headers of the request, and a stale object is said to be stale")
{
	by_http_only();
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red");
	origin_says("/old", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n", .etag = "\"1\"",
		    .body = "old");
	edge_start();
	get_with("/v", "X-Kind: red\r\n");
	get("/old");
	expect_text(word(URL "/v&header=X-Kind:%20red", "stored.where"), "RAM");
	expect_text(word(URL "/v&header=X-Kind:%20blue", "stored.where"), "");
	expect_text(word(URL "/v", "varies_on"), "x-kind");
	expect_text(word(URL "/old", "now.does"), "ask the origin whether it is still good");
	expect(atoi(word(URL "/old", "stored.fresh_for_s")) < 0);
	expect_text(word(URL "/old&header=Cache-Control:%20only-if-cached", "now.does"),
		    "refuse with 504");
}

SCENARIO("a soft purge makes it stale, and the question does not undo that")
{
	by_http_only();
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .body = "hello");
	edge_start();
	get("/x");
	expect_text(word(URL "/x", "now.does"), "answer");
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "POST /purge?url=" URL "/x&soft=1 HTTP/1.1\r\nHost: localhost\r\n"
		       "Content-Length: 0\r\nConnection: close\r\n\r\n");
	expect_int(client_read(c, "POST").status, 200);
	for (int i = 0; i < 2; i++) {
		expect_text(word(URL "/x", "stored.where"), "RAM");
		expect(atoi(word(URL "/x", "stored.fresh_for_s")) <= 0);
		expect(strcmp(word(URL "/x", "now.does"), "answer") != 0);
	}
}

SCENARIO("a route is named, and what passes is said to pass")
{
	edge_start_yaml(
		"routes:\n  - path: /account\n    pass: on\n  - path: /v\n    admit: always\n");
	expect_text(word(URL "/account/me", "now.does"), "pass to the origin");
	expect_text(word(URL "/account/me", "route.number"), "1");
	expect_text(word(URL "/v/1", "route.number"), "2");
	expect_text(word(URL "/v/1", "now.verdict"), "always");
	expect_text(word(URL "/other", "route.number"), "");
}

SCENARIO("what cannot be a request is refused in a sentence, or explained as refused")
{
	edge_start();
	expect_int(ask_admin("/explain").status, 400);
	expect_int(ask_admin("/explain?url=").status, 400);
	expect_int(ask_admin("/explain?url=ftp://x/").status, 400);
	expect_int(ask_admin("/explain?url=http://x/%0d%0aHost:%20y").status, 400);
	expect_text(word("http://x/a%20b", "refused.status"), "400");
	expect_text(word(URL "/x&header=nonsense", "refused.status"), "400");
	expect_text(word(URL "/x&header=Content-Length:%205&header=Transfer-Encoding:%20chunked",
			 "refused.status"),
		    "400");
	expect_text(word("http://example.com?q=1", "key"), "http://example.com/?q=1");
}

SCENARIO("twice explain says it for people")
{
	by_http_only();
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	get("/x");
	const char *bin = getenv("TWICE") ? getenv("TWICE") : "build/twice";
	char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(bin, "explain", URL "/x", "-H", "Accept: a&b=c", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "stored   RAM: status 200, 5 bytes") &&
			    strstr(o.out, "first-sight"),
		    "exit %d: %s%s", o.status, o.out, o.err);
	o = program(bin, "explain", "--json", URL "/x", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "\"why\""), "exit %d: %s", o.status, o.err);
	expect_int(program(bin, "explain").status, 2);
	expect_int(program(bin, "explain", "nonsense", "--admin", at).status, 1);
}
