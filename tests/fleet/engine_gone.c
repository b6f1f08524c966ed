/* The engine is gone: a node that starts knows who the others are, and orders are refused. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("a node that starts while the engine is gone knows the members of before")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect_int(node_command(a, "drain", "a").status, 0);
	nodes_wait(b, "a* b");
	engine_kill();
	node_restart(b, text("  listen: \"%s\"\n", node_address(b)));
	nodes_wait(b, "a* b");
	expect_between(node_share(b, "b"), 100, 100);
	struct output o = node_command(b, "undrain", "a");
	expect_int(o.status, 1);
	expect(strstr(o.err, "the engine does not answer") != NULL);
	engine_start(); /* with nothing of what it knew, orders to drain among it */
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	nodes_end();
}
