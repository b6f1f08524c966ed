/* Without the secret nobody is a member, whatever else he can reach. */
#include "tests/fleet/kit/nodes.h"

#include <sys/prctl.h>
#include <unistd.h>

SCENARIO("a node with another secret is refused, told whose it is not, and serves alone")
{
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	struct node *b = node_start("b", text("  secret_file: %s\n", nodes_secret(false)));
	wait_until(node_said(b, "another fleet uses it, whose secret has the fingerprint"));
	wait_until(node_stat(b, "fleet.engine_away") == 1);
	expect_text(node_sees(b), "b");
	expect_text(node_sees(a), "a");
	nodes_end();
}

SCENARIO("records that nobody signed are no members")
{
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	engine_ask("HSET {twice:fleet}:nodes 00000000000000ff nonsense");
	engine_ask("HSET {twice:fleet}:brief 00000000000000ff x 1.2.3.4:5 7");
	engine_ask("HSET {twice:fleet}:drains 00000000000000ff nonsense");
	struct node *b = node_start("b", NULL); /* so that it is read again */
	wait_until(node_stat(a, "fleet.refused_records") == 2);
	nodes_wait(a, "a b");
	expect(node_said(a, "are not signed with this secret"));
	(void)b;
	nodes_end();
}

/* A request to where siblings ask; the status, 0: the connection was closed. */
static int
ask_sibling(const struct node *n, const char *from, const char *bytes)
{
	const char *port = strrchr(node_address(n), ':');
	client_from(from);
	struct client *c = client_open_to((unsigned)atoi(port + 1));
	client_from(NULL);
	client_send(c, bytes);
	struct answer a = client_try(c, "GET");
	client_close(c);
	return a.status;
}

SCENARIO("where siblings ask nobody else is answered")
{
	engine_start();
	struct node *a = node_start("a", "  networks: [ 127.0.0.1 ]\n");
	nodes_wait(a, "a");
	expect_int(ask_sibling(a, NULL, "GET /.twice/state HTTP/1.1\r\nHost: a\r\n\r\n"), 403);
	expect_int(ask_sibling(a, NULL, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 403);
	expect_int(
		ask_sibling(
			a, NULL,
			"GET /.twice/state HTTP/1.1\r\nHost: a\r\nTwice-Hop: "
			"1;from=\"00000000000000ff\";at=1790000000;mac=\"0123456789abcdef0123456789"
			"abcdef0123456789abcdef0123456789abcdef\"\r\n\r\n"),
		403);
	expect_int(ask_sibling(a, NULL, "GET /.twice/state\r\n\r\n"), 400);
	expect_int(ask_sibling(a, "127.0.0.2", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	expect(strcmp(node_sees(a), "a") == 0);
	nodes_end();
}

SCENARIO("one address has so many connections where siblings ask, and others are not in its way")
{
	enum { MOST = 1024, ALL = 1032 };
	struct client *of[ALL];
	int ended = 0;
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	const char *port = strrchr(node_address(a), ':');
	client_from("127.0.0.2");
	for (int i = 0; i < ALL; i++) {
		of[i] = client_open_to((unsigned)atoi(port + 1));
		if (i >= MOST)
			continue;
		client_send(of[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		expect_status(client_read(of[i], "GET"), 403);
	}
	client_from(NULL);
	for (int i = MOST; i < ALL; i++)
		expect_status(client_read(of[i], "GET"), 503);
	for (int i = 0; i < MOST; i++)
		ended += client_has_ended(of[i]);
	expect_int(ended, 0);
	struct node *b = node_start("b", NULL);
	nodes_wait(b, "a b");
	wait_until(node_stat(b, "fleet.well") == 2);
	nodes_end();
}

SCENARIO("another secret empties the cache once, and only once")
{
	engine_start();
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	expect(!node_said(a, "starting empty"));
	node_stop(a);
	engine_kill();
	engine_start();
	node_restart(a, text("  secret_file: %s\n", nodes_secret(false)));
	wait_until(node_said(
		a, "it belonged to another cache than that of this fleet: starting empty"));
	expect(!node_said(a, "damaged"));
	const char *id = node_id(a);
	node_restart(a, NULL);
	nodes_wait(a, "a");
	expect_text(node_id(a), id);
	struct output o = program("grep", "-c", "starting empty", text("%s/a.said", kit_dir()));
	expect_text(o.out, "1\n");
	nodes_end();
}

SCENARIO("what a fleet lacks is said before it starts")
{
	engine_start();
	const char *secret = nodes_secret(true);
	expect(strstr(node_refuses("a", "  secret_file: /nowhere\n"),
		      "fleet.secret_file: cannot read /nowhere"));
	expect_int(program("chmod", "644", nodes_secret(true)).status, 0);
	expect(strstr(node_refuses("b", text("  secret_file: %s\n", secret)), "chmod 640"));
	expect_int(program("chmod", "600", secret).status, 0);
	expect(strstr(node_refuses("c", "  listen: \"192.0.2.1:8443\"\n"), "fleet.listen"));
	expect(strstr(node_refuses("d", "  listen: \"0.0.0.0:8443\"\n"), "fleet.listen"));
	expect(strstr(node_refuses("e", "  engine: [ \"http://x\" ]\n"), "redis://HOST:PORT"));
	nodes_end();
}

SCENARIO("an upgrade to another secret is refused, for the directory is in use")
{
	engine_start();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct node *a = node_start("a", NULL);
	nodes_wait(a, "a");
	node_rewrite(a, text("  secret_file: %s\n", nodes_secret(false)));
	struct answer said = {0};
	expect_status(node_admin(a, "POST", "/upgrade"), 200);
	wait_until((said = node_admin(a, "GET", "/upgrade")).status == 200 &&
		   !strstr(said.body, "\"running\""));
	expect_that(strstr(said.body, "another seed than that of the fleet's secret") != NULL, "%s",
		    said.body);
	double beats = node_stat(a, "fleet.beats");
	wait_until(node_stat(a, "fleet.beats") > beats + 1);
	expect_text(node_sees(a), "a");
	expect(!node_said(a, "starting empty"));
	nodes_end();
}
