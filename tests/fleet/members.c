/* Nodes find each other at an engine: who comes, who goes, who drains, and who is no member. */
#include "tests/fleet/kit/nodes.h"

SCENARIO("nodes join by starting and leave by stopping")
{
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	expect_between(node_share(a, "a"), 100, 100);
	struct node *b = node_start("b", NULL), *c = node_start("c", "  weight: 128MiB\n");
	nodes_wait(a, "a b c");
	nodes_wait(b, "a b c");
	nodes_wait(c, "a b c");
	expect_between(node_share(a, "c"), 47, 53); /* the others have 64 MiB each */
	expect_between(node_share(a, "b"), 23, 27);
	for (int i = 0; i < 3; i++) { /* the same rings on all */
		const char *of = text("%c", 'a' + i);
		expect(node_share(a, of) == node_share(b, of));
		expect(node_share(a, of) == node_share(c, of));
	}
	const char *id = node_id(b);
	node_stop(b); /* and says so: nobody waits for its lease */
	expect_text(engine_ask(text("HEXISTS {twice:fleet}:nodes %s", id)), "0\n");
	nodes_wait(a, "a c");
	nodes_wait(c, "a c");
	node_restart(b, NULL);
	nodes_wait(a, "a b c");
	nodes_end();
}

SCENARIO("a node that drains owns nothing, over its restart too, until undrain")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	struct output o = node_command(a, "drain", "b");
	expect_int(o.status, 0);
	nodes_wait(a, "a b*");
	nodes_wait(b, "a b*");
	expect_between(node_share(b, "b"), 0, 0);
	node_restart(b, NULL);
	nodes_wait(b, "a b*");
	expect_int(node_command(b, "undrain", node_id(b)).status, 0);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	o = node_command(a, "drain", "nobody");
	expect_int(o.status, 1);
	expect(strstr(o.err, "no member of the name or id \"nobody\"") != NULL);
	nodes_end();
}

SCENARIO("all nodes name the same owner of a URL")
{
	engine_start();
	struct node *a = node_start("a", NULL), *b = node_start("b", NULL);
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	for (int i = 0; i < 16; i++) {
		const char *target = text("/fleet?url=http://x.example.com/%d", i);
		struct answer of_a = node_admin(a, "GET", target),
			      of_b = node_admin(b, "GET", target);
		expect_status(of_a, 200);
		const char *owner = strstr(of_a.body, "\"owners\""),
			   *same = strstr(of_b.body, "\"owners\"");
		expect(owner && same && strncmp(strchr(owner, '{'), strchr(same, '{'), 30) == 0);
	}
	struct output o = node_command(a, "owner", "http://x.example.com/");
	expect_int(o.status, 0);
	expect(strstr(o.out, "owner    ") && strstr(o.out, "slot     "));
	expect_status(node_admin(a, "GET", "/fleet?url=nonsense"), 400);
	expect_status(node_admin(a, "POST", "/fleet"), 400);
	expect_status(node_admin(a, "GET", "/fleet?drain=a"), 400);
	nodes_end();
}
