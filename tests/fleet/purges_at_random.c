/* Purges of all kinds while nodes are killed and the engine loses all, or is away: once one is answered with 200, no node
 * answers what was purged; and where a node that was away starts, it does not either. */
#include "tests/fleet/kit/nodes.h"

#include <stdlib.h>

enum { NODES = 3, SHORT = 10, LONG = 200 };

static struct node *of[NODES];
static bool runs[NODES], engine_runs;

static void
say(int version)
{
	origin_forget("*");
	origin_says("*", .body = strdup(text("%d", version)), .times = 9999,
		    .fields = "Cache-Control: max-age=1000\r\nSurrogate-Key: t\r\n");
}

static bool
answers(int i, const char *target, int version)
{
	return atoi(node_get(of[i], target).body) == version;
}

static int
one_that_runs(void)
{
	int i;
	do
		i = rand() % NODES;
	while (!runs[i]);
	return i;
}

static void
restart(int i)
{
	node_restart(of[i], NULL);
	runs[i] = true;
}

/* Kept at its owner, and at others for a while; of a version that is the origin's no more. */
static void
warm(const char *target, int version)
{
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < NODES; i++)
			if (runs[i])
				node_get(of[i], target);
	say(version + 1);
}

static void
disturb_engine(void)
{
	if (engine_runs)
		engine_kill();
	else
		engine_start();
	engine_runs = !engine_runs;
}

static void
disturb(bool engine_dies)
{
	int i = rand() % NODES, left = 0;
	for (int k = 0; k < NODES; k++)
		left += runs[k];
	switch (rand() % 4) {
	case 0:
		if (runs[i] && left > 1) {
			node_kill9(of[i]);
			runs[i] = false;
		}
		break;
	case 1:
		if (!runs[i])
			restart(i);
		break;
	case 2:
		if (engine_dies)
			disturb_engine();
		else
			engine_ask(rand() % 2 ? "FLUSHALL" : "DEL {twice:fleet}:purges");
		break;
	default:
		break;
	}
}

static const char *
order(const char *target)
{
	switch (rand() % 5) {
	case 0:
		return "all=1";
	case 1:
		return "host=example.com";
	case 2:
		return "tag=t";
	case 3:
		return "prefix=http://example.com/";
	default:
		return text("url=http://example.com%s", target);
	}
}

static void
start_all(void)
{
	engine_start();
	engine_runs = true;
	for (int i = 0; i < NODES; i++) {
		/* A node that is killed comes back where it was. */
		of[i] = node_start(text("%c", 'a' + i),
				   text("  listen: \"127.0.0.1:%u\"\n", edge_reserve_port()));
		runs[i] = true;
	}
	nodes_wait(of[0], "a b c");
	say(0);
}

SCENARIO("whatever is killed, what was purged is answered by nobody from then on")
{
	int rounds = kit_long() ? LONG : SHORT, said = 0;
	srand(7);
	start_all();
	for (int r = 0; r < rounds; r++) {
		const char *target = text("/%d", r % 4);
		warm(target, r);
		disturb(false);
		struct answer a = node_admin(of[one_that_runs()], "POST",
					     text("/purge?%s&wait=3000", order(target)));
		expect_that(a.status == 200 || a.status == 202, "round %d: %d %s", r, a.status,
			    a.body);
		said += a.status == 200;
		for (int i = 0; i < NODES && a.status == 200; i++) {
			if (!runs[i])
				restart(i);
			expect_that(answers(i, target, r + 1), "round %d, node %c answers %s: %s",
				    r, 'a' + i, node_get(of[i], target).body, a.body);
		}
	}
	note("%d of %d were had by all", said, rounds);
	expect(said > rounds / 2);
	nodes_end();
}

SCENARIO_IN(
	300,
	"whatever is killed, and however long the engine is away, a node that starts answers nothing that was purged")
{
	int rounds = kit_long() ? LONG : 2 * SHORT, told = 0;
	unsigned seed = kit_long() ? (unsigned)kit_now_ms() : 8;
	note("seed %u", seed);
	srand(seed);
	start_all();
	for (int r = 0; r < rounds; r++) {
		const char *target = text("/%d", r % 4);
		warm(target, r);
		disturb(true);
		/* Each node that runs has it, or waits for the journal. */
		struct answer a = node_admin(of[one_that_runs()], "POST",
					     text("/purge?%s&wait=300", order(target)));
		expect_that(a.status == 200 || a.status == 202, "round %d: %d %s", r, a.status,
			    a.body);
		for (int i = 0; i < NODES; i++) {
			bool starts = !runs[i] && rand() % 2;
			if (starts)
				restart(i);
			/* One that started with an old file may not know it: that hears of it from others. */
			if (runs[i] && !starts && a.status == 202)
				wait_until(answers(i, target, r + 1));
			expect_that(!runs[i] || answers(i, target, r + 1),
				    "round %d, node %c, started %d, answers %s: %s", r, 'a' + i,
				    starts, node_get(of[i], target).body, a.body);
			told += starts && node_said(of[i], "other members have told");
		}
	}
	note("%d starts were of nodes that have gone by others' word", told);
	if (!engine_runs)
		engine_start();
	nodes_end();
}
