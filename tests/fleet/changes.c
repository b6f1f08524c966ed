/* A node changes while it runs: its settings, its program. */
#include "tests/fleet/kit/nodes.h"

#include <sys/prctl.h>

SCENARIO("a reload changes a node's weight and name, and its id stays")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	const char *id = node_id(b);
	node_reload(b, "  weight: 192MiB\n");
	wait_until(node_share(a, "b") > 70 && node_share(a, "b") < 80);
	double changes = node_stat(b, "fleet.changes");
	node_reload(b, "  weight: 192MiB\n"); /* nothing is made anew */
	expect(node_stat(b, "fleet.changes") >= changes);
	node_reload(b, "  weight: 192MiB\n  name: c\n");
	nodes_wait(a, "a c");
	expect(strstr(node_admin(b, "GET", "/fleet").body, id) != NULL);
	nodes_end();
}

SCENARIO("an upgrade is the same node: the others see no change of the ring")
{
	engine_start();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct node *a = node_start("a", NULL),
		    *b = node_start("b", text("  listen: \"127.0.0.1:%u\"\n", edge_reserve_port()));
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	const char *id = node_id(b);
	double changes = node_stat(a, "fleet.changes");
	node_upgrade(b);
	nodes_wait(b, "a b");
	expect_text(node_id(b), id);
	double beats = node_stat(b, "fleet.beats");
	wait_until(node_stat(b, "fleet.beats") > beats + 1);
	nodes_wait(a, "a b");
	expect(node_stat(a, "fleet.changes") == changes);
	expect(!node_said(a, "b (127.0.0.1:0) is no member"));
	nodes_end();
}
