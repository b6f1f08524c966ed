/* A copy that the origin has contradicted: 404 and its like, instead of the page that is stored. An error of the
 * origin's takes back nothing that clients were told, and no stranger can contradict by fields of his own. */
#include "tests/kit/kit.h"

#define STALE(more) "Cache-Control: max-age=10" more "\r\nAge: 20\r\n"
#define EARLY	    "admission:\n  sightings: 1\n"

static const struct {
	const char *says, *fields;
	int status;
} words[] = {
	{"a missing page", "", 404},
	{"one that is gone", "", 410},
	{"one that a court has forbidden", "", 451},
	{"a refusal", "", 403},
	{"a refusal with a lifetime", "Cache-Control: max-age=60\r\n", 403},
	{"a question for a password", "WWW-Authenticate: Basic realm=x\r\n", 401},
	{"a redirect to a login", "Location: /login\r\n", 302},
	{"a new page that is not to be kept", "Cache-Control: no-store\r\n", 200},
	{"a new page for one alone", "Cache-Control: private\r\n", 200},
	{"a new page with a cookie", "Set-Cookie: a=b\r\n", 200},
};
enum { WORDS = sizeof words / sizeof *words };

static void
say_old_then_word(int i, const char *fields)
{
	origin_says(text("/%d", i), .fields = fields, .etag = "\"1\"", .body = "old");
	origin_says(text("/%d", i), .status = words[i].status, .fields = words[i].fields,
		    .body = "other");
}

SCENARIO("what contradicted a stale copy is not taken back by an error of the origin's")
{
	for (int i = 0; i < WORDS; i++) {
		say_old_then_word(i, STALE(""));
		origin_says(text("/%d", i), .status = 500, .body = "oops");
	}
	edge_start();
	for (int i = 0; i < WORDS; i++) {
		get(text("/%d", i));
		note("%s", words[i].says);
		expect_answer(get(text("/%d", i)), words[i].status, "other");
		expect_answer(get(text("/%d", i)), 500, "oops");
		/* It may still be validated. */
		expect_text(heard_field(origin_last(), "If-None-Match"), "\"1\"");
	}
	origin_dies();
	for (int i = 0; i < WORDS; i++)
		expect_status(get(text("/%d", i)), 502);
}

SCENARIO("nor is it after a restart")
{
	say_old_then_word(0, STALE(", stale-while-revalidate=600"));
	edge_start_yaml(EARLY);
	get("/0");
	edge_wait_stat("disk.objects", 1);
	wait_until(get("/0").status == 404);
	origin_forget("/0");
	origin_says("/0", .status = 503, .body = "oops");
	edge_restart();
	expect_answer(get("/0"), 503, "oops");
}

SCENARIO("a validation that says the copy is still good lets it stand in again")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 404, .body = "gone");
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 500, .body = "oops");
	edge_start();
	get("/x");
	expect_answer(get("/x"), 404, "gone");
	expect_answer(get("/x"), 200, "old");
	expect_answer(get("/x"), 200, "old");
	edge_expect_stat("requests.stale_served", 1);
}

SCENARIO("a refresh behind the client's back that contradicts the copy ends its use")
{
	for (int i = 0; i < WORDS; i++)
		say_old_then_word(i, STALE(", stale-while-revalidate=600"));
	edge_start();
	for (int i = 0; i < WORDS; i++) {
		note("%s", words[i].says);
		get(text("/%d", i));
		expect_answer(get(text("/%d", i)), 200, "old");
		wait_until(origin_answers_for(text("/%d", i)) == 2);
		wait_until(strcmp(get(text("/%d", i)).body, "other") == 0);
	}
}

SCENARIO("an origin that takes longer than stale_after to say so is believed")
{
	struct barrier *go = barrier_new(), *again = barrier_new();
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 404, .body = "gone", .hold_head = go);
	origin_says("/x", .status = 404, .body = "gone", .hold_head = again);
	clock_hold();
	edge_start();
	get("/x");
	struct call *call = call_get("/x");
	origin_wait_requests(2);
	clock_advance(3500);
	call_expect(call, 200, "old");
	barrier_open(go);
	wait_until(origin_answers_for("/x") == 2);
	clock_settle();
	call = call_get("/x");
	origin_wait_requests(3);
	clock_advance(3500);
	expect(!call_is_done(call));
	barrier_open(again);
	call_expect(call, 404, "gone");
}

SCENARIO("a fresh copy that a client had validated is contradicted too")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .status = 410, .body = "gone");
	origin_says("/x", .status = 500, .body = "oops");
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  client_directives: validate\n");
	get("/x");
	expect_answer(get_with("/x", "Cache-Control: no-cache\r\n"), 410, "gone");
	expect_answer(get("/x"), 500, "oops");
}

static const struct {
	const char *says, *fields;
} own[] = {
	{"a field that the key does not hold", "X-Break: 1\r\n"},
	{"a name of a browser that the origin hates", "User-Agent: evil\r\n"},
	{"a language", "Accept-Language: xx\r\n"},
	{"a cookie", "Cookie: a=b\r\n"},
	{"a password", "Authorization: Basic x\r\n"},
};
enum { OWN = sizeof own / sizeof *own };

SCENARIO("a stranger's own fields take away nobody's copy")
{
	for (int i = 0; i < OWN; i++)
		for (const char *swr = ""; swr; swr = *swr ? NULL : "w") {
			char *path = text("/%s%d", swr, i);
			origin_says(path,
				    .fields = *swr ? STALE(", stale-while-revalidate=600")
						   : STALE(""),
				    .etag = "\"1\"", .body = "old");
			origin_says(path, .status = 404, .body = "gone", .times = 2);
			origin_says(path, .status = 500, .body = "oops");
		}
	edge_start();
	for (int i = 0; i < OWN; i++) {
		note("%s", own[i].says);
		get(text("/%d", i));
		get(text("/w%d", i));
		expect_status(get_with(text("/%d", i), own[i].fields), 404);
		expect_status(get_with(text("/%d", i), own[i].fields), 404);
		expect_answer(get(text("/%d", i)), 200, "old");
		for (int n = 2; n <= 3; n++) {
			wait_until(get_with(text("/w%d", i), own[i].fields).status == 200 &&
				   origin_answers_for(text("/w%d", i)) >= n);
		}
		expect_answer(get(text("/w%d", i)), 200, "old");
	}
}

SCENARIO("two addresses that are told the same contradict the copy, whatever fields they send")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 404, .body = "gone", .times = 2);
	origin_says("/x", .status = 500, .body = "oops");
	edge_start();
	get("/x");
	client_from("127.0.0.2");
	expect_status(get_with("/x", "User-Agent: one\r\n"), 404);
	client_from("127.0.0.3");
	expect_status(get_with("/x", "User-Agent: two\r\n"), 404);
	expect_answer(get_with("/x", "User-Agent: two\r\n"), 500, "oops");
}

SCENARIO("two that are told otherwise each do not")
{
	origin_says("/x", .fields = STALE(""), .etag = "\"1\"", .body = "old");
	origin_says("/x", .status = 404, .body = "gone");
	origin_says("/x", .status = 403, .body = "no");
	origin_says("/x", .status = 500, .body = "oops");
	edge_start();
	get("/x");
	client_from("127.0.0.2");
	expect_status(get_with("/x", "User-Agent: one\r\n"), 404);
	client_from("127.0.0.3");
	expect_status(get_with("/x", "User-Agent: two\r\n"), 403);
	expect_answer(get_with("/x", "User-Agent: two\r\n"), 200, "old");
}

SCENARIO("a field that selects the variant is the key's own")
{
	origin_says("/x", .fields = STALE("") "Vary: Accept-Language\r\n", .etag = "\"1\"",
		    .body = "old");
	origin_says("/x", .status = 404, .body = "gone");
	origin_says("/x", .status = 500, .body = "oops");
	edge_start();
	get_with("/x", "Accept-Language: de\r\n");
	expect_status(get_with("/x", "Accept-Language: de\r\n"), 404);
	expect_answer(get_with("/x", "Accept-Language: de\r\n"), 500, "oops");
}

SCENARIO("what speaks of the request alone contradicts nothing")
{
	static const int statuses[] = {408, 421, 425, 429};
	enum { N = sizeof statuses / sizeof *statuses };
	for (int i = 0; i < N; i++) {
		char *path = text("/%d", statuses[i]);
		origin_says(path, .fields = STALE(""), .etag = "\"1\"", .body = "old");
		origin_says(path, .status = statuses[i], .body = "not now");
		origin_says(path, .status = 500, .body = "oops");
	}
	edge_start();
	for (int i = 0; i < N; i++) {
		char *path = text("/%d", statuses[i]);
		get(path);
		expect_status(get(path), statuses[i]);
		expect_answer(get(path), 200, "old");
	}
}

SCENARIO("a new page that is kept nowhere contradicts the copy too")
{
	enum { BYTES = 12 << 20 };
	for (int chunked = 0; chunked < 2; chunked++) {
		char *path = text("/%d", chunked);
		origin_says(path, .fields = STALE(""), .etag = "\"1\"", .body = "old");
		origin_says(path, .fields = "Cache-Control: max-age=600\r\n",
			    .pattern_bytes = BYTES, .chunked = chunked);
		origin_says(path, .status = 500, .body = "oops");
	}
	edge_start_yaml(
		"cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n  max_object: 1MiB\n");
	for (int chunked = 0; chunked < 2; chunked++) {
		char *path = text("/%d", chunked);
		get(path);
		struct answer a = get(path);
		expect_status(a, 200);
		expect(a.body_bytes == BYTES);
		expect_answer(get(path), 500, "oops");
	}
}
