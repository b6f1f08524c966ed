/* Two zones of two nodes: each owns all keys once more, and knows what the other one has on disk. */
#include "tests/fleet/kit/nodes.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { NODES = 4, URLS = 16 };

static struct node *of[NODES]; /* a and b are in fra, c and d in ams */

static void
start_all(void)
{
	engine_start();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), i < 2 ? "  zone: fra\n" : "  zone: ams\n");
	for (int i = 0; i < NODES; i++)
		nodes_wait(of[i], "a b c d");
	for (int i = 0; i < NODES; i++)
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
}

static double
sum(const char *stat, int from)
{
	return node_stat(of[from], stat) + node_stat(of[from + 1], stat);
}

static void
expect_sum(const char *stat, int from, double value)
{
	nodes_expect_sum(of + from, 2, stat, value);
}

static bool
all_are_across(const struct node *n)
{
	for (int i = 0; i < URLS; i++)
		if (!*node_across(n, text("/%d", i)))
			return false;
	return true;
}

/* On disk in fra, and known to be so in ams. */
static void
fill_fra(void)
{
	for (int i = 0; i < 2 * URLS; i++)
		expect_answer(node_get(of[i % 2], text("/%d", i / 2)), 200, "hello");
	wait_until(sum("disk.objects", 0) == URLS);
	for (int i = 2; i < NODES; i++)
		wait_until(all_are_across(of[i]));
}

SCENARIO(
	"what one zone has on disk is not fetched by the other, and is written there when asked twice")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all();
	expect(sum("fleet.share", 0) == 1 && sum("fleet.share", 2) == 1);
	expect_int((int)node_stat(of[0], "fleet.zones"), 2);
	fill_fra();
	expect_int(origin_requests(), URLS);
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(of[2 + i % 2], text("/%d", i)), 200, "hello");
	expect_int(origin_requests(), URLS);
	expect_sum("hops.zone_asked", 2, URLS);
	expect_sum("hops.zone_answered", 2, URLS);
	expect_sum("hops.asked", 0, URLS);
	expect_sum("disk.objects", 2, 0);
	expect_sum("admission.taken_over", 2, 0);
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(of[2 + (i + 1) % 2], text("/%d", i)), 200, "hello");
	wait_until(sum("disk.objects", 2) == URLS);
	expect_sum("hops.zone_asked", 2, URLS);
	expect_sum("hops.zone_asked", 0, 0);
	expect_int(origin_requests(), URLS);
	struct output o = node_command(of[0], NULL, NULL);
	expect(strstr(o.out, "fra          a") && strstr(o.out, "ams          d"));
	nodes_end();
}

SCENARIO("of what varies another zone is asked for the variants that it has")
{
	static const char *const langs[] = {"Accept-Language: de\r\n", "Accept-Language: fr\r\n"};
	origin_says("*", .fields = FRESH "Vary: Accept-Language\r\n", .body = "hello");
	start_all();
	for (int i = 0; i < 2; i++) /* de: on disk */
		expect_answer(node_ask(of[i], "GET", "/x", langs[0]), 200, "hello");
	wait_until(sum("disk.objects", 0) == 2); /* and what it varies on */
	for (int i = 2; i < NODES; i++)
		wait_until(*node_across(of[i], "/x"));
	expect_answer(node_ask(of[2], "GET", "/x", langs[0]), 200, "hello");
	expect_int(origin_requests(), 1);
	expect_sum("hops.zone_answered", 2, 1);
	/* By now this zone knows that it varies. */
	expect_answer(node_ask(of[2], "GET", "/x", langs[1]), 200, "hello");
	expect_int(origin_requests(), 2);
	expect_sum("hops.zone_asked", 2, 1);
	nodes_end();
}

SCENARIO("a large body comes from another zone whole")
{
	enum { BYTES = 5 << 20, OBJECTS = 5 + 1 }; /* and the head */
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = 7, .etag = "\"v\"",
		    .ranges = true);
	start_all();
	for (int i = 0; i < 2; i++)
		expect_status(node_get(of[i], "/big"), 200);
	expect_sum("disk.objects", 0, OBJECTS);
	for (int i = 2; i < NODES; i++)
		wait_until(*node_across(of[i], "/big"));
	int before = origin_requests();
	struct answer a = node_get(of[2], "/big");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 7, 0, BYTES));
	expect_int(origin_requests(), before);
	expect_sum("hops.zone_answered", 2, 1);
	nodes_end();
}

SCENARIO("another zone is not asked for what its digests do not have")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all();
	for (int i = 2; i < NODES; i++)
		wait_until(node_stat(of[i], "fleet.digests") == 2);
	for (int i = 0; i < URLS; i++) /* in RAM, and not on disk */
		expect_answer(node_get(of[0], text("/%d", i)), 200, "hello");
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(of[2], text("/%d", i)), 200, "hello");
	expect_int(origin_requests(), 2 * URLS);
	expect_sum("hops.zone_asked", 2, 0);
	nodes_end();
}

SCENARIO("a purge in one zone is one in all, whatever digests say")
{
	origin_says("*", .fields = FRESH, .body = "hello", .times = URLS);
	origin_says("*", .fields = FRESH, .body = "new");
	start_all();
	fill_fra();
	expect_answer(node_get(of[2], "/0"), 200, "hello");
	struct output o = node_purge(of[0], "--all", "--wait=10s", NULL);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	expect(strstr(o.out, "c") && strstr(o.out, "d"));
	for (int i = 0; i < URLS; i++)
		expect_answer(node_get(of[2], text("/%d", i)), 200, "new");
	expect(sum("hops.zone_in_vain", 2) > 0);
	expect_sum("hops.zone_answered", 2, 1);
	nodes_end();
}

SCENARIO("a zone that is gone, or stands still, costs the other one a fetch from the origin")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_all();
	fill_fra();
	for (int i = 0; i < 2; i++)
		node_pause(of[i]);
	for (int i = 0; i < URLS / 2; i++)
		expect_answer(node_get(of[2], text("/%d", i)), 200, "hello");
	for (int i = 0; i < 2; i++)
		node_kill9(of[i]);
	for (int i = URLS / 2; i < URLS; i++)
		expect_answer(node_get(of[2], text("/%d", i)), 200, "hello");
	expect_int(origin_requests(), 2 * URLS);
	expect_sum("hops.zone_answered", 2, 0);
	if (kit_long()) { /* a lease */
		nodes_wait(of[2], "c d");
		wait_until(node_stat(of[2], "fleet.digests") == 0 &&
			   node_stat(of[2], "fleet.zones") == 1);
	}
	nodes_end();
}

SCENARIO("a node goes to another zone by a reload, and owns all keys there")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	wait_until(node_share(a, "a") < 60 && node_share(a, "b") < 60);
	expect(!strstr(node_command(a, NULL, NULL).out, "zone"));
	node_reload(b, "  zone: ams\n");
	wait_until(node_share(a, "a") == 100 && node_share(a, "b") == 100);
	nodes_wait(b, "a b");
	wait_until(node_stat(b, "fleet.zones") == 2);
	struct output o = node_command(b, NULL, NULL);
	expect(strstr(o.out, "-            a") && strstr(o.out, "ams          b"));
	expect_text(node_owner(a, "/x"), "a");
	expect_text(node_owner(b, "/x"), "b");
	nodes_end();
}
