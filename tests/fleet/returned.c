/* A node that was killed comes back elsewhere before its lease is over: it is no copy of itself. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("a node that was killed and comes back at another address keeps its id")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	const char *id = node_id(b), *address = node_address(b);
	node_kill9(b);
	node_restart(b, NULL); /* within its lease, at another port */
	expect(strcmp(node_address(b), address) != 0);
	wait_until(strstr(node_admin(a, "GET", "/fleet").body, node_address(b)) != NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect_text(node_id(b), id);
	expect(!node_said(b, "is a copy"));
	nodes_end();
}
