/* A request goes from the node that has it to the node that owns its URL. */
#include "tests/fleet/kit/nodes.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { NODES = 3, URLS = 24 };

static struct node *of[NODES];

static void
start_all(const char *more)
{
	engine_start();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), more);
	for (int i = 0; i < NODES; i++)
		nodes_wait(of[i], "a b c");
	for (int i = 0; i < NODES; i++)
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
}

static double
sum(const char *stat)
{
	double n = 0;
	for (int i = 0; i < NODES; i++)
		n += node_stat(of[i], stat);
	return n;
}

SCENARIO("asked once at each of three nodes, a URL is fetched once, and admitted where it belongs")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all(NULL);
	for (int i = 0; i < URLS; i++)
		for (int k = 0; k < NODES; k++)
			expect_answer(node_get(of[k], text("/%d", i)), 200, "hello");
	expect_int(origin_requests(), URLS);
	nodes_expect_sum(of, NODES, "hops.taken", 2 * URLS);
	nodes_expect_sum(of, NODES, "hops.failed", 0);
	nodes_expect_sum(of, NODES, "requests.total", NODES * URLS);
	nodes_expect_sum(of, NODES, "admission.seen_current", URLS);
	nodes_expect_sum(of, NODES, "disk.objects", URLS);
	nodes_end();
}

SCENARIO("what goes from node to node is what the client asked for: ranges, conditions, HEAD, none")
{
	origin_says("/x", .fields = FRESH, .body = "0123456789", .etag = "\"v\"", .ranges = true);
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	struct answer a = node_ask(other, "GET", "/x", "Cache-Control: only-if-cached\r\n");
	expect_status(a, 504);
	expect_answer(node_get(owner, "/x"), 200, "0123456789");
	a = node_ask(other, "GET", "/x", "Range: bytes=2-4\r\n");
	expect_answer(a, 206, "234");
	expect_field(a, "Content-Range", "bytes 2-4/10");
	a = node_ask(other, "GET", "/x", "If-None-Match: \"v\"\r\n");
	expect_answer(a, 304, "");
	expect_field(a, "ETag", "\"v\"");
	a = node_ask(other, "HEAD", "/x", NULL);
	expect_answer(a, 200, "");
	expect_field(a, "Content-Length", "10");
	a = node_ask(other, "GET", "/x", "Cache-Control: only-if-cached\r\n");
	expect_answer(a, 200, "0123456789");
	expect_int(origin_requests(), 1);
	expect_no_field(a, "Twice-Hop");
	nodes_end();
}

SCENARIO("of what a node asks for twice in a row it keeps a copy")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	start_all(NULL);
	struct node *other = nodes_other(of, nodes_owner(of, "/x"));
	for (int i = 0; i < 5; i++)
		expect_answer(node_get(other, "/x"), 200, "hello");
	node_expect_stat(other, "hops.sent", 2);
	node_expect_stat(other, "requests.ram_hits", 3);
	expect_int(origin_requests(), 1);
	nodes_end();
}

SCENARIO(
	"Cache-Status names both nodes, Age is the owner's, and the answer is changed by rules once")
{
	origin_says("/x", .fields = FRESH "Age: 100\r\n", .body = "hello");
	start_all("response_headers: { add: { X-Rule: \"1\" } }\n");
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	const char *names[] = {node_owner(of[0], "/x"), other == of[0] ? "a" : "b"};
	node_get(owner, "/x");
	struct answer a = node_get(other, "/x");
	expect_answer(a, 200, "hello");
	expect_text(field(a, "Cache-Status"),
		    text("%s; hit; ttl=500; detail=ram, %s; fwd=uri-miss; fwd-status=200; "
			 "detail=elsewhere",
			 names[0], names[1]));
	expect_int(field_lines(a, "X-Rule"), 1);
	expect_int(field_lines(a, "Via"), 1);
	expect_field(a, "Age", "100");
	nodes_end();
}

SCENARIO("a field Twice-Hop of a client's own, or of an origin's, goes nowhere")
{
	origin_says("*", .fields = FRESH "Twice-Hop: 1;from=\"00000000000000ff\"\r\n",
		    .body = "hello");
	start_all(NULL);
	for (int i = 0; i < NODES; i++) {
		struct answer a =
			node_ask(of[0], i ? "GET" : "POST", text("/%d", i),
				 "Twice-Hop: 1;from=\"00000000000000ff\";at=1;for=\"1.2.3.4\"\r\n");
		expect_answer(a, 200, "hello");
		expect_no_field(a, "Twice-Hop");
		expect(!heard_field(origin_last(), "Twice-Hop"));
		expect_text(heard_field(origin_last(), "X-Forwarded-For"), "127.0.0.1");
	}
	nodes_end();
}

SCENARIO("an owner that is killed, and one that hangs, are gone round at once")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/0"), *asked = nodes_other(of, owner);
	node_get(asked, "/0");
	node_kill9(owner);
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(asked, text("/k%d", i)), 200, "hello");
	node_restart(owner, NULL);
	wait_until(node_stat(asked, "fleet.well") == NODES);
	node_pause(owner);
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(asked, text("/s%d", i)), 200, "hello");
	node_resume(owner);
	wait_until(node_stat(asked, "fleet.well") == NODES);
	nodes_end();
}

/* The head as the origin heard it, but for the name of the request. */
static const char *
head_without_id(const struct heard *h)
{
	char *head = strdup(h->head), *id = strstr(head, "X-Request-ID: ");
	expect(id != NULL);
	char *end = strchr(id, '\n');
	memmove(id, end + 1, strlen(end));
	return head;
}

SCENARIO("the origin hears the same head, whichever node a request comes to")
{
	static const char *const fields[] = {
		"",
		"Accept-Encoding: gzip;q=0.5, br, zstd\r\nUser-Agent: a/1.0\r\n",
		"Cookie: _ga=1; theme=dark\r\nAccept-Language: de, en;q=0.5\r\n",
		"X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\nForwarded: for=1.1.1.1\r\n",
		"Connection: X-Mine\r\nX-Mine: 1\r\nX-Twice: a\r\nX-Twice: b\r\n",
		"Via: 1.1 before\r\nX_Under: 1\r\nX-HTTP-Method-Override: PUT\r\nDNT: 1\r\n",
		"Authorization: Basic eDp5\r\n",
		"Authorization: Basic eDp5\r\nIf-Match: \"v\"\r\n",
		"Authorization: Basic eDp5\r\nIf-Range: \"v\"\r\n",
		"If-None-Match: \"other\"\r\nCache-Control: no-cache\r\nPragma: no-cache\r\n",
		"Range: bytes=5-9\r\nIf-Range: \"v\"\r\n",
	};
	enum { SETS = sizeof fields / sizeof *fields };
	origin_says("*", .fields = FRESH "Vary: Accept-Language\r\n", .body = "0123456789",
		    .etag = "\"v\"", .ranges = true);
	start_all("request_headers: { set: { X-Of: \"$client_address $scheme\" } }\n"
		  "routes: [ { path: \"/r/\", rewrite: { from: \"/r/(.*)\", to: \"/s/$1\" } } ]\n");
	for (int i = 0; i < SETS; i++) {
		const char *heard[NODES];
		for (int k = 0; k < NODES; k++) {
			/* One owner, and a URL that nobody has. */
			const char *target = text("/r/x?a=%d&b=%d", i, k);
			node_ask(of[k], i % 2 ? "HEAD" : "GET", target, fields[i]);
			heard[k] = head_without_id(origin_last());
			char *b = strstr((char *)(uintptr_t)heard[k], "&b=");
			expect(b != NULL);
			b[3] = '*';
		}
		expect_text(heard[1], heard[0]);
		expect_text(heard[2], heard[0]);
	}
	expect(sum("hops.taken") > SETS);
	nodes_end();
}

/* ---- random requests ------------------------------------------------------------------------ */

static const char *
one_of(const char *const *list, unsigned n)
{
	return list[(unsigned)rand() % n];
}
#define ONE_OF(...)                                \
	one_of((const char *const[]){__VA_ARGS__}, \
	       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Some of those lines; each may be there or not. */
static const char *
random_fields(void)
{
	static const char *const lines[] = {
		"User-Agent: a/1.0 (b; c)",
		"Accept: text/html, */*;q=0.1",
		"Accept-Encoding: br;q=0, gzip, zstd",
		"Accept-Language: de, en;q=0.5",
		"Cookie: _ga=1; theme=dark; x=\"y\"",
		"X-Forwarded-For: 9.9.9.9, 8.8.8.8",
		"X-Forwarded-Proto: https",
		"X-Forwarded-Host: other.example",
		"Forwarded: for=1.1.1.1;proto=https",
		"Via: 1.1 before, HTTP/2 other",
		"Connection: X-Mine",
		"X-Mine: 1",
		"X-Twice: a\r\nX-Twice: b",
		"x-lower:   spaces   ",
		"X_Under: 1",
		"X-Empty:",
		"Authorization: Basic eDp5",
		"If-None-Match: \"other\", W/\"v\"",
		"If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
		"Cache-Control: no-cache",
		"Cache-Control: max-age=0, x=\"y\"",
		"Cache-Control: no-store",
		"Pragma: no-cache",
		"Range: bytes=5-9",
		"If-Range: \"v\"",
		"If-Match: \"v\"",
		"If-Unmodified-Since: Sun, 06 Nov 2094 08:49:37 GMT",
		"TE: trailers",
		"Referer: http://example.com/?a=b",
		"X-HTTP-Method-Override: PUT",
		"DNT: 1",
		"Max-Forwards: 3",
		"Twice-Hop: 1;from=\"00000000000000ff\"",
	};
	char *all = text("%s", "");
	int odds = rand() % 2 ? 5 : 30;
	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++)
		if (rand() % odds == 0)
			all = text("%s%s\r\n", all, lines[i]);
	return all;
}

/* A URL that nobody has. */
static const char *
random_target(int number)
{
	char *path = text("/%s", ONE_OF("r", "R", "x", "%72"));
	for (int i = rand() % 4; i > 0; i--)
		path = text(
			"%s/%s", path,
			ONE_OF("a", "%41", "%C3%A9", ".", "..", "", "b%2Fc", "x;y=1", "~", "%7e"));
	return text("%s?%sn=%d%s", path, ONE_OF("", "b=2&a=1&", "A=%20&", "a&a&"), number,
		    ONE_OF("", "&z=%2f", "&utm_source=x", "&+"));
}

struct random_request {
	const char *method, *target, *host, *fields;
};

static struct answer
ask_at(unsigned port, const struct random_request *r)
{
	struct client *c = client_open_to(port);
	client_send(c, text("%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n", r->method, r->target, r->host,
			    r->fields, strcmp(r->method, "POST") ? "" : "Content-Length: 0\r\n"));
	struct answer a = client_read(c, r->method);
	client_close(c);
	return a;
}

/* Nodes of a fleet share a name in Via, and another proxy has its own. */
static const char *
head_without_names(const struct heard *h)
{
	char *head = strdup(head_without_id(h)), *name = strstr(head, "1.1 twice-");
	expect(name != NULL);
	memset(name + 10, '*', strcspn(name + 10, ",\r"));
	return head;
}

SCENARIO_IN(
	600,
	"of any request, by any node, the origin hears the head and the cache has the key that they have without a fleet")
{
	static const char rules[] =
		"request_headers: { set: { X-Of: \"$client_address $scheme $host\" } }\n"
		"routes: [ { path: \"/r/\", rewrite: { from: \"/r/(.*)\", to: \"/s/$1\" } } ]\n";
	unsigned seed = kit_long() ? (unsigned)kit_now_ms() : 7;
	int pairs = kit_long() ? 10000 : 300, hops = 0, kept = 0;
	note("seed %u", seed);
	srand(seed);
	origin_says("*", .fields = FRESH "Vary: Accept-Language\r\n", .body = "0123456789",
		    .etag = "\"v\"", .ranges = true, .times = 1 << 30);
	start_all(rules);
	edge_start_yaml(text("origins: [ { url: \"%%O\" } ]\n%s", rules));
	for (int i = 0; i < pairs; i++) {
		const struct random_request r = {
			ONE_OF("GET", "GET", "GET", "HEAD", "POST"), random_target(i),
			ONE_OF("example.com", "Example.COM", "example.com:80", "example.com:8080",
			       "other.example."),
			random_fields()};
		const struct node *first = of[rand() % NODES], *second = of[rand() % NODES];
		const char *says =
			text("pair %d: %s %s at %s\n%s", i, r.method, r.target, r.host, r.fields);
		int heard = origin_requests();
		struct answer alone = ask_at(edge_port(), &r), fleet;
		bool reached = origin_requests() > heard;
		const char *want = reached ? head_without_names(origin_last()) : "";
		heard = origin_requests();
		fleet = ask_at(node_port(first), &r);
		expect_that(alone.status == fleet.status, "%s%d, not %d", says, fleet.status,
			    alone.status);
		expect_that(reached == (origin_requests() > heard), "%sasked: %d", says, reached);
		const char *got = reached ? head_without_names(origin_last()) : "";
		expect_that(strcmp(want, got) == 0, "%sthe origin hears %s\nand not %s", says, got,
			    want);
		/* The same again: whether it is asked anew is a matter of the key. */
		heard = origin_requests();
		alone = ask_at(edge_port(), &r);
		int anew = origin_requests() - heard;
		heard = origin_requests();
		fleet = ask_at(node_port(second), &r);
		expect_that(alone.status == fleet.status && origin_requests() - heard == anew,
			    "%sagain: %d and %d requests, not %d and %d", says, fleet.status,
			    origin_requests() - heard, alone.status, anew);
		kept += !anew;
	}
	hops = (int)sum("hops.taken");
	note("%d pairs, %d requests from node to node, %d answered from a cache", pairs, hops,
	     kept);
	expect(hops > pairs / 2 && kept > pairs / 8);
	nodes_end();
}

SCENARIO("what is large comes in slices from its owner, from any node, and breaks off for nobody")
{
	enum { BYTES = 5 << 20, OBJECTS = 5 + 1 }; /* and the head */
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 7, .etag = "\"v\"",
		    .ranges = true);
	start_all(NULL);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < NODES; k++) {
			struct answer a = node_get(of[k], "/big");
			expect_status(a, 200);
			expect_int((long long)a.body_bytes, BYTES);
			expect(is_pattern(a.body, 7, 0, BYTES));
			if (i == 0 && k == 0) /* they are kept a moment behind the answer */
				nodes_expect_sum(of, NODES, "ram.objects", OBJECTS);
			a = node_ask(of[k], "GET", "/big", "Range: bytes=3000000-3000099\r\n");
			expect_status(a, 206);
			expect(a.body_bytes == 100 && is_pattern(a.body, 7, 3000000, 100));
		}
	expect_int(origin_requests(), 1);
	nodes_end();
}

SCENARIO("what a new node owns is asked of the node that had it, and written at once")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	engine_start();
	of[0] = node_start("a", NULL);
	nodes_wait(of[0], "a");
	wait_until(node_stat(of[0], "fleet.journal_held") == 0);
	for (int i = 0; i < URLS; i++)
		for (int k = 0; k < 2; k++)
			expect_answer(node_get(of[0], text("/%d", i)), 200, "hello");
	wait_until(node_stat(of[0], "disk.objects") == URLS &&
		   node_stat(of[0], "disk.pending_bytes") == 0);
	of[1] = node_start("b", NULL);
	nodes_wait(of[0], "a b");
	nodes_wait(of[1], "a b");
	wait_until(node_stat(of[1], "fleet.well") == 2 &&
		   node_stat(of[1], "fleet.journal_held") == 0);
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(of[1], text("/%d", i)), 200, "hello");
	expect_int(origin_requests(), URLS);
	double over = node_stat(of[1], "admission.taken_over"),
	       asked = node_stat(of[0], "hops.asked");
	expect_that(over > 0 && over == asked, "%g are taken over, %g were asked for", over, asked);
	wait_until(node_stat(of[1], "disk.objects") == over);
	nodes_end();
}

/* A client that waits for its answer. */
static struct client *
begin(const struct node *n, const char *target)
{
	struct client *c = client_open_to(node_port(n));
	client_send(c, text("GET %s HTTP/1.1\r\nHost: example.com\r\n\r\n", target));
	return c;
}

/* By the fleet's own clock: a beat is a second. */
static void
let_beats_pass(const struct node *n, int beats)
{
	double until = node_stat(n, "fleet.beats") + beats;
	wait_until(node_stat(n, "fleet.beats") >= until);
}

SCENARIO("an owner that waits for a slow origin is waited for, and one that stops meanwhile is not")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .body = "hello", .hold_head = go);
	origin_says("/x", .fields = FRESH, .body = "again");
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	struct client *c = begin(other, "/x");
	origin_wait_requests(1);
	let_beats_pass(other, 2);
	expect(!client_hears(c));
	expect_int(origin_requests(), 1);
	node_pause(owner);
	expect_answer(client_read(c, "GET"), 200, "again");
	node_resume(owner);
	barrier_open(go);
	nodes_end();
}

/* Its other nodes notice within some seconds, and ask the next owner, or the origin, for the rest. */
SCENARIO("of a body the rest comes from elsewhere, when its owner stands still in the middle")
{
	enum { SIZE = 300000, HALF = 100000 };
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = FRESH, .pattern_bytes = SIZE, .seed = 3, .etag = "\"x\"",
		    .hold_body = go, .hold_at = HALF, .ranges = true);
	origin_says("/x", .fields = FRESH, .pattern_bytes = SIZE, .seed = 3, .etag = "\"x\"",
		    .ranges = true);
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	struct client *c = begin(other, "/x");
	wait_until(node_stat(other, "bytes.from_siblings") >= HALF);
	node_pause(owner);
	struct answer a = client_read(c, "GET");
	expect_status(a, 200);
	expect(a.body_bytes == SIZE && is_pattern(a.body, 3, 0, SIZE));
	node_resume(owner);
	barrier_open(go);
	nodes_end();
}

SCENARIO("a request without a Host, by HTTP/1.0, is answered by any node")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all(NULL);
	for (int i = 0; i < 8; i++) {
		struct client *c = client_open_to(node_port(of[i % NODES]));
		client_send(c, text("GET /%d HTTP/1.0\r\n\r\n", i));
		expect_answer(client_read(c, "GET"), 200, "hello");
		expect_text(heard_field(origin_last(), "Via"),
			    text("1.0 %s", strchr(heard_field(origin_last(), "Via"), ' ') + 1));
		client_close(c);
	}
	expect(sum("hops.taken") > 0);
	nodes_end();
}

SCENARIO(
	"an error that the owner makes is the client's, with the name that its request has in the log")
{
	start_all(NULL);
	struct node *other = nodes_other(of, nodes_owner(of, "/x"));
	origin_dies();
	struct answer a = node_get(other, "/x");
	expect_status(a, 502);
	expect_int(field_lines(a, "X-Request-ID"), 1);
	expect(strstr(a.body, text("request id: %s", field(a, "X-Request-ID"))) != NULL);
	nodes_end();
}
