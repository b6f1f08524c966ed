/* Forwarding loops end after one turn; nodes of one name in a row are none. */
#include "tests/kit/kit.h"

/* Another node: its own installation, in a directory of its own. */
static unsigned
node(const char *dir, unsigned port, unsigned to)
{
	return edge_beside(text("listen: 127.0.0.1:%u\nadmin: off\nworkers: 1\n"
				"origins: http://127.0.0.1:%u\n"
				"cache:\n  dir: %%D/%s\n  disk: 64MiB\n  memory: 8MiB\n",
				port, to, dir));
}

static void
expect_loop(const char *method, const char *target, const char *body)
{
	struct answer a = ask(method, target, NULL, body);
	expect_status(a, 508);
	expect_that(a.body_bytes < 1000, "%zu bytes", a.body_bytes);
}

SCENARIO("two nodes that point at each other: 508 after one turn")
{
	unsigned ours = edge_reserve_port();
	unsigned other = node("other", 0, ours);
	edge_yaml(text("listen: 127.0.0.1:%u\norigins: http://127.0.0.1:%u\n", ours, other));
	edge_start();
	expect_loop("GET", "/x", NULL);
	edge_expect_stat("requests.total", 2); /* the client's, and the same when it came back */
	edge_expect_stat("origin.requests", 1);
	expect_loop("GET", "/x", NULL); /* nothing was kept */
	expect_loop("POST", "/x", "body");
	expect_loop("HEAD", "/y", NULL);
	expect_loop("OPTIONS", "/y", NULL);
	edge_expect_stat("requests.total", 10);
	edge_expect_stat("origin.requests", 5);
	origin_expect_requests(0);
}

SCENARIO("three nodes in a circle: 508 after one turn, wherever it began")
{
	unsigned ours = edge_reserve_port();
	unsigned second = node("second", 0, ours), third = node("third", 0, second);
	edge_yaml(text("listen: 127.0.0.1:%u\norigins: http://127.0.0.1:%u\n", ours, third));
	edge_start();
	expect_loop("GET", "/x", NULL);
	edge_expect_stat("requests.total", 2);
	struct client *c = client_open_to(second);
	client_request(c, "GET", "/x", NULL);
	expect_status(client_read(c, "GET"), 508);
	edge_expect_stat("requests.total", 3);
}

SCENARIO("a node that points at itself by another name: 508 after one turn")
{
	unsigned ours = edge_reserve_port();
	/* The check of the configuration asks no name service. */
	edge_yaml(text("listen: 127.0.0.1:%u\norigins: http://LOCALHOST:%u\n", ours, ours));
	edge_start();
	expect_loop("GET", "/x", NULL);
	edge_expect_stat("requests.total", 2);
	edge_expect_stat("origin.requests", 1);
	/* Connection cannot take Via away on the way round. */
	struct answer a = get_with("/y", "Connection: Via, close\r\n");
	expect_status(a, 508);
	edge_expect_stat("requests.total", 4);
}

SCENARIO("an edge before a shield is no loop, though both have the same name and the same machine")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	unsigned shield = node("shield", 0, origin_port());
	edge_yaml(text("origins: http://127.0.0.1:%u\n", shield));
	edge_start();
	expect_answer(get("/x"), 200, "hello");
	origin_expect_requests(1);
	const char *via = heard_field(origin_last(), "Via");
	expect_that(via && strstr(via, ", 1.1 twice-"), "Via: %s", via);
	expect_answer(get("/x"), 200, "hello");
	expect_answer(ask("POST", "/y", NULL, "a"), 404, NULL);
	origin_expect_requests(2);
}

SCENARIO("a directory that was copied to another node does not make it the same node")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	edge_start();
	get("/x");
	edge_stop();
	const char *copy = text("%s/copy", kit_dir());
	expect_int(program("cp", "-r", edge_cache_dir(), copy).status, 0);
	unsigned at = edge_reserve_port();
	unsigned shield =
		edge_beside(text("listen: 127.0.0.1:%u\nadmin: off\nworkers: 1\norigins: %%O\n"
				 "cache:\n  dir: %s\n  disk: 64MiB\n  memory: 8MiB\n",
				 at, copy));
	expect_int(shield, at);
	edge_yaml(text("origins: http://127.0.0.1:%u\n", shield));
	edge_start();
	expect_answer(get("/x"), 200, "hello");
}
