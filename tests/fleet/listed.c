/* Without an engine: the members are those of a list. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("without an engine the members are those of a list")
{
	unsigned ports[3] = {edge_reserve_port(), edge_reserve_port(), edge_reserve_port()};
	struct node *of[3];
	for (int i = 0; i < 3; i++)
		of[i] = node_start(
			text("%c", 'a' + i),
			text("  members: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n"
			     "  listen: \"127.0.0.1:%u\"\n",
			     ports[0], ports[1], ports[2], ports[i]));
	for (int i = 0; i < 3; i++)
		wait_until(node_stat(of[i], "fleet.well") == 3);
	expect_between(node_stat(of[0], "fleet.share"), 0.30, 0.37);
	struct output o = node_command(of[0], "drain", "a");
	expect_int(o.status, 1);
	expect(strstr(o.err, "fleet.engine") != NULL);
	node_kill9(of[2]);
	wait_until(node_stat(of[0], "fleet.well") == 2);
	expect_int((int)node_stat(of[0], "fleet.members"), 3);
	nodes_end();
}

SCENARIO("a name in the list stands for all its addresses")
{
	unsigned ports[2] = {edge_reserve_port(), edge_reserve_port()};
	struct node *of[2];
	for (int i = 0; i < 2; i++)
		of[i] = node_start(text("%c", 'a' + i),
				   text("  members: [ \"localhost:%u\", \"localhost:%u\" ]\n"
					"  listen: \"127.0.0.1:%u\"\n",
					ports[0], ports[1], ports[i]));
	/* localhost may have an address of IPv6 too, where no node listens. */
	for (int i = 0; i < 2; i++)
		wait_until(node_stat(of[i], "fleet.well") == 2 &&
			   node_stat(of[i], "fleet.share") > 0.2);
	nodes_end();
}
