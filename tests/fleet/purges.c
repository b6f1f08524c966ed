/* A purge at any node is a purge at all. */
#include "tests/fleet/kit/nodes.h"

enum { NODES = 3 };
static struct node *of[NODES];

static void
start_all(const char *more)
{
	engine_start();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), more);
	for (int i = 0; i < NODES; i++) {
		nodes_wait(of[i], "a b c");
		wait_until(node_stat(of[i], "fleet.well") == NODES);
	}
}

static void
say(const char *target, const char *body)
{
	origin_forget(target);
	origin_says(target, .body = body, .times = 999,
		    .fields = "Cache-Control: max-age=1000\r\nSurrogate-Key: blue sky\r\n");
}

static bool
all_answer(const char *target, const char *body)
{
	for (int i = 0; i < NODES; i++)
		if (strcmp(node_get(of[i], target).body, body) != 0)
			return false;
	return true;
}

/* The origin's old answer is kept: at its owner, and for a while by others; the origin has a new one. */
static void
warm(const char *target)
{
	say(target, "old");
	for (int k = 0; k < 2; k++)
		expect(all_answer(target, "old"));
	say(target, "new");
	expect(all_answer(target, "old"));
}

/* For the next round. */
static void
forget(void)
{
	node_purges(of[0], "all=1");
}

SCENARIO("twice purge on one node purges on all, and says who has it")
{
	start_all(NULL);
	warm("/a");
	warm("/b");
	struct output o = node_purge(of[0], "http://example.com/a", "--wait=10s", NULL);
	expect_int(o.status, 0);
	expect_that(strstr(o.out, "on disk at b, c") || strstr(o.out, "on disk at c, b"), "%s",
		    o.out);
	expect(all_answer("/a", "new"));
	expect(all_answer("/b", "old"));
	expect(node_stat(of[1], "fleet.purges_heard") >= 1);
	nodes_end();
}

SCENARIO("all kinds of purges, by the admin server and by PURGE, reach all nodes")
{
	static const char *const orders[] = {
		"url=http://example.com/d/a",
		"prefix=http://example.com/d/",
		"host=example.com",
		"tag=sky",
		"all=1",
	};
	start_all(NULL);
	for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++) {
		warm("/d/a");
		node_purges(of[i % NODES], orders[i]);
		expect(all_answer("/d/a", "new"));
		forget();
	}
	warm("/d/a");
	expect_status(node_ask(of[1], "PURGE", "/d/a", NULL), 200);
	wait_until(all_answer("/d/a", "new"));
	forget();
	warm("/d/a");
	expect_status(node_ask(of[2], "PURGE", "/", "Surrogate-Key: blue\r\n"), 200);
	wait_until(all_answer("/d/a", "new"));
	nodes_end();
}

SCENARIO("a copy at another node goes with its tag, though no client sees tags")
{
	nodes_cache("strip_tags: on");
	start_all(NULL);
	warm("/a");
	struct answer a = node_get(of[0], "/a");
	expect_no_field(a, "Surrogate-Key");
	node_purges(of[1], "tag=sky");
	expect(all_answer("/a", "new"));
	nodes_end();
}

SCENARIO("an unsafe request at any node invalidates at all, whichever owns the URL")
{
	start_all(NULL);
	for (int k = 0; k < NODES; k++) {
		warm("/cart");
		origin_forget("/cart");
		origin_says("/cart", .status = 204, .fields = "Cache-Control: no-store\r\n");
		origin_says("/cart", .body = "new", .fields = "Cache-Control: max-age=1000\r\n",
			    .times = 999);
		double heard[NODES];
		for (int i = 0; i < NODES; i++)
			heard[i] = node_stat(of[i], "fleet.invalidations_heard");
		expect_status(node_ask(of[k], "POST", "/cart", "Content-Length: 0\r\n"), 204);
		int64_t begun = kit_now_ms();
		/* Its owner may not have heard of it yet, and of that answer no copy is kept. */
		for (int i = 0; i < 3; i++)
			expect_status(node_get(of[k], "/cart"), 200);
		for (int i = 0; i < NODES; i++)
			wait_until(i == k ||
				   node_stat(of[i], "fleet.invalidations_heard") > heard[i]);
		expect(all_answer("/cart", "new"));
		note("node %d: new everywhere after %d ms", k, (int)(kit_now_ms() - begun));
		forget();
	}
	nodes_end();
}

SCENARIO("who stands still is named as silent, and has the purge when it goes on")
{
	start_all(NULL);
	warm("/a");
	node_pause(of[2]);
	struct output o = node_purge(of[0], "http://example.com/a", "--wait=3s", NULL);
	expect_int(o.status, 1);
	expect_that(strstr(o.out, "not heard of yet: c\n") && strstr(o.out, "on disk at b\n"), "%s",
		    o.out);
	expect_status(node_admin(of[1], "POST", "/purge?url=http://example.com/b&wait=100"), 202);
	node_resume(of[2]);
	wait_until(all_answer("/a", "new"));
	o = node_purge(of[0], "http://example.com/a", "--wait=10s", NULL);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	nodes_end();
}

SCENARIO("who is not there refuses, and has it when it is back, without an engine too")
{
	unsigned ports[2] = {edge_reserve_port(), edge_reserve_port()};
	for (int i = 0; i < 2; i++)
		of[i] = node_start(text("%c", 'a' + i),
				   text("  members: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n"
					"  listen: \"127.0.0.1:%u\"\n",
					ports[0], ports[1], ports[i]));
	for (int i = 0; i < 2; i++)
		wait_until(node_stat(of[i], "fleet.well") == 2);
	node_stop(of[1]);
	struct output o = node_purge(of[0], "http://example.com/a", "--wait", NULL);
	expect_that(o.status == 0 && strstr(o.out, "not running:"), "%s%s", o.out, o.err);
	node_restart(of[0], NULL);
	node_restart(of[1], NULL);
	wait_until(node_stat(of[1], "fleet.purges_heard") == 1);
	wait_until(node_stat(of[0], "fleet.purges_owed") == 0);
	o = node_purge(of[1], "http://example.com/b", "--wait=10s", NULL);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	node_expect_stat(of[0], "fleet.purges_heard", 1);
	nodes_end();
}
