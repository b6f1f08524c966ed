/* The engine stands still, is gone, or comes back with nothing: the members stay as they are. */
#include "tests/fleet/kit/nodes.h"

static bool
is_degraded(const struct node *n)
{
	struct answer a = node_admin(n, "GET", "/healthz");
	expect_status(a, 200);
	return strstr(a.body, "degraded: the engine of the fleet cannot be used") != NULL;
}

SCENARIO("while the engine stands still nobody is removed, and nobody behind it either")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect(!is_degraded(a));
	engine_pause();
	wait_until(is_degraded(a) && is_degraded(b));
	nodes_wait(a, "a b");
	double beats = node_stat(a, "fleet.beats"), changes = node_stat(a, "fleet.changes");
	engine_resume();
	wait_until(!is_degraded(a) && !is_degraded(b));
	wait_until(node_stat(a, "fleet.beats") > beats + 2);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect(node_stat(a, "fleet.changes") == changes);
	nodes_end();
}

SCENARIO("an engine that has lost its data makes no ring of those who beat first")
{
	if (!kit_long())
		skip("it takes ten seconds (TWICE_LONG)");
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL),
		    *c = node_start("c", NULL);
	nodes_wait(a, "a b c");
	nodes_wait(b, "a b c");
	nodes_wait(c, "a b c");
	double changes = node_stat(a, "fleet.changes");
	engine_ask("FLUSHALL");
	wait_until(node_said(a, "the engine has lost its data"));
	double beats = node_stat(a, "fleet.beats");
	wait_until(node_stat(a, "fleet.beats") > beats + 6);
	nodes_wait(a, "a b c");
	expect(node_stat(a, "fleet.changes") == changes);
	nodes_end();
}
