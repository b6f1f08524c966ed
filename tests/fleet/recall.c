/* The engine is away when a node starts: the other members tell which purges it has missed, and only when all have does it
 * use its disk. */
#include "tests/fleet/kit/nodes.h"

enum { NODES = 3 };

static struct node *of[NODES];
static unsigned ports[NODES];

static const char *
lines_of(int i)
{
	return text("  listen: \"127.0.0.1:%u\"\n", ports[i]);
}

static bool
is_held(const struct node *n)
{
	return node_stat(n, "fleet.journal_held") == 1;
}

/* All have read the journal, and remember from there on. */
static void
start_all(void)
{
	engine_start();
	for (int i = 0; i < NODES; i++) {
		ports[i] = edge_reserve_port();
		of[i] = node_start(text("%c", 'a' + i), lines_of(i));
	}
	for (int i = 0; i < NODES; i++) {
		nodes_wait(of[i], "a b c");
		wait_until(node_stat(of[i], "fleet.well") == NODES && !is_held(of[i]));
	}
}

static const char *
owned_by_c(const char *stem)
{
	for (int i = 0;; i++) {
		const char *target = text("/%s%d", stem, i);
		if (strcmp(node_owner(of[0], target), "c") == 0)
			return target;
	}
}

static int warmed;

/* On the disk of c, and nowhere else. */
static const char *
warm(const char *stem)
{
	const char *target = owned_by_c(stem);
	origin_says(target, .body = "old", .fields = "Cache-Control: max-age=1000\r\n",
		    .times = 999);
	for (int k = 0; k < 2; k++)
		expect_status(node_get(of[2], target), 200);
	expect_hit(node_get(of[2], target));
	node_expect_stat(of[2], "disk.objects", ++warmed);
	node_expect_stat(of[2], "disk.pending_bytes", 0);
	return target;
}

/* One is purged in each scenario, the other is not. */
static const char *gone, *stays;

static void
start_warm(void)
{
	start_all();
	gone = warm("gone");
	stays = warm("stays");
}

/* It uses its disk, by the word of the others, and has kept what was not purged. */
static void
expect_told(void)
{
	wait_until(!is_held(of[2]));
	expect(node_said(of[2], "the 2 other members have told"));
	expect_miss(node_get(of[2], gone));
	expect_hit(node_get(of[2], stays));
	expect(node_stat(of[2], "fleet.journal_emptied") == 0);
}

static struct answer
purge(struct node *n, const char *target)
{
	return node_admin(n, "POST", text("/purge?url=http://example.com%s&wait=2000", target));
}

SCENARIO("while the engine is away a node that starts uses its disk when all others have told it")
{
	start_warm();
	node_stop(of[2]);
	engine_kill();
	expect_status(purge(of[0], gone), 202);
	node_restart(of[2], NULL);
	expect_told();
	nodes_end();
}

SCENARIO(
	"a purge that the journal has had, and one of the node that is gone to rest, are told as well")
{
	start_warm();
	const char *one = warm("one");
	node_stop(of[2]);
	node_purges_url(of[1], one);
	engine_kill();
	expect_status(purge(of[1], gone), 202);
	node_restart(of[2], NULL);
	expect_told();
	expect_miss(node_get(of[2], one));
	nodes_end();
}

SCENARIO("with one member that does not answer the disk is not used")
{
	start_warm();
	node_stop(of[2]);
	engine_kill();
	node_pause(of[1]);
	node_restart(of[2], NULL);
	wait_until(node_said(of[2], "b (127.0.0.1:") &&
		   node_said(of[2], "nothing is answered from the disk until the engine is back"));
	expect(is_held(of[2]));
	expect_miss(node_get(of[2], stays));
	node_resume(of[1]);
	nodes_end();
}

SCENARIO("two nodes that start at once while the engine is away wait for the journal both")
{
	start_warm();
	node_kill9(
		of[1]); /* they are members, as all know; whoever leaves well may be gone for the others */
	node_kill9(of[2]);
	engine_kill();
	node_restart(of[1], NULL);
	node_restart(of[2], NULL);
	/* The other one may have missed purges itself; or a member, or all of them, came a moment before the end. */
	wait_until(node_said(of[1], "cannot: ") || node_said(of[2], "cannot: "));
	expect(is_held(of[1]) && is_held(of[2]));
	expect_miss(node_get(of[2], stays));
	nodes_end();
}

SCENARIO("one after the other all nodes restart while the engine is away, and keep their disks")
{
	start_warm();
	engine_kill();
	expect_status(purge(of[0], gone), 202);
	for (int i = 0; i < NODES; i++) {
		node_restart(of[i], NULL);
		wait_until(!is_held(of[i]));
	}
	expect_told();
	nodes_end();
}

SCENARIO("a node that no other one counts as a member hears of purges while it goes by their word")
{
	start_warm();
	node_stop(of[2]);
	nodes_wait(of[0], "a b");
	nodes_wait(of[1], "a b");
	engine_kill();
	node_restart(of[2], "  listen: \"127.0.0.1:0\"\n");
	wait_until(!is_held(of[2]));
	expect_hit(node_get(of[2], gone));
	struct answer a = purge(of[1], gone);
	expect_status(a, 202);
	expect_that(strstr(a.body, "\"c\"") != NULL, "%s", a.body);
	expect_miss(node_get(of[2], gone));
	expect_hit(node_get(of[2], stays));
	nodes_end();
}

SCENARIO("when the engine comes back in the middle, the journal is read, and decides")
{
	start_warm();
	node_stop(of[2]);
	node_purges_url(of[0], gone);
	engine_pause();
	node_pause(of[1]);
	node_restart(of[2], NULL);
	wait_until(node_said(of[2], "nothing is answered from the disk until the engine is back"));
	engine_resume();
	wait_until(!is_held(of[2]));
	expect(!node_said(of[2], "other members have told"));
	node_resume(of[1]);
	expect_miss(node_get(of[2], gone));
	expect_hit(node_get(of[2], stays));
	nodes_end();
}

SCENARIO(
	"an engine that comes back empty gets the purges of a node that went by the others' word, and empties none")
{
	start_warm();
	node_stop(of[2]);
	engine_kill();
	expect_status(purge(of[0], gone), 202);
	node_restart(of[2], NULL);
	wait_until(!is_held(of[2]));
	engine_start();
	wait_until(node_stat(of[2], "fleet.journal_renewed") == 1);
	for (int i = 0; i < NODES; i++)
		nodes_wait(of[i], "a b c");
	wait_until(purge(of[1], gone).status == 200); /* members have a lease's time to come back */
	expect_hit(node_get(of[2], stays));
	for (int i = 0; i < NODES; i++)
		expect(node_stat(of[i], "fleet.journal_emptied") == 0);
	nodes_end();
}

SCENARIO("where nobody else is a member nobody can know, and the journal is waited for")
{
	engine_start();
	of[0] = node_start("a", NULL);
	nodes_wait(of[0], "a");
	wait_until(!is_held(of[0]));
	node_stop(of[0]);
	engine_kill();
	node_restart(of[0], NULL);
	wait_until(node_said(of[0], "cannot be used"));
	expect(is_held(of[0]));
	engine_start();
	wait_until(!is_held(of[0]));
	nodes_end();
}
