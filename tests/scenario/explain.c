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

static json_t *
part_of(const char *query, const char *path)
{
	struct answer a = ask_admin(text("/explain?url=%s", query));
	expect_that(a.status == 200, "%s: %d %s", query, a.status, a.body);
	json_t *v = json_loads(a.body, 0, NULL);
	char *copy = text("%s", path), *save;
	for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
		v = json_object_get(v, part);
	return v;
}

/* A word of the explanation, by its path; "": there is none, or it is null. */
static const char *
word(const char *query, const char *path)
{
	const json_t *v = part_of(query, path);
	if (json_is_integer(v))
		return text("%lld", (long long)json_integer_value(v));
	return json_is_string(v) ? json_string_value(v) : "";
}

/* Finds what a list of headers says of the one with that name. */
static const char *
header(const char *query, const char *list, const char *name, const char *what)
{
	size_t i;
	const json_t *h;
	json_array_foreach(part_of(query, list), i, h)
	{
		if (strcasecmp(json_string_value(json_object_get(h, "name")), name) == 0) {
			const char *v = json_string_value(json_object_get(h, what));
			return v ? v : "";
		}
	}
	return "";
}

/* The outcome of a request is noted when it has ended, which its client may know first. */
static void
expect_soon(const char *query, const char *path, const char *value)
{
	wait_until(strcmp(word(query, path), value) == 0);
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
	expect_soon(URL "/x", "last.verdict", "first-sight");
	expect_text(word(URL "/x", "last.status"), "200");
	expect_text(header(URL "/x", "stored.headers", "etag", "value"), "\"1\"");
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

SCENARIO("each header of a request is explained: where it goes, and what it does")
{
	by_http_only();
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red");
	edge_start_yaml("routes:\n  - path: /\n    key_headers: [ X-Key ]\n");
	get_with("/v", "X-Kind: red\r\n");
#define ASKED                                                                              \
	URL "/v&header=X-Kind:%20red&header=X-Key:%20k&header=Accept-Encoding:%20br,gzip"  \
	    "&header=If-None-Match:%20%22a%22&header=X-Original-URL:%20evil&header=Cache-" \
	    "Control:%20no-cache&header=X-Own:%20a"
	expect_text(header(ASKED, "headers", "x-key", "key"), "primary");
	expect_text(header(ASKED, "headers", "x-own", "origin"), "a");
	expect_text(header(ASKED, "headers", "x-own", "does"),
		    "It is sent to the origin as it is.");
	expect_text(header(ASKED, "headers", "x-original-url", "does"),
		    "It is not sent to the origin.");
	expect_text(header(ASKED, "headers", "if-none-match", "origin"), "");
	expect_text(header(ASKED, "headers", "if-none-match", "does"),
		    "The cache answers it from the whole object.");
	expect(strstr(header(ASKED, "headers", "cache-control", "does"), "ignore") != NULL);
	expect(strlen(header(ASKED, "headers", "accept-encoding", "origin")) > 0);
	/* The variant is known for requests with no key header, so the same URL without one. */
	expect_text(header(URL "/v&header=X-Kind:%20red", "headers", "x-kind", "key"), "variant");
}

SCENARIO("each header of a stored answer is explained, and why an answer was not stored")
{
	by_http_only();
	origin_says("/s", .fields = "Cache-Control: max-age=60, s-maxage=600\r\nExpires: Thu, 01 "
				    "Jan 2037 00:00:00 GMT\r\n");
	origin_says("/t", .fields = "CDN-Cache-Control: max-age=90\r\nCache-Control: no-store\r\n");
	origin_says("/g", .fields = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n");
	origin_says("/p", .fields = "Cache-Control: private\r\n");
	edge_start();
	for (const char *at = "stgp"; *at; at++)
		get(text("/%c", *at));
	expect_text(header(URL "/s", "stored.headers", "cache-control", "does"),
		    "s-maxage says that it is fresh for 600 s. s-maxage forbids to use it stale.");
	expect(strstr(header(URL "/s", "stored.headers", "expires", "does"), "does not count"));
	expect(strstr(header(URL "/t", "stored.headers", "cdn-cache-control", "does"), "90 s"));
	expect(strstr(header(URL "/t", "stored.headers", "cache-control", "does"),
		      "does not count beside the targeted field"));
	expect(strstr(header(URL "/g", "stored.headers", "last-modified", "does"), "guessed"));
	expect_soon(URL "/p", "last.not_stored", "private");
	expect_text(word(URL "/p", "last.rule"), "RFC 9111 5.2.2.7");
	expect_text(word(URL "/s", "last.not_stored"), "");
}

SCENARIO("a lifetime by default_ttl is no guess, and none is none")
{
	by_http_only();
	origin_says("/d", .etag = "\"1\"", .body = "x");
	origin_says("/g", .fields = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n");
	origin_says("/g?2", .fields = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n");
	origin_says("/s", .fields = "Cache-Control: max-age=60\r\n");
	edge_start_yaml(EDGE_CACHE("  default_ttl: 1m\n"));
	for (const char *at = "dgs"; *at; at++)
		get(text("/%c", *at));
	expect_soon(URL "/d", "stored.lifetime_by", "default_ttl");
	expect_soon(URL "/g", "stored.lifetime_by", "default_ttl");
	expect_soon(URL "/s", "stored.lifetime_by", "origin");
	const char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(edge_binary(), "explain", URL "/d", "--admin", at);
	expect_that(!strstr(o.out, "guessed") && strstr(o.out, "(cache.default_ttl)") &&
			    strstr(o.out, "cache.default_ttl gives it one"),
		    "%s", o.out);
	edge_stop();
	edge_start_yaml(EDGE_CACHE(""));
	origin_says("/n", .etag = "\"1\"", .body = "x");
	get("/n");
	get("/g?2");
	expect_soon(URL "/g?2", "stored.lifetime_by", "guessed");
	expect_soon(URL "/n", "stored.lifetime_by", "none");
}

SCENARIO("why an answer was not stored is a sentence with what would change it")
{
	static const struct {
		const char *path, *fields, *word, *names;
	} rows[] = {
		{"/private", "Cache-Control: private\r\n", "private", "CDN-Cache-Control"},
		{"/never", "Cache-Control: no-store\r\n", "no-store", "CDN-Cache-Control"},
		{"/cookie", "Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n", "set-cookie",
		 "set_cookie: strip"},
		{"/star", "Cache-Control: max-age=60\r\nVary: *\r\n", "vary-star", "Vary: *"},
		{"/stale", "Cache-Control: max-age=0\r\n", "no-use", "max-age"},
	};
	by_http_only();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		origin_says(rows[i].path, .fields = rows[i].fields, .body = "x");
	edge_start();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *url = text(URL "%s", rows[i].path);
		get(rows[i].path);
		expect_soon(url, "last.not_stored", rows[i].word);
		expect_that(strstr(word(url, "last.because"), rows[i].names), "%s: %s",
			    rows[i].path, word(url, "last.because"));
		expect_text(word(url, "last.answer"), "miss");
	}
	struct output o = program(edge_binary(), "explain", URL "/cookie", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(strstr(o.out, "It was not stored (set-cookie). It sets a cookie"), "%s", o.out);
	expect_that(strstr(o.out, "status 200, not-storable (miss)"), "%s", o.out);
}

SCENARIO("why the answer to a HEAD was not stored: its page forbids it, or it is a HEAD")
{
	by_http_only();
	origin_says("/p", .fields = "Cache-Control: private\r\n");
	origin_says("/s", .fields = "Cache-Control: max-age=60\r\n");
	edge_start();
	ask("HEAD", "/p", NULL, NULL);
	ask("HEAD", "/s", NULL, NULL);
	expect_soon(URL "/p", "last.verdict", "not-storable");
	expect_text(word(URL "/p", "last.not_stored"), "private");
	expect_soon(URL "/s", "last.verdict", "head");
	expect_text(word(URL "/s", "last.not_stored"), "method");
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
	expect_text(word(URL "/v/1", "route.settings.admit"), "always");
	expect_text(json_string_value(json_array_get(part_of(URL "/%2576/1", "why"), 0)),
		    "No route matches the path as it is written; an origin could read it as one "
		    "that does.");
}

SCENARIO("what a route answers by itself is said, and that the address of a client may matter")
{
	by_http_only();
	edge_start_yaml("routes:\n"
			"  - { path: /old/, redirect: { to: \"https://www.example.com$path\" } }\n"
			"  - { path: /shop/, answer: { status: 503 } }\n"
			"  - { path: /in/, allow: [ 192.0.2.0/24 ] }\n");
	expect_text(word(URL "/old/x", "now.does"), "redirect");
	expect_text(word(URL "/old/x", "now.verdict"), "");
	expect_text(word(URL "/shop/x", "now.does"), "answer as the route says");
	expect_text(word(URL "/in/x", "now.does"), "fetch");
	expect_text(
		json_string_value(json_array_get(part_of(URL "/in/x", "why"), 0)),
		"The route asks which address the client has (allow, deny): say --from ADDRESS.");
	expect_text(word(URL "/in/x&from=192.0.2.1", "now.does"), "fetch");
	expect_text(word(URL "/in/x&from=192.0.3.1", "now.does"), "refuse with 403");
	expect_int(ask_admin("/explain?url=" URL "/in/x&from=here").status, 400);
	/* Some origins read it as /in/x, others as /x/../in/x. */
	expect_text(word(URL "/x/..%252Fin/x", "now.does"), "refuse with 403");
	expect_text(word(URL "/x", "now.does"), "fetch");
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

/* Whether a sentence of why holds the words. */
static bool
says_why(const char *query, const char *words)
{
	size_t i;
	const json_t *why;
	json_array_foreach(part_of(query, "why"), i,
			   why) if (strstr(json_string_value(why), words)) return true;
	return false;
}

SCENARIO("a URL of https is said not to come where nobody speaks it")
{
	by_http_only();
	edge_start();
	expect(says_why("https://example.com/", "No listener speaks TLS"));
	expect(!says_why(URL "/", "No listener speaks TLS"));
	edge_stop();
	edge_start("--listen", "https://127.0.0.1:0", "--self-signed");
	expect(!says_why("https://example.com/", "No listener speaks TLS"));
}

SCENARIO("twice explain says it for people")
{
	by_http_only();
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	get("/x");
	expect_soon(URL "/x", "last.verdict", "first-sight");
	const char *bin = edge_binary();
	char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(bin, "explain", URL "/x", "-H", "Accept: a&b=c", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "stored   RAM: status 200, 5 bytes") &&
			    strstr(o.out, "first-sight"),
		    "exit %d: %s%s", o.status, o.out, o.err);
	o = program(bin, "explain", "--json", URL "/x", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "\"why\""), "exit %d: %s", o.status, o.err);
	o = program(bin, "explain", URL "/x", "--from", "192.0.2.1", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "a request would: answer"), "exit %d: %s",
		    o.status, o.err);
	expect_int(program(bin, "explain").status, 2);
	expect_int(program(bin, "explain", "nonsense", "--admin", at).status, 2);
}

/* The value of Accept that the origin would be sent. */
static const char *
accept_of(const char *query)
{
	size_t i;
	const json_t *header;
	json_array_foreach(part_of(query, "headers"), i, header)
	{
		const char *name = json_string_value(json_object_get(header, "name"));
		if (name && strcasecmp(name, "Accept") == 0)
			return json_string_value(json_object_get(header, "origin"));
	}
	return NULL;
}

SCENARIO("a signed request is said to go as it came, unless its normal form is the same")
{
	by_http_only();
	edge_start();
	char *all = text("%s", URL "/x&header=Accept:%20a/b,%20c/d"),
	     *own = text("%s&header=Authorization:%%20x", all);
	expect(!says_why(all, "goes to the origin as it came"));
	expect_text(accept_of(all), "a/b,c/d");
	expect(says_why(own, "goes to the origin as it came"));
	expect_text(accept_of(own), "a/b, c/d");
	expect(!says_why(URL "/x&header=Accept:%20a/b&header=Authorization:%20x",
			 "goes to the origin as it came"));
}
