/* A Sentinel says where the engine is; when that one dies, its replica takes its place and the fleet follows. */
#include "tests/fleet/kit/nodes.h"
#include "tests/kit/inside.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

struct server {
	pid_t pid;
	unsigned port;
};

static struct server leader, replica, sentinel;

static const char *
command(const struct server *s, const char *a, const char *b, const char *c)
{
	return program("redis-cli", "-p", text("%u", s->port), a, b, c).out;
}

static void
spawn(struct server *s, const char *const *argv)
{
	int log = open(text("%s/servers.log", kit_dir()), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		       0600);
	s->pid = kit_spawn(argv, (const int[]){-1, log, log});
	close(log);
	wait_until(strcmp(command(s, "PING", NULL, NULL), "PONG\n") == 0);
}

static void
start_server(struct server *s, const struct server *of)
{
	s->port = edge_reserve_port();
	const char *port = text("%u", s->port), *dir = text("%s/%s", kit_dir(), port);
	expect_int(program("mkdir", dir).status, 0);
	spawn(s, (const char *const[]){"redis-server", "--port", port, "--bind", "127.0.0.1",
				       "--save", "", "--dir", dir, "--repl-diskless-sync-delay",
				       "0", of ? "--replicaof" : NULL, of ? "127.0.0.1" : NULL,
				       of ? text("%u", of->port) : NULL, NULL});
}

static void
start_sentinel(void)
{
	const char *path = text("%s/sentinel.conf", kit_dir());
	FILE *f = fopen(path, "we");
	expect(f != NULL);
	sentinel.port = edge_reserve_port();
	fprintf(f,
		"port %u\nbind 127.0.0.1\ndir %s\nsentinel monitor main 127.0.0.1 %u 1\n"
		"sentinel down-after-milliseconds main 60000\nsentinel failover-timeout main 3000\n",
		sentinel.port, kit_dir(), leader.port);
	expect(fclose(f) == 0);
	spawn(&sentinel, (const char *const[]){"redis-server", path, "--sentinel", NULL});
}

static void
stop(struct server *s)
{
	kill(s->pid, SIGKILL);
	expect_int(kit_reap(s->pid, KIT_FOREVER), -SIGKILL);
}

static struct answer
purge(struct node *n, const char *target)
{
	return node_admin(n, "POST", text("/purge?url=http://example.com%s&wait=2000", target));
}

SCENARIO("when the leader dies the fleet follows the Sentinel to the next one, and loses nothing")
{
	enum { NODES = 2, URLS = 8 };
	struct node *of[NODES];
	needs("redis-server");
	needs("redis-cli");
	start_server(&leader, NULL);
	start_server(&replica, &leader);
	start_sentinel();
	wait_until(strstr(command(&sentinel, "SENTINEL", "replicas", "main"),
			  text("%u", replica.port)));
	origin_says("*", .body = "text", .fields = "Cache-Control: max-age=1000\r\n", .times = 999);
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(
			text("%c", 'a' + i),
			text("  engine: [ \"sentinel://127.0.0.1:%u/main\" ]\n", sentinel.port));
	for (int i = 0; i < NODES; i++) {
		nodes_wait(of[i], "a b");
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
	}
	for (int k = 0; k < 2 * URLS; k++)
		expect_status(node_get(of[0], text("/%d", k % URLS)), 200);
	int fetched = origin_requests();
	node_purges_url(of[0], "/gone");
	wait_until(strcmp(command(&leader, "WAIT", "1", "100"), "1\n") == 0 &&
		   strcmp(command(&replica, "XLEN", "{twice:fleet}:purges", NULL), "1\n") == 0);
	const char *journal = command(&replica, "GET", "{twice:fleet}:journal", NULL);
	stop(&leader);
	/* From here on, for one that lives may be slow. */
	expect_text(program("redis-cli", "-p", text("%u", sentinel.port), "SENTINEL", "SET", "main",
			    "down-after-milliseconds", "300")
			    .out,
		    "OK\n");
	wait_until(purge(of[1], "/gone").status == 200);
	expect(strstr(command(&replica, "ROLE", NULL, NULL), "master") != NULL);
	expect(atoi(command(&replica, "XLEN", "{twice:fleet}:purges", NULL)) >= 2);
	expect_text(command(&replica, "GET", "{twice:fleet}:journal", NULL), journal);
	double beats[NODES];
	for (int i = 0; i < NODES; i++)
		beats[i] = node_stat(of[i], "fleet.beats");
	for (int i = 0; i < NODES; i++) {
		wait_until(node_stat(of[i], "fleet.engine_away") == 0 &&
			   node_stat(of[i], "fleet.beats") > beats[i] + 1);
		nodes_wait(of[i], "a b");
		expect(node_stat(of[i], "fleet.journal_emptied") == 0);
		expect(node_stat(of[i], "fleet.journal_renewed") == 0);
	}
	for (int k = 0; k < URLS; k++)
		expect_status(node_get(of[1], text("/%d", k)), 200);
	expect_int(origin_requests(), fetched);
	stop(&sentinel);
	nodes_end();
	stop(&replica);
}
