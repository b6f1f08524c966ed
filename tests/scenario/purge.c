/* Purged objects stay purged: through kill -9, restarts, fetches under way. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=3600\r\n"

static void
expect_purged(const char *query)
{
	struct answer a = edge_purge(query);
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"purged\": true") && strstr(a.body, "\"durable\": true"), "%s",
		    a.body);
}

/* Everything gathered in memory is on disk: the kernel has it, so that kill -9 loses nothing. */
static void
wait_written(double before, int objects, int bytes)
{
	edge_wait_stat("disk.written_bytes", before + (double)objects * bytes);
}

/* TWICE_LONG=1: 100 times instead of 5. */
SCENARIO_IN(600, "an acknowledged purge survives kill -9 at once, a burst of them too")
{
	by_http_only();
	enum { BURST = 20, BYTES = 20000 };
	int rounds = getenv("TWICE_LONG") ? 100 : 5;
	edge_start_yaml("admission:\n  sightings: 1\n");
	int hits_of_others = 0;
	for (int round = 0; round < rounds; round++) {
		edge_restart(); /* all of the last round is written */
		double before = edge_stat("disk.written_bytes");
		for (int i = 0; i < 2 * BURST; i++) {
			char *path = text("/%d/%d", round, i);
			origin_says(path, .fields = FRESH, .pattern_bytes = BYTES, .seed = 1);
			origin_says(path, .fields = FRESH, .pattern_bytes = BYTES, .seed = 2,
				    .times = 9);
			get(path);
		}
		wait_written(before, 2 * BURST, BYTES);
		for (int i = 0; i < BURST; i++)
			expect_purged(text("url=http://example.com/%d/%d", round, i));
		edge_kill9();
		edge_restart();
		for (int i = 0; i < 2 * BURST; i++) {
			struct answer a = get(text("/%d/%d", round, i));
			bool old = is_pattern(a.body, 1, 0, BYTES);
			expect_that(!(old && i < BURST), "round %d: /%d is back: %s", round, i,
				    verdict(a));
			hits_of_others += old;
		}
	}
	/* Objects that were not purged are still there, else this would say nothing. */
	expect_between(hits_of_others, rounds * BURST * 8 / 10, rounds * BURST);
}

SCENARIO("a host is purged whole, and no other; all is purged whole; both last")
{
	static const char *const hosts[] = {"a.example", "b.example", "a.example:8080"};
	edge_start_yaml("admission:\n  sightings: 1\n");
	origin_says("*", .fields = FRESH, .body = "x", .times = 999);
	for (int round = 0; round < 2; round++) {
		double before = edge_stat("disk.written_bytes");
		for (int i = 0; i < 3; i++)
			get_with("/x", text("Host: %s\r\n", hosts[i]));
		wait_written(before, 1, 1);
		expect_purged("host=A.example");
		for (int again = 0; again < 2; again++) {
			for (int i = 0; i < 3; i++) {
				struct answer a = get_with("/x", text("Host: %s\r\n"
								      "Cache-Control: "
								      "only-if-cached\r\n",
								      hosts[i]));
				expect_int(a.status, i ? 200 : 504);
			}
			edge_restart();
		}
		expect_purged("all=1");
		for (int again = 0; again < 2; again++) {
			for (int i = 0; i < 3; i++)
				expect_status(get_with("/x", text("Host: %s\r\nCache-Control: "
								  "only-if-cached\r\n",
								  hosts[i])),
					      504);
			edge_restart();
		}
	}
}

SCENARIO("twice purge says what it did, and what it cannot do")
{
	by_http_only();
	edge_start();
	origin_says("*", .fields = FRESH, .body = "x", .times = 99);
	get("/x");
	char *admin = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(edge_binary(), "purge", "http://example.com/x", "--admin", admin);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "purged http://example.com/x"), "%s", o.out);
	o = program(edge_binary(), "purge", "http://example.com/nope", "--admin", admin);
	expect_that(strstr(o.out, "nothing was stored under this URL"), "%s", o.out);
	expect_int(
		program(edge_binary(), "purge", "--host", "example.com", "--admin", admin).status,
		0);
	expect_int(program(edge_binary(), "purge", "--all", "--admin", admin).status, 0);
	expect_int(program(edge_binary(), "purge", "--host", "a/b", "--admin", admin).status, 2);
	expect_int(program(edge_binary(), "purge", "example.com/x", "--admin", admin).status, 2);
	expect_int(program(edge_binary(), "purge", "--admin", admin).status, 2);
	expect_int(program(edge_binary(), "purge", "--all", "--host", "a", "--admin", admin).status,
		   2);
	expect_status(edge_purge("all=1&host=a"), 400);
	expect_status(edge_purge("url=ftp://a/"), 400);
}

SCENARIO("purge https://...: what it cannot match on a plain listener is said")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	get("/x");
	struct answer a = edge_purge("url=https://example.com/x");
	expect_status(a, 200);
	expect_that(strstr(a.body, "forwarded.trust") && strstr(a.body, "http://"), "%s", a.body);
	edge_stop();
	edge_start_yaml("forwarded:\n  trust: [ 127.0.0.1 ]\nadmission:\n  sightings: 1\n");
	expect_verdict(get_with("/x", "X-Forwarded-Proto: https\r\n"), "fwd=uri-miss");
	expect_hit(get_with("/x", "X-Forwarded-Proto: https\r\n"));
	a = edge_purge("url=https://example.com/x");
	expect_status(a, 200);
	expect_that(!strstr(a.body, "forwarded.trust"), "%s", a.body);
	expect_verdict(get_with("/x", "X-Forwarded-Proto: https\r\n"), "fwd=uri-miss");
}

SCENARIO("purge https://...: where a listener speaks TLS its URLs are as good as any")
{
	by_http_only();
	edge_start_yaml("listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:0\" ]\n"
			"tls:\n  self_signed: on\n");
	struct answer a = edge_purge("url=https://example.com/x");
	expect_that(strstr(a.body, "nothing was stored under this URL"), "%s", a.body);
	a = edge_purge("prefix=https://example.com/");
	expect_that(!strstr(a.body, "under https here"), "%s", a.body);
}

SCENARIO("a purge reaches what is being fetched: it is not stored, and nobody joins it any more")
{
	by_http_only();
	static const char *const how[] = {"url=http://example.com/x", "host=example.com", "all=1"};
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < 3; i++) {
		struct barrier *go = barrier_new();
		origin_says("/x", .fields = FRESH, .body = "old one", .hold_body = go,
			    .hold_at = 3);
		origin_says("/x", .fields = FRESH, .body = "new");
		struct call *old = call_get("/x");
		barrier_arrivals(go, 1);
		expect_status(edge_purge(how[i]), 200);
		expect_answer(get("/x"), 200, "new"); /* not the flight from before */
		barrier_open(go);
		call_expect(old, 200, "old one");
		struct answer a = get("/x");
		expect_answer(a, 200, "new");
		expect_hit(a);
		expect_status(edge_purge("all=1"), 200);
	}
}

SCENARIO("requests that change other URLs do not keep an answer from being stored")
{
	enum { FETCHES = 12, POSTS = 9000, AT_ONCE = 50 };
	struct barrier *go = barrier_new();
	for (int i = 0; i < FETCHES; i++)
		origin_says(text("/s%d", i), .fields = FRESH, .body = "0123456789", .hold_body = go,
			    .hold_at = 5);
	origin_says("*", .status = 204, .times = POSTS);
	clock_hold(); /* nobody loses patience meanwhile */
	edge_start_yaml("admission:\n  sightings: 1\n");
	struct call *slow[FETCHES];
	for (int i = 0; i < FETCHES; i++)
		slow[i] = call_get(text("/s%d", i));
	barrier_arrivals(go, FETCHES);
	struct client *c = client_open();
	for (int i = 0; i < POSTS; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			client_send(c, text("POST /post%d HTTP/1.1\r\nHost: example.com\r\n"
					    "Content-Length: 1\r\n\r\nx",
					    i + k));
		for (int k = 0; k < AT_ONCE; k++)
			expect_status(client_read(c, "POST"), 204);
	}
	barrier_open(go);
	for (int i = 0; i < FETCHES; i++)
		call_expect(slow[i], 200, "0123456789");
	for (int i = 0; i < FETCHES; i++)
		expect_hit(get(text("/s%d", i)));
}

SCENARIO("a directory whose purge log is gone or damaged is emptied, with a sentence")
{
	static const char *const words[] = {"missing", "damaged"};
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < 2; i++) {
		origin_says("/x", .fields = FRESH, .body = "old");
		origin_says("/x", .fields = FRESH, .body = "new");
		get("/x");
		edge_stop();
		char *log = text("%s/purges", edge_cache_dir());
		if (i == 0)
			program("rm", log);
		else
			program("sh", "-c",
				text("printf damaged. | dd of=%s bs=1 seek=20 conv=notrunc; "
				     "printf damaged. | dd of=%s bs=1 seek=4116 conv=notrunc",
				     log, log));
		edge_restart();
		wait_until(edge_said(words[i]));
		expect_answer(get("/x"), 200, "new");
		expect_purged("all=1");
	}
}

SCENARIO("one flipped bit in format, seed or purges loses nothing")
{
	static const char *const names[] = {"format", "seed", "purges", "format.copy", "seed.copy"};
	origin_says("/x", .fields = FRESH, .body = "kept", .times = 99);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/x");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		edge_stop();
		program("sh", "-c",
			text("printf damaged. | dd of=%s/%s bs=1 seek=20 conv=notrunc",
			     edge_cache_dir(), names[i]));
		edge_restart();
		struct answer a = get("/x");
		expect_that(verdict_has(a, "hit"), "%s: %s", names[i], verdict(a));
	}
	origin_expect_requests(1);
}

/* A request with many of them takes a while. */
static char *
purges_of(int first, int n)
{
	char *query = text("url=http://example.com/%d", first);
	for (int i = 1; i < n; i++)
		query = text("%s&url=http://example.com/%d", query, first + i);
	return text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		    query);
}

SCENARIO("whoever has asked for a purge before the end is told that it is durable")
{
	enum { CLIENTS = 50, EACH = 80 };
	struct client *admin[CLIENTS];
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/other");
	for (int i = 0; i < CLIENTS; i++) {
		expect_miss(get(text("/%d", i * EACH)));
		admin[i] = client_open_to(edge_admin_port());
		client_request(admin[i], "GET", "/healthz", NULL);
		expect_status(client_read(admin[i], "GET"), 200);
	}
	edge_signal(SIGSTOP); /* so that all of them are heard at once, and so is the end */
	for (int i = 0; i < CLIENTS; i++)
		client_send(admin[i], purges_of(i * EACH, EACH));
	edge_signal(SIGTERM);
	edge_signal(SIGCONT);
	for (int i = 0; i < CLIENTS; i++) {
		struct answer a = client_read(admin[i], "POST");
		expect_status(a, 200);
		expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
		client_close(admin[i]);
	}
	expect_int(edge_wait_exit(), 0);
	edge_restart();
	expect_hit(get("/other"));
	for (int i = 0; i < CLIENTS; i++)
		expect_miss(get(text("/%d", i * EACH)));
}

static const struct {
	const char *stored, *purged;
} spellings[] = {
	{"/caf%C3%A9", "/caf%c3%a9"},	  {"/th%c3%a9", "/th%C3%A9"},
	{"/%7Euser", "/~user"},		  {"/~other", "/%7eother"},
	{"/na%C3%AFve", "/na\xc3\xafve"}, {"/q?a=%c3%a9", "/q?a=%C3%A9"},
};

SCENARIO("a purge covers all spellings of a URL that mean the same, also behind a restart")
{
	enum { N = sizeof spellings / sizeof *spellings };
	origin_says("*", .fields = FRESH, .body = "hello", .times = 99);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/other");
	for (int i = 0; i < N; i++)
		get(spellings[i].stored);
	edge_wait_stat("disk.objects", N + 1);
	for (int i = 0; i < N; i++) {
		char query[256], *p = query;
		p += sprintf(p, "url=http://example.com");
		for (const char *s = spellings[i].purged; *s; s++)
			p += strchr("%?&=", *s) || (unsigned char)*s > 126
				     ? sprintf(p, "%%%02X", (unsigned char)*s)
				     : sprintf(p, "%c", *s);
		expect_status(edge_purge(query), 200);
	}
	edge_restart();
	expect_hit(get("/other"));
	for (int i = 0; i < N; i++) {
		note("%s", spellings[i].purged);
		expect_miss(get(spellings[i].stored));
	}
}

SCENARIO("so does a prefix, and an unsafe method")
{
	origin_says("*", .fields = FRESH, .body = "hello", .times = 99);
	edge_start_yaml("admission:\n  sightings: 1\n");
	get("/%7Euser");
	get("/caf%C3%A9/a");
	get("/th%c3%a9/b");
	get("/ol%C3%A9");
	get("/other");
	expect_status(edge_purge("prefix=http://example.com/caf%25c3%25a9/"), 200);
	expect_status(edge_purge("prefix=http://example.com/th%C3%A9/"), 200);
	expect_miss(get("/caf%C3%A9/a"));
	expect_miss(get("/th%c3%a9/b"));
	expect_hit(get("/ol%C3%A9"));
	edge_wait_stat("disk.objects", 5);
	expect_status(ask("POST", "/ol%c3%a9", NULL, "x"), 200);
	expect_status(ask("POST", "/~user", NULL, "x"), 200);
	edge_restart();
	expect_miss(get("/ol%C3%A9"));
	expect_miss(get("/%7Euser"));
	expect_hit(get("/other"));
}
