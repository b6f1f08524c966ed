/* One report for all nodes: what clients saw of the fleet, each request once. */
#include "tests/fleet/kit/nodes.h"

#include <jansson.h>

#define FRESH "Cache-Control: max-age=600\r\n"

enum { NODES = 3 };

static struct node *of[NODES];
static int asked, hits; /* as clients counted them */

static void
start_all(const char *more)
{
	engine_start();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), more);
	for (int i = 0; i < NODES; i++)
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
}

static struct answer
count(struct answer a)
{
	const char *status = field(a, "Cache-Status");
	asked++;
	hits += status && strstr(status, "; hit") != NULL;
	return a;
}

static json_t *
stats(const struct node *n)
{
	struct answer a = node_admin(n, "GET", "/fleet?stats=1");
	expect_status(a, 200);
	json_t *json = json_loadb(a.body, a.body_bytes, 0, NULL);
	expect_that(json != NULL, "no JSON: %s", a.body);
	return json;
}

/* "sum.requests.total", "nodes.0.node" */
static json_t *
at(json_t *json, const char *path)
{
	for (char *rest = strdup(path), *key; json && (key = strsep(&rest, "."));)
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
					   : json_object_get(json, key);
	expect_that(json != NULL, "%s is missing", path);
	return json;
}

static double
number(json_t *json, const char *path)
{
	return json_number_value(at(json, path));
}

/* Some are asked for once, some often, by any node. */
static void
ask_some(void)
{
	for (int i = 0; i < 120; i++)
		count(node_get(of[i * 7 % NODES], text("/%d", i * i % 59)));
}

SCENARIO(
	"the sum over all nodes has as many requests and hits as clients counted, asked of any node")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all(NULL);
	ask_some();
	expect(hits > 40 && hits < asked);
	for (int i = 0; i < NODES; i++) {
		json_t *s;
		wait_until(number(s = stats(of[i]), "sum.bytes.from_cache") == 5 * hits);
		expect_int((int)number(s, "sum.requests.total"), asked);
		expect_int((int)number(s, "sum.requests.hits"), hits);
		expect_between(number(s, "sum.requests.hit_ratio"), (double)hits / asked - 1e-6,
			       (double)hits / asked + 1e-6);
		expect_int((int)number(s, "sum.origin.requests"), origin_requests());
		expect_int((int)number(s, "sum.origin.requests") +
				   (int)number(s, "sum.requests.hits"),
			   asked);
		expect_int((int)number(s, "sum.hops.sent"),
			   (int)number(s, "sum.hops.taken") + (int)number(s, "sum.hops.asked"));
		expect_int((int)json_array_size(at(s, "nodes")), NODES);
		expect_int((int)json_array_size(at(s, "silent")), 0);
		double shares = 0, total = 0;
		for (int k = 0; k < NODES; k++) {
			shares += number(s, text("nodes.%d.share", k));
			total += number(s, text("nodes.%d.numbers.requests.total", k));
		}
		expect_between(shares, 0.999, 1.001);
		expect_int((int)total, asked);
	}
	struct output o = node_twice(of[1], "stats", "--fleet", NULL, NULL);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "The 3 nodes of the fleet, summed up") &&
			    strstr(o.out, text("%d   in", asked)) &&
			    strstr(o.out, text("%.1f%%   RAM", 100.0 * hits / asked)),
		    "%s%s", o.out, o.err);
	o = node_twice(of[1], "stats", "--fleet", "--json", NULL);
	expect_int((int)number(json_loads(o.out, 0, NULL), "sum.requests.hits"), hits);
	o = node_twice(of[1], "stats", NULL, NULL, NULL);
	expect_that(strstr(o.out, "one of 3 nodes of a fleet"), "%s", o.out);
	nodes_end();
}

SCENARIO(
	"what another node had in its cache is a hit where its client is: whole, in part, confirmed")
{
	origin_says("/x", .fields = FRESH, .body = "0123456789", .etag = "\"v\"", .ranges = true);
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	node_get(owner, "/x");
	expect_answer(count(node_ask(other, "GET", "/x", "Range: bytes=2-4\r\n")), 206, "234");
	expect_answer(count(node_ask(other, "GET", "/x", "If-None-Match: \"v\"\r\n")), 304, "");
	expect_answer(count(node_ask(other, "HEAD", "/x", NULL)), 200, "");
	for (int i = 0; i < 4; i++) /* from the owner, and then from a copy */
		expect_answer(count(node_get(other, "/x")), 200, "0123456789");
	expect_int(hits, 7);
	wait_until(node_stat(other, "requests.total") == 7);
	node_expect_stat(other, "requests.hits", 7);
	node_expect_stat(other, "bytes.from_cache", 3 + 40);
	node_expect_stat(owner, "requests.hits", 0);
	expect_int(origin_requests(), 1);
	nodes_end();
}

SCENARIO("a body in slices is a hit where its client is, when its owner had all of it")
{
	enum { BYTES = 5 << 20 };
	origin_says("/large", .fields = FRESH, .etag = "\"v\"", .pattern_bytes = BYTES,
		    .ranges = true);
	start_all(NULL);
	struct node *owner = nodes_owner(of, "/large"), *other = nodes_other(of, owner);
	node_get(owner, "/large");
	node_expect_stat(owner, "ram.objects", BYTES / (1 << 20) + 1); /* slices and a head */
	int before = origin_requests();
	expect_status(node_get(other, "/large"), 200);
	wait_until(node_stat(other, "requests.total") == 1);
	expect_int(origin_requests(), before);
	node_expect_stat(other, "requests.hits", 1);
	node_expect_stat(other, "bytes.from_cache", BYTES);
	nodes_end();
}

SCENARIO("what a new owner takes over from the one before is a hit, and no node counts it twice")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	engine_start();
	of[0] = node_start("a", NULL);
	wait_until(node_stat(of[0], "fleet.journal_held") == 0);
	for (int i = 0; i < 40; i++)
		count(node_get(of[0], text("/%d", i)));
	expect_int(hits, 0);
	of[1] = node_start("b", NULL);
	for (int i = 0; i < 2; i++)
		wait_until(node_stat(of[i], "fleet.well") == 2 &&
			   node_stat(of[i], "fleet.journal_held") == 0);
	for (int i = 0; i < 40; i++)
		count(node_get(of[1], text("/%d", i)));
	expect_int(hits, 40);
	expect_int(origin_requests(), 40);
	wait_until(number(stats(of[0]), "sum.requests.total") == asked);
	wait_until(number(stats(of[0]), "sum.requests.hits") == hits);
	nodes_end();
}

SCENARIO("a node that is gone or stands still is named, and left out of the sum")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all(NULL);
	ask_some();
	const char *b = node_address(of[1]), *c = node_address(of[2]);
	engine_pause(); /* from here on nobody is removed */
	for (int i = 0; i < NODES; i++)
		wait_until(number(stats(of[0]), "sum.requests.total") == asked);
	double own = node_stat(of[0], "requests.total"), other = node_stat(of[1], "requests.total");
	node_kill9(of[2]);
	json_t *s;
	wait_until(json_array_size(at(s = stats(of[0]), "silent")) == 1);
	expect_text(json_string_value(at(s, "silent.0")), "c");
	expect_int((int)number(s, "sum.requests.total"), (int)(own + other));
	node_pause(of[1]);
	wait_until(json_array_size(at(s = stats(of[0]), "silent")) == 2);
	expect_int((int)number(s, "sum.requests.total"), (int)own);
	struct output o = node_twice(of[0], "stats", "--fleet", NULL, NULL);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "1 of the 3 nodes of the fleet are summed up here, without:") &&
			    strstr(o.out, text("b at %s: ", b)) &&
			    strstr(o.out, text("c at %s: ", c)),
		    "%s%s", o.out, o.err);
	node_resume(of[1]);
	engine_resume();
	nodes_end();
}

SCENARIO("a proxy that is in no fleet says so")
{
	edge_start();
	struct output o = program(edge_binary(), "stats", "--fleet", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_int(o.status, 1);
	expect_that(strstr(o.err, "in no fleet"), "%s", o.err);
}

SCENARIO("explain says which node owns a URL, and that the decision is made there")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	start_all(NULL);
	const char *url = "http://example.com/x", *name = node_owner(of[0], "/x");
	struct node *owner = nodes_owner(of, "/x"), *other = nodes_other(of, owner);
	struct output o = node_twice(other, "explain", url, NULL, NULL);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, text("owner    %s at %s\n", name, node_address(owner))) &&
			    strstr(o.out, "then     ") && strstr(o.out, ", this node") &&
			    strstr(o.out, "stored   nothing") &&
			    strstr(o.out, "a request would: ask the node that decides about it; "
					  "verdict elsewhere") &&
			    strstr(o.out, text("The node %s (%s) decides about it", name,
					       node_address(owner))),
		    "%s%s", o.out, o.err);
	node_get(other, "/x");
	node_get(other, "/x");
	o = node_twice(other, "explain", url, NULL, NULL);
	expect_that(strstr(o.out, "stored   RAM: ") && strstr(o.out, "a request would: answer;") &&
			    strstr(o.out, "The copy here is shown to that node again"),
		    "%s", o.out);
	o = node_twice(owner, "explain", url, NULL, NULL);
	expect_that(
		strstr(o.out, text("owner    %s at %s, this node\n", name, node_address(owner))) &&
			strstr(o.out, "This node decides about it"),
		"%s", o.out);
	nodes_end();
}
