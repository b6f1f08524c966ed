/* Two processes with one id, for one has a copy of the other's directory. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("a copied directory is the second of its id, takes a new one and says so")
{
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	const char *id = node_id(a);
	node_stop(a);
	struct node *b = node_copy(a, "b");
	node_restart(a, NULL);
	nodes_wait(a, "a");
	node_restart(b, NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	expect(node_said(b, "so this directory is a copy"));
	expect(!node_said(a, "is a copy"));
	expect_text(node_id(a), id);
	const char *its = node_id(b);
	expect(strcmp(its, id) != 0);
	node_restart(b, NULL); /* and keeps it */
	nodes_wait(a, "a b");
	expect_text(node_id(b), its);
	nodes_end();
}
