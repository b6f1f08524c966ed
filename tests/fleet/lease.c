/* A node that is killed is a member until its lease is over; one that only stands still comes back. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("a node that was killed is silent at once, and gone when its lease is over")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL),
		    *c = node_start("c", NULL);
	nodes_wait(a, "a b c");
	nodes_wait(b, "a b c");
	engine_pause(); /* meanwhile nobody is removed */
	node_kill9(c);
	nodes_wait(a, "a b c?");
	engine_resume();
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect(node_said(a, "c (127.0.0.1:") && node_said(a, "is no member any more"));
	node_restart(c, NULL);
	nodes_wait(a, "a b c");
	nodes_end();
}

SCENARIO("a node that stood still for longer than its lease is a member again")
{
	if (!kit_long())
		skip("it takes ten seconds (TWICE_LONG)");
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	const char *id = node_id(b);
	node_pause(b);
	nodes_wait(a, "a b?");
	nodes_wait(a, "a");
	node_resume(b);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect_text(node_id(b), id);
	nodes_end();
}
