/* Purging by tag and by prefix, and softly: what it covers and what not, before and after a restart,
 * in RAM and on disk, while it is fetched. */
#include "tests/kit/kit.h"

#include <stdlib.h>
#include <string.h>

#define FRESH	 "Cache-Control: max-age=3600\r\n"
#define ADMITTED "admission:\n  sightings: 1\n"

static void
expect_purged(const char *query)
{
	struct answer a = edge_purge(query);
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
}

static bool
is_here(const char *path)
{
	return get_with(path, "Cache-Control: only-if-cached\r\n").status == 200;
}

SCENARIO("a tag purges what has it, in any case, and nothing else; a restart changes nothing")
{
	static const struct {
		const char *path, *fields;
		bool goes;
	} rows[] = {
		{"/sk", FRESH "Surrogate-Key: front News\r\n", true},
		{"/ct", FRESH "Cache-Tag: a,news , b\r\n", true},
		{"/two", FRESH "Surrogate-Key: a\r\nSurrogate-Key: b NEWS\r\n", true},
		{"/other", FRESH "Surrogate-Key: newspaper new\r\n", false},
		{"/none", FRESH, false},
		{"/elsewhere", FRESH "X-Tag: news\r\n", false},
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	edge_start_yaml(ADMITTED);
	for (int i = 0; i < ROWS; i++)
		origin_says(rows[i].path, .fields = rows[i].fields, .body = "x", .times = 99);
	for (int restarted = 0; restarted < 2; restarted++) {
		for (int i = 0; i < ROWS; i++)
			get(rows[i].path);
		if (restarted)
			edge_restart(); /* they are on disk alone now */
		for (int i = 0; i < ROWS; i++)
			expect_that(is_here(rows[i].path), "%s is not stored", rows[i].path);
		expect_purged("tag=news");
		for (int again = 0; again < 2; again++) {
			for (int i = 0; i < ROWS; i++)
				expect_that(is_here(rows[i].path) != rows[i].goes, "%s, %d.%d",
					    rows[i].path, restarted, again);
			if (restarted)
				edge_kill9();
			edge_restart();
		}
	}
}

SCENARIO("the names of the fields are settable, and they can be kept from clients")
{
	edge_start_yaml(EDGE_CACHE("  tag_headers: [ X-Tag ]\n  strip_tags: on\n") ADMITTED);
	origin_says("/x", .fields = FRESH "X-Tag: one\r\nX-Other: y\r\n", .body = "x",
		    .etag = "\"1\"", .fields_304 = FRESH, .times = 99);
	origin_says("/s", .fields = FRESH "Surrogate-Key: one\r\n", .body = "x");
	origin_says("/p", .fields = "Cache-Control: no-store\r\nX-Tag: one\r\n", .body = "x");
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_answer(a, 200, "x");
		expect_that(!field(a, "X-Tag") && field(a, "X-Other"), "%s", a.head);
	}
	expect_that(!field(get("/p"), "X-Tag"), "of what is not stored");
	expect_that(field(get("/s"), "Surrogate-Key"), "that is not its name here");
	/* A 304 that says nothing of tags leaves them. */
	expect_purged("all=1&soft=1");
	expect_verdict(get("/x"), "fwd=stale");
	expect_hit(get("/x"));
	expect_purged("tag=one");
	expect(!is_here("/x"));
}

SCENARIO("a 304 with other tags gives its object those")
{
	by_http_only();
	edge_start_yaml(ADMITTED);
	origin_says("/x", .fields = FRESH "Cache-Tag: old\r\n", .body = "x", .etag = "\"1\"",
		    .fields_304 = FRESH "Cache-Tag: new\r\n", .times = 99);
	get("/x");
	expect_purged("url=http://example.com/x&soft=1");
	get("/x");
	edge_restart();
	expect_purged("tag=old");
	expect(is_here("/x"));
	expect_purged("tag=new");
	expect(!is_here("/x"));
}

SCENARIO("a prefix purges the paths that begin so, of one scheme and host")
{
	by_http_only();
	static const struct {
		const char *path, *host;
		bool goes;
	} rows[] = {
		{"/a/b/", "h.example", true},	     {"/a/b/c", "h.example", true},
		{"/a/b/c/d?e=f", "h.example", true}, {"/a/b", "h.example", false},
		{"/a/bc", "h.example", false},	     {"/?/a/b/", "h.example", false},
		{"/a/b/c", "g.example", false},	     {"/a/b/c", "h.example:81", false},
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	edge_start_yaml(ADMITTED);
	origin_says("*", .fields = FRESH, .body = "x", .times = 999);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < ROWS; i++)
			get_with(rows[i].path, text("Host: %s\r\n", rows[i].host));
		if (round)
			edge_restart();
		expect_purged("prefix=http://H.example/x/../a/b/");
		for (int again = 0; again < 2; again++) {
			for (int i = 0; i < ROWS; i++) {
				struct answer a =
					get_with(rows[i].path,
						 text("Host: %s\r\nCache-Control: only-if-cached"
						      "\r\n",
						      rows[i].host));
				expect_that((a.status == 200) != rows[i].goes, "%s of %s, %d.%d",
					    rows[i].path, rows[i].host, round, again);
			}
			if (round)
				edge_kill9();
			edge_restart();
		}
	}
}

SCENARIO("a prefix that does not end at a slash, and one in another spelling")
{
	by_http_only();
	edge_start_yaml("routes:\n  - { path: /n/, normalise: on }\n" ADMITTED);
	origin_says("*", .fields = FRESH, .body = "x", .times = 999);
	static const char *const gone[] = {"/img/2026-01.jpg", "/img/2026", "/n/%7euser/x"};
	static const char *const kept[] = {"/img/2025", "/img/202", "/n/other"};
	for (int i = 0; i < 3; i++) {
		get(gone[i]);
		get(kept[i]);
	}
	expect_purged("prefix=http://example.com/img/2026");
	expect_purged("prefix=http://example.com/n/%257Euser/");
	for (int i = 0; i < 3; i++) {
		expect_that(!is_here(gone[i]), "%s", gone[i]);
		expect_that(is_here(kept[i]), "%s", kept[i]);
	}
}

SCENARIO("softly: it is stale, validated, and fresh again; from RAM, from disk, after a crash")
{
	by_http_only();
	static const char *const how[] = {"url=http://example.com/x", "host=example.com", "all=1",
					  "prefix=http://example.com/", "tag=t"};
	edge_start_yaml(ADMITTED);
	origin_says("/x", .fields = FRESH "Cache-Tag: t\r\n", .body = "x", .etag = "\"1\"",
		    .times = 99);
	get("/x");
	int asked = 1;
	for (int i = 0; i < 5; i++) {
		for (int place = 0; place < 3; place++) {
			if (place == 1)
				edge_restart();
			expect_hit(get("/x"));
			expect_purged(text("%s&soft=1", how[i]));
			if (place == 2) {
				edge_kill9();
				edge_restart();
			}
			expect_status(get_with("/x", "Cache-Control: only-if-cached\r\n"), 504);
			struct answer a = get("/x");
			expect_answer(a, 200, "x");
			expect_that(verdict_has(a, "fwd=stale") && verdict_has(a, "fwd-status=304"),
				    "%s, place %d: %s", how[i], place, verdict(a));
			origin_expect_requests(++asked);
			expect_hit(get("/x"));
			edge_restart(); /* the fresh head is on disk */
			expect_hit(get("/x"));
		}
	}
}

SCENARIO(
	"softly: the rules for stale objects apply; hard: nothing is validated, nothing stale served")
{
	edge_start_yaml(ADMITTED);
	origin_says("/w", .fields = "Cache-Control: max-age=3600, stale-while-revalidate=600\r\n",
		    .body = "x", .etag = "\"1\"", .times = 99);
	origin_says("/e", .fields = FRESH, .body = "old", .etag = "\"1\"");
	origin_says("/e", .status = 503, .times = 2);
	origin_says("/e", .fields = FRESH, .body = "new", .etag = "\"1\"", .times = 9);
	get("/w");
	get("/e");
	expect_purged("host=example.com&soft=1");
	struct answer a = get("/w"); /* at once, and refreshed behind the answer */
	expect_that(verdict_has(a, "hit"), "%s", verdict(a));
	origin_wait_requests(3);
	wait_until(strstr(verdict(get("/w")), "ttl=3"));
	expect_answer(get("/e"), 200, "old"); /* stale-if-error */
	expect_purged("host=example.com");
	expect_status(get("/e"), 503);
	int n = origin_requests();
	expect_answer(get("/e"), 200, "new"); /* the same validator, and it was not asked by it */
	expect(!heard_field(origin_request(n), "If-None-Match"));
}

SCENARIO("who comes behind a purge by tag gets nothing that was fetched before it")
{
	by_http_only();
	static const char *const how[] = {"tag=t", "tag=t&soft=1", "prefix=http://example.com/",
					  "url=http://example.com/x&soft=1"};
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start_yaml(ADMITTED);
	for (int i = 0; i < 4; i++) {
		struct barrier *head = barrier_new(), *body = barrier_new();
		origin_says("/x", .fields = FRESH "Cache-Tag: t\r\n", .body = "old one",
			    .hold_head = head);
		origin_says("/x", .fields = FRESH "Cache-Tag: t\r\n", .body = "new one",
			    .hold_body = body, .hold_at = 3);
		origin_says("/x", .fields = FRESH "Cache-Tag: t\r\n", .body = "newest");
		struct call *first = call_get("/x");
		barrier_arrivals(head, 1);
		expect_purged(how[i]);
		/* Its tags are not known yet: it may join, but looks again when they are. */
		int before = origin_requests();
		struct call *joins = call_get("/x");
		if (i < 2)
			edge_wait_stat("requests.joined", 1);
		else
			barrier_arrivals(body, 1);
		barrier_open(head);
		call_expect(first, 200, "old one");
		barrier_arrivals(body, 1); /* the head is here, with the tag */
		expect_purged(how[i]);
		expect_answer(get("/x"), 200, "newest");
		barrier_open(body);
		call_expect(joins, 200, "new one");
		expect_int(origin_requests(), before + 2);
		struct answer a = get("/x");
		expect_answer(a, 200, "newest");
		expect_hit(a);
		expect_purged("all=1");
		origin_forget("/x");
		edge_restart();
	}
}

SCENARIO("of a body in slices a tag purges head and slices")
{
	enum { BYTES = 3 << 20 };
	edge_start_yaml(ADMITTED);
	for (int i = 1; i < 3; i++)
		origin_says("/big", .fields = FRESH "Surrogate-Key: t\r\n", .pattern_bytes = BYTES,
			    .seed = (uint64_t)i, .etag = "\"same\"", .ranges = true,
			    .times = i == 1 ? 1 : 99);
	get("/big");
	struct answer a = get("/big");
	expect_hit(a);
	expect_purged("tag=t");
	a = get("/big"); /* another body under the same validator: no old slice is among it */
	expect_that(a.body_bytes == BYTES && is_pattern(a.body, 2, 0, BYTES), "%zu bytes",
		    a.body_bytes);
	edge_restart();
	expect_purged("tag=t&soft=1");
	a = get("/big"); /* the head is validated, the slices stay */
	expect_that(verdict_has(a, "fwd=stale"), "%s", verdict(a));
	expect_that(is_pattern(a.body, 2, 0, BYTES), "another body");
}

SCENARIO("who joins a validation behind a purge by tag does not get what was purged")
{
	by_http_only();
	struct barrier *head = barrier_new();
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start_yaml(ADMITTED);
	origin_says("/x", .fields = FRESH "Cache-Tag: old\r\n", .body = "old", .etag = "\"1\"");
	origin_says("/x", .fields_304 = FRESH "Cache-Tag: new\r\n", .body = "old", .etag = "\"1\"",
		    .hold_head = head);
	origin_says("/x", .fields = FRESH, .body = "another");
	get("/x");
	expect_purged("url=http://example.com/x&soft=1");
	struct call *first = call_get("/x");
	barrier_arrivals(head, 1);
	expect_purged("tag=old");
	struct call *joins = call_get("/x");
	edge_wait_stat("requests.joined", 1);
	barrier_open(head); /* a 304, with another tag */
	call_expect(first, 200, "old");
	call_expect(joins, 200, "another");
}

SCENARIO("who joins the fetch of a slice behind a purge by tag gets no bytes from before it")
{
	enum { BYTES = 4 << 20, AT = 2 << 20 };
	struct barrier *head = barrier_new();
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start_yaml(ADMITTED);
	for (int i = 0; i < 3; i++)
		origin_says("/big", .fields = FRESH "Surrogate-Key: t\r\n", .pattern_bytes = BYTES,
			    .seed = i < 2 ? 1 : 2, .etag = "\"same\"", .ranges = true,
			    .hold_head = i == 1 ? head : NULL, .times = i < 2 ? 1 : 99);
	expect_status(get_with("/big", "Range: bytes=0-1048575\r\n"), 206);
	struct call *first = call_with("GET", "/big", "Range: bytes=2097152-3145727\r\n", NULL);
	barrier_arrivals(head, 1);
	expect_purged("tag=t");
	expect_status(get_with("/big", "Range: bytes=0-1048575\r\n"), 206); /* a new head */
	struct call *joins = call_with("GET", "/big", "Range: bytes=2097152-3145727\r\n", NULL);
	edge_wait_stat("requests.joined", 1);
	barrier_open(head);
	struct answer a = call_wait(first);
	expect_that(a.status == 206 && is_pattern(a.body, 1, AT, 1 << 20), "%d", a.status);
	a = call_wait(joins);
	expect_that(a.status == 206 && is_pattern(a.body, 2, AT, 1 << 20), "%d", a.status);
}

SCENARIO("a 304 with another tag for a body in slices: a purge by it purges them")
{
	by_http_only();
	enum { BYTES = 3 << 20 };
	edge_start_yaml(ADMITTED);
	for (int i = 1; i < 3; i++)
		origin_says("/big", .fields = FRESH "Surrogate-Key: old\r\n",
			    .fields_304 = FRESH "Surrogate-Key: new\r\n", .pattern_bytes = BYTES,
			    .seed = (uint64_t)i, .etag = "\"same\"", .ranges = true,
			    .times = i == 1 ? 2 : 99);
	get("/big");
	expect_purged("url=http://example.com/big&soft=1");
	expect_verdict(get_with("/big", "Range: bytes=0-9\r\n"), "fwd-status=304");
	expect_purged("tag=new");
	struct answer a = get("/big");
	expect_that(a.body_bytes == BYTES && is_pattern(a.body, 2, 0, BYTES),
		    "an old slice is among the bytes");
}

SCENARIO("several at once; what cannot be meant is refused, with what would be right")
{
	by_http_only();
	edge_start_yaml(ADMITTED);
	for (int i = 0; i < 6; i++)
		origin_says(text("/%d", i), .fields = text(FRESH "Cache-Tag: t%d\r\n", i),
			    .body = "x", .times = 9);
	for (int i = 0; i < 6; i++)
		get(text("/%d", i));
	struct answer a = edge_purge("url=http://example.com/0&tag=t1&prefix=http://example.com/2&"
				     "host=other.example&tag=t3");
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"results\"") && strstr(a.body, "\"tag\": \"t3\""), "%s",
		    a.body);
	for (int i = 0; i < 6; i++)
		expect_that(is_here(text("/%d", i)) == (i > 3), "%d", i);
	static const struct {
		const char *query, *says;
	} wrong[] = {
		{"tag=a%20b", "one word"},
		{"tag=a,b", "one word"},
		{"tag=", "no value"},
		{"prefix=/img/", "begins with http://"},
		{"prefix=http://example.com/a?b", "before the \"?\""},
		{"prefix=http://example.com/a*", "leave out the \"*\""},
		{"prefix=http:///a", "and a host"},
		{"url=http://example.com/a%20b", "%20"},
		{"url=http://example.com/a%23b", "%23"},
		{"url=http://user@example.com/", "has a host"},
		{"url=http://example.com/4&tag=a,b", "nothing was purged"},
		{"url=http://example.com/?a=b&c=d", "%26"},
		{"url=http://example.com/%4", "two digits"},
		{"host=a&soft=maybe", "write 1 or 0"},
		{"all=1&tag=t4", "alone"},
		{"soft=1", "what to purge"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		a = edge_purge(wrong[i].query);
		expect_that(a.status == 400 && strstr(a.body, wrong[i].says), "%s: %d %s",
			    wrong[i].query, a.status, a.body);
	}
	expect(is_here("/4") && is_here("/5"));
	a = edge_purge("prefix=https://example.com/");
	expect_that(strstr(a.body, "forwarded.trust"), "%s", a.body);
	a = edge_purge("url=http://example.com/*");
	expect_that(strstr(a.body, "purge a prefix"), "%s", a.body);
	edge_stop();
	edge_start_yaml(EDGE_CACHE("  tag_headers: [ ]\n") ADMITTED);
	a = edge_purge("tag=t");
	expect_that(strstr(a.body, "names no field"), "%s", a.body);
}

SCENARIO("twice purge takes prefixes, tags, several at once, and is soft on demand")
{
	by_http_only();
	const char *twice = edge_binary();
	edge_start_yaml(ADMITTED);
	origin_says("/x", .fields = FRESH "Cache-Tag: t\r\n", .body = "x", .etag = "\"1\"",
		    .times = 99);
	get("/x");
	char *admin = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(twice, "purge", "--soft", "--tag", "t", "--admin", admin);
	expect_int(o.status, 0);
	expect_text(o.out, "stale from now on: t\n");
	expect_verdict(get("/x"), "fwd-status=304");
	o = program(twice, "purge", "--prefix", "http://example.com/x", "http://example.com/y",
		    "--wait", "--admin", admin);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "purged http://example.com/x\n") &&
			    strstr(o.out, "nothing stored: http://example.com/y: "),
		    "%s", o.out);
	expect(!is_here("/x"));
	o = program(twice, "purge", "--prefix", "/x", "--admin", admin);
	expect_that(o.status == 2 && strstr(o.err, "begins with http://"), "%s", o.err);
	o = program(twice, "purge", "--all", "--tag", "t", "--admin", admin);
	expect_int(o.status, 2);
	o = program(twice, "purge", "--soft", "--admin", admin);
	expect_that(o.status == 2 && strstr(o.err, "say what to purge"), "%s", o.err);
}
