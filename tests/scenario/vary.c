/* Variants: which requests an answer with Vary serves (RFC 9111 4.1). */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"

static const struct {
	const char *says, *vary, *first, *second;
	bool same;
} rows[] = {
	/* clang-format off */
	{ "the same value", "Foo", "Foo: 1\r\n", "Foo: 1\r\n", true },
	{ "another value", "Foo", "Foo: 1\r\n", "Foo: 2\r\n", false },
	{ "missing then there", "Foo", "", "Foo: 1\r\n", false },
	{ "there then missing", "Foo", "Foo: 1\r\n", "", false },
	{ "missing both times", "Foo", "", "", true },
	{ "a field not named does not count", "Foo", "Foo: 1\r\nBar: 1\r\n", "Foo: 1\r\nBar: 2\r\n", true },
	{ "names in any case", "fOO", "Foo: 1\r\n", "FOO: 1\r\n", true },
	{ "two fields, one differs", "Foo, Bar", "Foo: 1\r\nBar: 1\r\n", "Foo: 1\r\nBar: 2\r\n", false },
	{ "two fields in another order", "Foo, Bar", "Foo: 1\r\nBar: 2\r\n", "Bar: 2\r\nFoo: 1\r\n", true },
	{ "values cannot move between fields", "Foo, Bar", "Foo: 1\r\nBar: 2\r\n", "Foo: 2\r\nBar: 1\r\n", false },
	{ "lines are combined", "Foo", "Foo: 1, 2\r\n", "Foo: 1\r\nFoo: 2\r\n", true },
	{ "whitespace around commas does not count", "Foo", "Foo: 1,2\r\n", "Foo: 1 , 2\r\n", true },
	{ "Accept-Language in another order: origins go by it", "Accept-Language", "Accept-Language: en, de\r\n", "Accept-Language: de, en\r\n", false },
	{ "weights of codings make no variants", "Accept-Encoding", "Accept-Encoding: gzip;q=0.123\r\n", "Accept-Encoding: gzip;q=0.124\r\n", true },
	{ "nor do codings that nobody has", "Accept-Encoding", "Accept-Encoding: gzip, x1\r\n", "Accept-Encoding: x2, gzip\r\n", true },
	{ "Accept-Language in another case", "Accept-Language", "Accept-Language: en\r\n", "Accept-Language: EN\r\n", true },
	{ "Accept-Language with other weights", "Accept-Language", "Accept-Language: en;q=0.1, de\r\n", "Accept-Language: en, de;q=0.1\r\n", false },
	/* clang-format on */
};

SCENARIO("which requests a stored variant serves")
{
	enum { N = sizeof rows / sizeof *rows };
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = text(FRESH "Vary: %s\r\n", rows[i].vary),
			    .body = "x");
	edge_start();
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		get_with(text("/%d", i), rows[i].first);
		get_with(text("/%d", i), rows[i].second);
		bool same = origin_requests_for(text("/%d", i)) == 1;
		if (same == rows[i].same)
			continue;
		wrong++;
		note("%s: was %s", rows[i].says, same ? "served" : "fetched again");
	}
	expect_int(wrong, 0);
}

SCENARIO("many variants live side by side")
{
	enum { N = 12 };
	for (int i = 0; i < N; i++)
		origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = text("kind %d", i));
	edge_start();
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < N; i++)
			expect_answer(get_with("/v", text("X-Kind: %d\r\n", i)), 200,
				      text("kind %d", i));
	origin_expect_requests(N);
}

SCENARIO("the bound on variants of a URL holds over a restart")
{
	enum { N = 4 };
	for (int i = 0; i < N; i++)
		origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = text("kind %d", i));
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "one more");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "again");
	edge_yaml("cache:\n  variants: 4\nadmission:\n  sightings: 1\n");
	edge_start();
	for (int i = 0; i < N; i++)
		get_with("/v", text("X-Kind: %d\r\n", i));
	edge_restart();
	/* The first is asked for twice, so that it is not the least used. */
	for (int i = 0; i <= N; i++)
		expect_hit(get_with("/v", text("X-Kind: %d\r\n", i % N)));
	expect_answer(get_with("/v", "X-Kind: more\r\n"), 200, "one more");
	origin_expect_requests(N + 1);
	expect_hit(get_with("/v", "X-Kind: 0\r\n"));
	expect_answer(get_with("/v", "X-Kind: 1\r\n"), 200, "again");
}

SCENARIO("an unsafe method removes all variants")
{
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "old red");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "old blue");
	origin_says("/v", .body = "posted");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "new");
	edge_start();
	get_with("/v", "X-Kind: red\r\n");
	get_with("/v", "X-Kind: blue\r\n");
	expect_answer(ask("POST", "/v", NULL, "x"), 200, "posted");
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "new");
	expect_answer(get_with("/v", "X-Kind: blue\r\n"), 200, "new");
}

SCENARIO("an origin that begins to vary is not answered from what did not vary")
{
	origin_says("/v", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\nETag: \"1\"\r\n",
		    .body = "plain");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red");
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "blue");
	edge_start();
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "plain");
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "red");
	expect_answer(get_with("/v", "X-Kind: blue\r\n"), 200, "blue");
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "red");
}

SCENARIO("Accept-Encoding: what was asked for gzip is not served to who did not")
{
	origin_says("/v", .fields = FRESH "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n",
		    .body = "zipped");
	origin_says("/v", .fields = FRESH "Vary: Accept-Encoding\r\n", .body = "plain");
	origin_says("/v", .fields = FRESH "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n",
		    .body = "zipped");
	edge_start();
	expect_answer(get_with("/v", "Accept-Encoding: gzip, br\r\n"), 200, "zipped");
	expect_answer(get("/v"), 200,
		      "plain"); /* for that is no gzip, and from now on they are two */
	expect_answer(get_with("/v", "Accept-Encoding: br, gzip\r\n"), 200, "zipped");
	struct answer a = get_with("/v", "Accept-Encoding: gzip,br\r\n");
	expect_answer(a, 200, "zipped");
	expect_hit(a);
	expect_answer(get_with("/v", "Accept-Encoding: identity\r\n"), 200, "plain");
}

SCENARIO(
	"an origin whose answers vary on this, then on that: never the wrong one, whatever the order")
{
	/* The body says what the request was; Vary changes with every answer. */
	static const char *const vary[] = {"A", "A, B", "B", "A, B, C", ""};
	edge_start();
	unsigned seed = 1;
	int wrong = 0;
	for (int round = 0; round < 60; round++) {
		seed = seed * 1103515245 + 12345;
		int a = seed >> 16 & 1, b = seed >> 17 & 1, v = (int)(seed >> 18) % 4;
		char *fields = text("A: %d\r\nB: %d\r\n", a, b);
		origin_forget("/v");
		origin_says(
			"/v",
			.fields = text(
				"Cache-Control: max-age=600\r\nVary: %s\r\nX-A: %d\r\nX-B: %d\r\n",
				vary[v], a, b),
			.body = "x", .times = 99);
		struct answer x = get_with("/v", fields);
		const char *names = field(x, "Vary");
		bool right = (!strchr(names, 'A') || atoi(field(x, "X-A")) == a) &&
			     (!strchr(names, 'B') || atoi(field(x, "X-B")) == b);
		wrong += !right;
	}
	expect_int(wrong, 0);
}

SCENARIO("who waited for another variant finds the marker")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .etag = "\"a-rather-long-one\"",
		    .body = "one", .hold_head = go);
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "two");
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start();
	struct call *one = call_with("GET", "/v", "X-Kind: 1\r\n", NULL);
	origin_wait_requests(1);
	struct call *two = call_with("GET", "/v", "X-Kind: 2\r\n", NULL);
	edge_wait_requests(2);
	barrier_open(go);
	call_expect(one, 200, "one");
	call_expect(two, 200, "two");
	expect_hit(get_with("/v", "X-Kind: 1\r\n"));
	expect_hit(get_with("/v", "X-Kind: 2\r\n"));
	origin_expect_requests_for("/v", 2);
}

SCENARIO("who waits for a variant that turns out to vary on more asks for its own")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = FRESH "Vary: A\r\n", .body = "zero");
	origin_says("/v", .fields = FRESH "Vary: A, B\r\n", .body = "one", .hold_head = go);
	origin_says("/v", .fields = FRESH "Vary: A, B\r\n", .body = "two");
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start();
	get_with("/v", "A: 1\r\n");
	struct call *one = call_with("GET", "/v", "A: 2\r\nB: 1\r\n", NULL);
	origin_wait_requests(2);
	struct call *two = call_with("GET", "/v", "A: 2\r\nB: 2\r\n", NULL);
	edge_wait_stat("requests.joined", 1);
	barrier_open(go);
	call_expect(one, 200, "one");
	call_expect(two, 200, "two");
}

SCENARIO("answers that name different fields, or none, do not hide each other's variants")
{
	enum { N = 4, ROUNDS = 3 };
	static const char *const vary[] = {"Vary: X-A\r\n", "Vary: X-B\r\n", "",
					   "Vary: X-A, X-B\r\n"};
	/* The first two answers make the names known: X-A, then X-A and X-B. */
	origin_says("/v", .fields = FRESH "Vary: X-A\r\n", .body = "learning");
	origin_says("/v", .fields = FRESH "Vary: X-B\r\n", .body = "learning");
	for (int i = 0; i < N; i++)
		origin_says("/v", .fields = text(FRESH "%s", vary[i]), .body = text("kind %d", i));
	edge_start();
	get_with("/v", "X-A: first\r\n");
	get_with("/v", "X-A: second\r\nX-B: second\r\n");
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < N; i++)
			expect_answer(get_with("/v", text("X-A: %d\r\nX-B: %d\r\n", i, i)), 200,
				      text("kind %d", i));
	origin_expect_requests(2 + N);
}

SCENARIO("a 304 that names fewer fields still refreshes the variant")
{
	origin_says("/v", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\nVary: X-A, X-B\r\n",
		    .etag = "\"1\"", .body = "kind", .fields_304 = FRESH "Vary: X-A\r\n",
		    .times = 0);
	edge_start();
	get_with("/v", "X-A: 1\r\n");
	expect_answer(get_with("/v", "X-A: 1\r\n"), 200, "kind"); /* validated */
	expect_hit(get_with("/v", "X-A: 1\r\n"));
	origin_expect_requests(2);
}

SCENARIO("an answer that was under way does not hide the variants that were stored meanwhile")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = FRESH, .body = "does not vary", .hold_head = go);
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red");
	edge_start();
	/* A first request for a part leads no flight, so that the next one fetches beside it. */
	struct call *slow = call_with("GET", "/v", "Range: bytes=0-1\r\n", NULL);
	origin_wait_requests(1);
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "red");
	barrier_open(go);
	expect_status(call_wait(slow), 206);
	struct answer a = get_with("/v", "X-Kind: red\r\n");
	expect_answer(a, 200, "red");
	expect_hit(a);
	expect_answer(get("/v"), 200, "does not vary"); /* that was asked without X-Kind */
	origin_expect_requests(2);
}

SCENARIO("neither does one whose body was under way")
{
	struct barrier *go = barrier_new();
	origin_says("/v", .fields = FRESH, .body = "does not vary", .hold_body = go, .hold_at = 3);
	origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = "red");
	origin_says("/v", .fields = FRESH, .body = "does not vary", .times = 9);
	edge_start();
	struct client *slow = client_open();
	client_request(slow, "GET", "/v", "Range: bytes=0-1\r\n");
	expect_status(client_read_head(slow), 206);
	expect_answer(get_with("/v", "X-Kind: red\r\n"), 200, "red");
	barrier_open(go);
	char body[2];
	expect_int((long long)client_read_body(slow, body, 2), 2);
	for (int i = 0; i < 3; i++) {
		expect_answer(get("/v"), 200, "does not vary");
		struct answer a = get_with("/v", "X-Kind: red\r\n");
		expect_answer(a, 200, "red");
		expect_hit(a);
	}
}

SCENARIO("nothing that comes without Vary, or with another one, hides what is there")
{
	enum { KINDS = 4 };
	static const char *const others[] = {"X-Kind: 9\r\nX-Evil: 1\r\n",
					     "X-Kind: 9\r\nAuthorization: a\r\n"};
	for (int i = 0; i < KINDS; i++)
		origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .etag = text("\"%d\"", i),
			    .body = text("kind %d", i));
	edge_start();
	for (int i = 0; i < KINDS; i++)
		get_with("/v", text("X-Kind: %d\r\n", i));
	int heard = origin_requests();
	for (int i = 0; i < 2; i++) {
		static const char *const says[] = {"Vary: *\r\n" FRESH, FRESH,
						   FRESH "Vary: X-Other\r\n"};
		for (int s = 0; s < 3; s++)
			for (int status = 200; status <= 503; status += 101) {
				origin_forget("/v");
				origin_says("/v", .status = status, .fields = says[s],
					    .body = "evil");
				ask(i ? "HEAD" : "GET", "/v", others[i], NULL);
				heard++;
				for (int k = 0; k < KINDS; k++)
					expect_hit(get_with("/v", text("X-Kind: %d\r\n", k)));
			}
	}
	for (int k = 0; k < KINDS; k++)
		expect_answer(get_with("/v", text("X-Kind: %d\r\n", k)), 200, text("kind %d", k));
	/* Stored or not, each of the others was asked for at most once. */
	expect_between(origin_requests(), KINDS, heard);
}

SCENARIO("an answer that varies on what the cache asked for itself is not shared")
{
	origin_says("/range", .fields = FRESH "Vary: Range\r\n", .body = "for a range");
	origin_says("/range", .fields = FRESH "Vary: Range\r\n", .body = "for no range");
	origin_says("/old", .fields = "Cache-Control: max-age=0\r\nVary: If-None-Match\r\n",
		    .etag = "\"1\"", .body = "one");
	origin_says("/old", .fields = FRESH "Vary: If-None-Match\r\n", .body = "two");
	origin_says("/wish", .fields = FRESH "Vary: Cache-Control, Pragma\r\n", .body = "any");
	edge_start();
	expect_answer(get_with("/range", "Range: bytes=0-1\r\n"), 200, "for a range");
	expect_answer(get("/range"), 200, "for no range");
	expect_hit(get("/range"));
	get("/old");
	expect_answer(get("/old"), 200, "two");
	expect(!heard_field(origin_last(), "If-None-Match"));
	expect_hit(get("/old"));
	get_with("/wish", "Cache-Control: no-cache\r\nPragma: no-cache\r\n");
	expect(!heard_field(origin_last(), "Cache-Control"));
	expect(!heard_field(origin_last(), "Pragma"));
	expect_hit(get("/wish"));
}

SCENARIO("a name that one answer adds to Vary hides no variant of those who do not send that field")
{
	enum { KINDS = 5 };
	for (int i = 0; i < KINDS; i++)
		origin_says("/v", .fields = FRESH "Vary: X-Kind\r\n", .body = text("kind %d", i));
	edge_start();
	for (int i = 0; i < KINDS; i++)
		get_with("/v", text("X-Kind: %d\r\n", i));
	for (int i = 0; i < KINDS; i++) {
		origin_forget("/v");
		origin_says("/v", .fields = text(FRESH "Vary: X-Kind, X-Evil%d\r\n", i),
			    .body = "evil");
		get_with("/v", text("X-Kind: 9\r\nX-Evil%d: 1\r\n", i));
	}
	for (int i = 0; i < KINDS; i++) {
		struct answer a = get_with("/v", text("X-Kind: %d\r\n", i));
		expect_answer(a, 200, text("kind %d", i));
		expect_hit(a);
	}
	origin_expect_requests(2 * KINDS);
}

/* A hundred User-Agents, twice each: the answers of one URL to a stranger's many names. */
SCENARIO("variants of a URL are bounded: the popular one stays, and no other URL suffers")
{
	enum { MOST = 8, AGENTS = 100, OTHERS = 10 };
	origin_says("/v", .fields = FRESH "Vary: User-Agent\r\n", .pattern_bytes = 3000);
	for (int i = 0; i < OTHERS; i++)
		origin_says(text("/other%d", i), .fields = FRESH "Vary: Accept-Encoding\r\n",
			    .pattern_bytes = 3000);
	edge_start_yaml(EDGE_CACHE("  variants: 8\n"));
	for (int i = 0; i < OTHERS; i++)
		for (int twice = 0; twice < 2; twice++)
			get(text("/other%d", i));
	for (int i = 0; i < 3; i++)
		get_with("/v", "User-Agent: everybody\r\n");
	for (int i = 0; i < AGENTS; i++) {
		char *agent = text("User-Agent: stranger %d\r\n", i);
		get_with("/v", agent);
		get_with("/v", agent);
		if (i % 4 == 0)
			expect_hit(get_with("/v", "User-Agent: everybody\r\n"));
	}
	/* The newest of the others are there as well. */
	expect_hit(get_with("/v", text("User-Agent: stranger %d\r\n", AGENTS - 1)));
	expect_miss(get_with("/v", "User-Agent: stranger 0\r\n"));
	for (int i = 0; i < OTHERS; i++) {
		get(text("/other%d", i));
		origin_expect_requests_for(text("/other%d", i), 1);
	}
	/* With a marker for each URL that varies. */
	expect_between(edge_stat("disk.objects"), OTHERS, 2 * OTHERS + MOST + 1);
	expect_between(edge_stat("ram.objects"), 0, 2 * OTHERS + MOST + 1);
}
