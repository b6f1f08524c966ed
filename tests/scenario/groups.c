/* Several servers of a group, several groups: who is asked, who is left alone, and that a group that
 * fails takes no other along. The kit's origin has doors: door 2 hears "/x" as "@2/x". */
#include "tests/kit/kit.h"

#include <jansson.h>
#include <stdlib.h>

#define NO_STORE .fields = "Cache-Control: no-store\r\n"
#define SHORT	 .fields = "Cache-Control: max-age=600\r\n"

/* A group of doors 1, 2, ... n. */
static const char *
group(const char *name, unsigned from, unsigned to, const char *rules)
{
	const char *servers = "";
	for (unsigned i = from; i <= to; i++)
		servers = text("%s{ url: %s }%s", servers, origin_door(i), i < to ? ", " : "");
	return text("  - name: %s\n    servers: [ %s ]\n%s", name, servers, rules);
}

static int
heard_at(unsigned door)
{
	int n = 0;
	for (int i = 0, all = origin_requests(); i < all; i++)
		n += (unsigned)atoi(origin_request(i)->target + 1) == door &&
		     origin_request(i)->target[0] == '@';
	return n;
}

static void
all_say(unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		origin_says(text("@%u*", i), NO_STORE, .body = text("door %u", i));
}

static struct answer
stats(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET");
}

/* ---- who is asked ---------------------------------------------------------------------------- */

SCENARIO("round-robin: each server has its turn, by weight")
{
	all_say(1, 2);
	edge_start_yaml(text("origins:\n  - name: web\n    balance: round-robin\n    servers:\n"
			     "      - { url: %s, weight: 3 }\n      - url: %s\n",
			     origin_door(1), origin_door(2)));
	for (int i = 0; i < 40; i++)
		expect_status(get(text("/%d", i)), 200);
	expect_int(heard_at(1), 30);
	expect_int(heard_at(2), 10);
}

SCENARIO("least: who has the fewest requests under way is asked")
{
	struct barrier *go = barrier_new();
	all_say(1, 2);
	origin_says("@1/slow", NO_STORE, .hold_head = go, .body = "slow");
	origin_says("@2/slow", NO_STORE, .hold_head = go, .body = "slow");
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "")));
	struct call *slow = call_get("/slow");
	origin_wait_requests(1);
	unsigned busy = heard_at(1) ? 1 : 2;
	for (int i = 0; i < 10; i++)
		expect_answer(get(text("/%d", i)), 200, text("door %u", 3 - busy));
	barrier_open(go);
	call_expect(slow, 200, "slow");
}

SCENARIO("hash: a URL has its server, and a server that goes moves only its own")
{
	enum { N = 40 };
	unsigned before[N], moved = 0;
	all_say(1, 3);
	edge_start_yaml(text("origins:\n%s", group("web", 1, 3, "    balance: hash\n")));
	for (int i = 0; i < N; i++) {
		struct answer a = get(text("/%d", i));
		before[i] = (unsigned)atoi(a.body + 5);
		expect_answer(get(text("/%d", i)), 200, text("door %u", before[i]));
	}
	origin_door_dies(2);
	for (int i = 0; i < N; i++) {
		struct answer a = get(text("/%d", i));
		expect_status(a, 200);
		moved += (unsigned)atoi(a.body + 5) != before[i];
		expect(before[i] == 2 || (unsigned)atoi(a.body + 5) == before[i]);
	}
	expect_between(moved, 1, N - 1);
}

SCENARIO("a backup is asked when nobody else may be")
{
	all_say(1, 2);
	edge_start_yaml(text("origins:\n  - name: web\n    servers:\n"
			     "      - { url: %s, backup: on }\n      - { url: %s }\n",
			     origin_door(1), origin_door(2)));
	for (int i = 0; i < 10; i++)
		expect_answer(get("/x"), 200, "door 2");
	origin_door_dies(2);
	for (int i = 0; i < 10; i++)
		expect_answer(get("/x"), 200, "door 1");
}

/* ---- who is left alone ----------------------------------------------------------------------- */

SCENARIO("a server that answers 503 five times in a row is left alone, and /stats says why")
{
	all_say(1, 2);
	origin_says("@1/x", .status = 503, NO_STORE, .body = "busy");
	clock_hold(); /* it is left alone for a second */
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	for (int i = 0; i < 5; i++)
		expect_answer(get("/x"), 503, "busy");
	expect_answer(get("/x"), 200, "door 2");
	json_t *top = json_loads(stats().body, 0, NULL);
	json_t *first = json_array_get(json_object_get(top, "origins"), 0);
	expect(strcmp(json_string_value(json_object_get(first, "group")), "web") == 0);
	expect(strcmp(json_string_value(json_object_get(first, "state")), "out") == 0);
	expect(strcmp(json_string_value(json_object_get(first, "why")), "503") == 0);
	expect_between(json_real_value(json_object_get(first, "returns_in_s")), 0, 1);
	json_decref(top);
	wait_until(edge_said("is left alone for a while: 503"));
}

enum { MANY = 30 };

static void
first_is_busy_at(const char *paths)
{
	for (int i = 0; i < MANY; i++)
		origin_says(text("@1%s%d", paths, i), .status = 503, NO_STORE, .body = "busy");
}

SCENARIO("a URL at which servers answer 503 has none left alone while they answer others")
{
	all_say(1, 2);
	first_is_busy_at("/x?");
	clock_hold();
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	for (int round = 0; round < 3; round++, clock_advance(1000)) {
		expect_answer(get("/fine"), 200, "door 1");
		for (int i = 0; i < MANY; i++)
			expect_answer(get(text("/x?%d", i)), 503, "busy");
	}
	expect_answer(get("/fine"), 200, "door 1");
	expect(!edge_said("is left alone"));
}

static struct answer
get_from(unsigned client, const char *path)
{
	return get_with(path, text("X-Forwarded-For: 192.0.2.%u\r\n", client));
}

SCENARIO("one client at many URLs has no server left alone while others are answered; several have")
{
	all_say(1, 2);
	first_is_busy_at("/x");
	clock_hold();
	edge_start_yaml(text("forwarded:\n  trust: [ 127.0.0.0/8 ]\norigins:\n%s",
			     group("web", 1, 2, "    balance: order\n")));
	for (int round = 0; round < 3; round++, clock_advance(1000)) {
		expect_answer(get_from(2, "/fine"), 200, "door 1");
		for (int i = 0; i < MANY; i++)
			expect_answer(get_from(1, text("/x%d", i)), 503, "busy");
	}
	expect_answer(get_from(2, "/fine"), 200, "door 1");
	unsigned others = 0;
	while (others < MANY && get_from(10 + others, text("/x%u", others)).status == 503)
		others++;
	expect_between(others, 4, MANY - 1); /* the first client's failures speak too now */
	wait_until(edge_said("is left alone for a while: 503"));
}

SCENARIO("a server that fails most clients is left alone, though one is answered all the time")
{
	bool out = false;
	all_say(1, 2);
	first_is_busy_at("/x");
	clock_hold();
	edge_start_yaml(text("forwarded:\n  trust: [ 127.0.0.0/8 ]\norigins:\n%s",
			     group("web", 1, 2, "    balance: order\n")));
	for (unsigned i = 0; i < MANY && !out; i++) {
		struct answer a = get_from(200, "/fine");
		out = strcmp(a.body, "door 2") == 0;
		if (!out)
			get_from(i, text("/x%u", i));
	}
	expect(out);
}

SCENARIO(
	"a server that fails all that one client asks for is left alone, though it was well before")
{
	all_say(2, 2);
	origin_says("@1*", NO_STORE, .body = "door 1", .times = 3);
	origin_says("@1*", .status = 503, NO_STORE, .body = "busy");
	clock_hold();
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	for (int i = 0; i < 3; i++)
		expect_answer(get(text("/%d", i)), 200, "door 1");
	clock_advance(1000);
	for (int i = 0; i < 5; i++)
		expect_answer(get(text("/%d", i)), 503, "busy");
	expect_answer(get("/0"), 200, "door 2");
}

SCENARIO("one server of two is asked all the same when both are dead, and known when it is back")
{
	all_say(1, 2);
	clock_hold();
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	origin_door_dies(1);
	origin_door_dies(2);
	for (int i = 0; i < 12; i++)
		expect_status(get("/x"), 502);
	wait_until(edge_said("half of its group is left alone already"));
	origin_door_returns(2);
	for (int i = 0; i < 12; i++)
		expect_answer(get("/x"), 200, "door 2");
	wait_until(edge_said("answers again"));
}

/* ---- retries --------------------------------------------------------------------------------- */

SCENARIO("a GET that a server hangs up on is answered by another, a POST is not sent twice")
{
	all_say(2, 2);
	origin_says("@1*", .raw = "", .reset = true);
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	expect_answer(get("/x"), 200, "door 2");
	expect_status(ask("POST", "/p", NULL, "body"), 502);
	expect_int(origin_requests_for("@2/p"), 0);
	expect_int(origin_requests_for("@1/p"), 1);
	edge_expect_stat("origin.retries", 1);
}

SCENARIO("a POST whose server refuses the connection is answered by another")
{
	all_say(1, 2);
	edge_start_yaml(text("origins:\n%s", group("web", 1, 2, "    balance: order\n")));
	origin_door_dies(1);
	expect_answer(ask("POST", "/p", NULL, "body"), 200, "door 2");
	expect(strcmp(origin_last()->body, "body") == 0);
}

SCENARIO("retries: 0 asks nobody else, and the last server's own answer reaches the client")
{
	all_say(1, 2);
	origin_says("@2/last", .status = 503, NO_STORE, .body = "the second's own page");
	edge_start_yaml(text("origins:\n%s%sroutes: [ { path: /none/, origin: none } ]\n",
			     group("one", 1, 2, "    balance: order\n"),
			     group("none", 3, 4, "    balance: order\n    retries: 0\n")));
	origin_door_dies(1);
	origin_door_dies(3);
	expect_answer(get("/last"), 503, "the second's own page");
	expect_status(get("/none/x"), 502);
	expect_int(heard_at(4), 0);
}

/* ---- routes choose the group ----------------------------------------------------------------- */

#define ROUTES                                                      \
	"routes:\n"                                                 \
	"  - { host: www.example.com, path: /api/, origin: api }\n" \
	"  - { host: \"*.example.com\", origin: web }\n"            \
	"  - { path: /static/, origin: files }\n"

static struct answer
get_of(const char *host, const char *path)
{
	struct client *c = client_open();
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host));
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

static void
three_groups(void)
{
	for (unsigned i = 1; i <= 4; i++)
		origin_says(text("@%u*", i), SHORT, .body = text("door %u", i));
	edge_start_yaml(text("origins:\n%s%s%s%s" ROUTES, group("rest", 1, 1, ""),
			     group("web", 2, 2, ""), group("api", 3, 3, ""),
			     group("files", 4, 4, "")));
}

/* clang-format off */
static const struct {
	const char *host, *path, *from;
} choices[] = {
	{"www.example.com", "/api/1", "door 3"},
	{"www.example.com", "/api", "door 2"},
	{"WWW.Example.COM.:80", "/api/2", "door 3"},
	{"a.b.example.com", "/api/1", "door 2"},
	{"example.com", "/api/1", "door 1"},
	{"example.com", "/static/1", "door 4"},
	{"a.example.com", "/static/1", "door 2"},
	{"www.example.com.evil.net", "/api/1", "door 1"},
};
/* clang-format on */

SCENARIO("routes choose the group by host, exact or below a name, and by path; the first wins")
{
	three_groups();
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
		for (int again = 0; again < 2; again++)
			expect_answer(get_of(choices[i].host, choices[i].path), 200,
				      choices[i].from);
}

/* A request that could be of two groups is not kept, or an odd spelling would fill the cache of
 * another group's URL with this group's answer. */
SCENARIO("a spelling that groups could read in two ways fills no other group's cache")
{
	static const char *const odd[] = {"/static/../x",
					  "/%73tatic/x",
					  "/static%2fx",
					  "/a/..%2fstatic/x",
					  "/static/%2e%2e/x",
					  "//static/x",
					  "/static/x%2fb/../../../x",
					  "/;p/static/x"};
	three_groups();
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		expect_miss(get_of("example.com", odd[i]));
	expect_answer(get_of("example.com", "/x"), 200, "door 1");
	expect_answer(get_of("example.com", "/static/x"), 200, "door 4");
	expect_answer(get_of("example.com", "/static/x"), 200, "door 4");
	expect_answer(get_of("example.com", "/x"), 200, "door 1");
}

/* ---- a group that fails takes no other along --------------------------------------------------- */

SCENARIO(
	"a hanging group fills its own queue, is refused with 503 and Retry-After, and no other waits")
{
	enum { CONNECTIONS = 2, QUEUE = 3, ROOM = CONNECTIONS + QUEUE };
	struct barrier *go = barrier_new();
	struct call *calls[ROOM];
	origin_says("@1*", NO_STORE, .hold_head = go, .body = "late");
	origin_says("@2*", NO_STORE, .body = "quick");
	edge_start_yaml(text("workers: 1\norigins:\n%s%s"
			     "routes: [ { path: /slow/, origin: slow } ]\n",
			     group("quick", 2, 2, ""),
			     group("slow", 1, 1,
				   "    max_connections: 2\n    queue: 3\n"
				   "    connect_timeout: 1m\n")));
	for (int i = 0; i < ROOM; i++)
		calls[i] = call_get(text("/slow/%d", i));
	edge_wait_stat("origin.active_fetches", ROOM);
	struct answer a = get("/slow/more");
	expect_status(a, 503);
	expect_verdict(a, "detail=queue-full");
	expect_field(a, "Retry-After", "1");
	for (int i = 0; i < 20; i++)
		expect_answer(get(text("/%d", i)), 200, "quick");
	edge_expect_stat("origin.refused", 1);
	expect_int(heard_at(1) <= CONNECTIONS, 1);
	barrier_open(go);
	for (int i = 0; i < ROOM; i++)
		call_expect(calls[i], 200, "late");
	expect_answer(get("/slow/again"), 200, "late");
}

SCENARIO("a full queue serves what is stale")
{
	struct barrier *go = barrier_new();
	origin_says("@1/x",
		    .fields = "Cache-Control: max-age=0, stale-if-error=600\r\nETag: \"a\"\r\n",
		    .body = "old");
	origin_says("@1*", NO_STORE, .hold_head = go, .body = "late");
	edge_start_yaml(
		text("workers: 1\norigins:\n%s", group("slow", 1, 1,
						       "    max_connections: 1\n    queue: 1\n"
						       "    connect_timeout: 1m\n")));
	expect_answer(get("/x"), 200, "old");
	struct call *a = call_get("/hang"), *b = call_get("/hang/2");
	edge_wait_stat("origin.active_fetches", 2);
	expect_answer(get("/x"), 200, "old");
	barrier_open(go);
	call_wait(a);
	call_wait(b);
}

enum { TICK_MS = 50 }; /* so often limits of time are looked at */

SCENARIO("first_byte_timeout is for the head, total_timeout for all of an answer")
{
	struct barrier *never = barrier_new();
	origin_says("@1*", .mute = true);
	origin_says("@2*", .body = "0123456789", .drip = 1, .hold_body = never, .hold_at = 5);
	clock_hold();
	edge_start_yaml(text("origins:\n%s%sroutes: [ { path: /total/, origin: total } ]\n",
			     group("head", 1, 1, "    first_byte_timeout: 200ms\n"),
			     group("total", 2, 2, "    total_timeout: 2s\n")));
	struct call *call = call_get("/x");
	origin_wait_requests(1);
	clock_advance(199);
	expect(!call_is_done(call));
	clock_advance(TICK_MS);
	struct answer a = call_wait(call);
	expect_status(a, 504);
	expect_verdict(a, "detail=read-timeout");
	struct client *c = client_open();
	char body[10];
	client_request(c, "GET", "/total/x", NULL);
	expect_status(client_read_head(c), 200);
	barrier_arrivals(never, 1);
	clock_advance(2000 + TICK_MS);
	expect_int((long long)client_read_body(c, body, sizeof body), 5);
}

SCENARIO("a server at a Unix socket, with one by TCP behind it")
{
	const char *socket = origin_door_unix(1);
	all_say(1, 2);
	edge_start_yaml(text("origins:\n  - name: app\n    balance: order\n    servers:\n"
			     "      - url: \"%s\"\n      - url: %s\n",
			     socket, origin_door(2)));
	expect_answer(get("/x"), 200, "door 1");
	expect(strcmp(heard_field(origin_last(), "Host"), "example.com") == 0);
	expect_answer(ask("POST", "/p", NULL, "body"), 200, "door 1");
	origin_door_dies(1);
	expect_answer(get("/x"), 200, "door 2");
}

SCENARIO("a socket that is not there is 502 connect-failed")
{
	edge_start_yaml("origins: [ \"unix:%D/nobody.sock\" ]\n");
	struct answer a = get("/x");
	expect_status(a, 502);
	expect_verdict(a, "detail=connect-failed");
}
