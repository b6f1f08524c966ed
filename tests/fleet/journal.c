/* The journal of purges: who was away reads it before anything is answered from the disk; it is lost, or older than it was. */
#include "tests/fleet/kit/nodes.h"

#include <sys/prctl.h>

static struct node *a, *b;
static const char *gone, *stays; /* owned by b */

static const char *
owned_by_b(const char *stem)
{
	for (int i = 0;; i++) {
		const char *target = text("/%s%d", stem, i);
		if (strcmp(node_owner(a, target), "b") == 0)
			return target;
	}
}

static void
say(const char *target)
{
	origin_says(target, .body = "text", .fields = "Cache-Control: max-age=1000\r\n",
		    .times = 999);
}

static void
start_two(void)
{
	engine_start();
	a = node_start("a", NULL);
	b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	wait_until(node_stat(a, "fleet.well") == 2 && node_stat(b, "fleet.well") == 2);
	wait_until(node_stat(a, "fleet.journal_held") == 0 &&
		   node_stat(b, "fleet.journal_held") == 0);
	say(gone = owned_by_b("gone"));
	say(stays = owned_by_b("stays"));
}

static int warmed;

/* Kept on the disk of b. */
static void
warm(const char *target)
{
	for (int k = 0; k < 2; k++)
		expect_status(node_get(b, target), 200);
	expect_hit(node_get(b, target));
	node_expect_stat(b, "disk.objects", ++warmed);
	node_expect_stat(b, "disk.pending_bytes", 0);
}

static struct answer
purge(struct node *n, const char *target)
{
	return node_admin(n, "POST", text("/purge?url=http://example.com%s&wait=2000", target));
}

static long
entries(void)
{
	return strtol(engine_ask("XLEN {twice:fleet}:purges"), NULL, 10);
}

SCENARIO(
	"a node that was away reads the journal before it answers from its disk, and keeps the rest")
{
	start_two();
	warm(gone);
	warm(stays);
	node_stop(b);
	node_purges_url(a, gone);
	node_stop(a);
	expect_int((int)entries(), 1);
	node_restart(b, NULL);
	expect_miss(node_get(b, gone));
	wait_until(node_stat(b, "fleet.journal_held") == 0);
	expect_hit(node_get(b, stays));
	expect(node_stat(b, "fleet.journal_emptied") == 0);
	expect(node_said(b, "writes nothing down (appendonly no)")); /* as the kit's engine does */
	nodes_end();
}

SCENARIO("where the journal is another one, a node that was away comes back empty")
{
	start_two();
	warm(gone);
	warm(stays);
	node_stop(b);
	node_purges_url(a, gone);
	node_stop(a);
	engine_ask("FLUSHALL");
	node_restart(b, NULL);
	wait_until(node_stat(b, "fleet.journal_held") == 0);
	expect_miss(node_get(b, gone));
	expect_miss(node_get(b, stays));
	expect(node_said(b, "the cache is emptied"));
	nodes_end();
}

SCENARIO("where the journal has lost its beginning, a node that was away comes back empty")
{
	start_two();
	warm(gone);
	warm(stays);
	node_stop(b);
	for (int i = 0; i < 3; i++)
		node_purges_url(a, gone);
	node_stop(a);
	engine_ask("XTRIM {twice:fleet}:purges MAXLEN 1");
	node_restart(b, NULL);
	wait_until(node_stat(b, "fleet.journal_held") == 0);
	expect_miss(node_get(b, stays));
	nodes_end();
}

SCENARIO(
	"an engine that came back older gets another journal with what was lost, and no node is emptied")
{
	start_two();
	warm(stays);
	for (int i = 0; i < 3; i++)
		node_purges_url(a, gone);
	wait_until(node_stat(b, "fleet.journal_entries") >= 3 &&
		   node_stat(a, "fleet.journal_entries") >= 3);
	const char *before = engine_ask("GET {twice:fleet}:journal");
	engine_ask("DEL {twice:fleet}:purges");
	wait_until(entries() >= 3);
	expect(strcmp(engine_ask("GET {twice:fleet}:journal"), before) != 0);
	wait_until(node_stat(a, "fleet.journal_renewed") == 1 &&
		   node_stat(b, "fleet.journal_renewed") == 1);
	node_purges_url(b, gone);
	expect_hit(node_get(b, stays));
	expect(node_stat(b, "fleet.journal_emptied") == 0);
	nodes_end();
}

SCENARIO("an engine that has lost all gets the journal of the last hour")
{
	start_two();
	warm(stays);
	for (int i = 0; i < 3; i++)
		node_purges_url(a, gone);
	engine_ask("FLUSHALL");
	wait_until(entries() >= 3);
	expect_hit(node_get(b, stays));
	expect(node_stat(b, "fleet.journal_emptied") == 0);
	nodes_end();
}

SCENARIO(
	"purges that the engine did not hear of are journaled when it is back, by a process that comes later too")
{
	start_two();
	warm(gone);
	engine_pause();
	struct answer said = purge(a, gone);
	expect_status(said, 202);
	expect(strstr(said.body, "\"journal\": false") && strstr(said.body, "\"has\": [\"b\"]"));
	expect_miss(node_get(b, gone));
	node_kill9(a);
	node_kill9(b);
	engine_resume();
	long before = entries(); /* it may have been on its way to the engine that stood still */
	node_restart(a, NULL);
	wait_until(entries() > before);
	node_restart(b, NULL);
	expect_miss(node_get(b, gone));
	wait_until(node_stat(b, "fleet.journal_held") == 0);
	expect(node_stat(b, "fleet.journal_emptied") == 0);
	nodes_end();
}

SCENARIO("entries that nobody signed are no purges")
{
	start_two();
	warm(stays);
	engine_ask("XADD {twice:fleet}:purges * p 0-0 n 00000000000000ff i nonsense m nonsense");
	engine_ask("XADD {twice:fleet}:purges * x y");
	wait_until(node_stat(b, "fleet.journal_refused") == 2);
	node_purges_url(a, gone);
	wait_until(node_stat(b, "fleet.journal_entries") == 1);
	expect_hit(node_get(b, stays));
	nodes_end();
}

SCENARIO("a process that takes another one's place goes on where that one stood")
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_two();
	warm(stays);
	node_purges_url(a, gone);
	node_upgrade(b);
	expect(!node_said(b, "nothing is answered from the disk"));
	expect(node_stat(b, "fleet.journal_held") == 0);
	node_purges_url(a, gone);
	node_purges_url(b, gone);
	expect(node_stat(b, "fleet.journal_emptied") == 0);
	nodes_end();
}

SCENARIO("who stood still longer than a lease reads the journal first")
{
	if (!kit_long())
		skip("it takes six seconds (TWICE_LONG)");
	start_two();
	warm(gone);
	node_pause(b);
	double beats = node_stat(a, "fleet.beats");
	expect_status(purge(a, gone), 202);
	wait_until(node_stat(a, "fleet.beats") > beats + 7);
	node_resume(b);
	wait_until(node_said(b, "this process stood still"));
	wait_until(node_stat(b, "fleet.journal_held") == 0);
	expect_miss(node_get(b, gone));
	nodes_end();
}
