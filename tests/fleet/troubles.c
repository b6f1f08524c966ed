/* The engine stands still, dies, and comes back with less than it had or with nothing, while clients ask: none of them sees
 * it, and no purge is lost. */
#include "tests/fleet/kit/nodes.h"

#include <pthread.h>
#include <stdatomic.h>

enum { NODES = 3, URLS = 8, CLIENTS = 3 };

static struct node *of[NODES];
static _Atomic bool enough;
static _Atomic int asked;

/* A client goes from node to node, and wants an answer of each. */
static void *
ask_on(void *arg)
{
	for (int i = *(const int *)arg; !atomic_load(&enough); i++) {
		expect_status(node_get(of[i % NODES], text("/%d", i / NODES % URLS)), 200);
		atomic_fetch_add(&asked, 1);
	}
	return NULL;
}

/* Each of the clients has been answered since. */
static void
let_them_ask(void)
{
	int before = atomic_load(&asked);
	wait_until(atomic_load(&asked) > before + CLIENTS * NODES * URLS);
}

static bool
is_degraded(const struct node *n)
{
	struct answer a = node_admin(n, "GET", "/healthz");
	expect_status(a, 200);
	return strstr(a.body, "degraded: the engine of the fleet cannot be used") != NULL;
}

static void
wait_degraded(bool is)
{
	for (int i = 0; i < NODES; i++)
		wait_until(is_degraded(of[i]) == is);
}

static struct answer
purge(int at)
{
	return node_admin(of[at], "POST", "/purge?url=http://example.com/0&wait=2000");
}

/* All nodes have it, and the journal has not. */
static void
purge_without_engine(int at)
{
	struct answer a = purge(at);
	expect_status(a, 202);
	expect_that(strstr(a.body, "\"journal\": false") && strstr(a.body, "\"silent\": []") &&
			    strstr(a.body, "\"refuses\": []"),
		    "%s", a.body);
}

static int
entries(void)
{
	return atoi(engine_ask("XLEN {twice:fleet}:purges"));
}

/* The journal has so many entries, and each node knows that it was renewed so often. */
static void
all_is_well(int least, int renewed)
{
	wait_until(purge(0).status == 200);
	for (int i = 0; i < NODES; i++) {
		wait_until(node_stat(of[i], "fleet.journal_waiting") == 0);
		nodes_wait(of[i], "a b c");
		wait_until(node_stat(of[i], "fleet.journal_renewed") >= renewed);
		expect(node_stat(of[i], "fleet.journal_emptied") == 0);
	}
	wait_until(entries() >= least);
	wait_degraded(false);
	let_them_ask();
}

SCENARIO_IN(
	180,
	"whatever becomes of the engine, clients are answered and purges are journaled in the end")
{
	pthread_t clients[CLIENTS];
	int first[CLIENTS];
	engine_start();
	origin_says("*", .body = "text", .fields = "Cache-Control: max-age=1000\r\n",
		    .times = 1 << 30);
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), NULL);
	for (int i = 0; i < NODES; i++) {
		nodes_wait(of[i], "a b c");
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, ask_on, memcpy(&first[i], &i, sizeof i));
	node_purges_url(of[0], "/0");
	/* It stands still, for longer than a lease in the long form. */
	engine_pause();
	if (kit_long())
		wait_degraded(true);
	purge_without_engine(1);
	let_them_ask();
	engine_resume();
	all_is_well(3, 0);
	/* It dies, and comes back as it was some purges before. */
	expect_text(engine_ask("SAVE"), "OK\n");
	int before = entries();
	for (int i = 0; i < NODES; i++)
		node_purges_url(of[i], "/0");
	engine_kill();
	if (kit_long())
		wait_degraded(true);
	purge_without_engine(2);
	let_them_ask();
	engine_start();
	all_is_well(before + NODES + 1, 1);
	/* It dies, and comes back with nothing. */
	engine_kill();
	expect_int(program("rm", text("%s/dump.rdb", kit_dir())).status, 0);
	purge_without_engine(0);
	let_them_ask();
	engine_start();
	all_is_well(before + NODES + 2, 2);
	atomic_store(&enough, true);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	note("%d requests were answered", atomic_load(&asked));
	nodes_end();
}
