/* Nodes that do not see each other serve everything, and purge what they reach; when they see each other again, nobody
 * answers what was purged. */
#include "tests/fleet/kit/cut.h"

enum { NODES = 5, HERE = 2, URLS = 12 }; /* a and b on one side, c, d and e on the other */

static struct node *of[NODES];

static void
start_all(void)
{
	engine_start();
	cuts_begin();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), NULL);
	for (int i = 0; i < NODES; i++) {
		nodes_wait(of[i], "a b c d e");
		wait_until(node_stat(of[i], "fleet.well") == NODES &&
			   node_stat(of[i], "fleet.journal_held") == 0);
	}
}

static void
come_apart(bool engine)
{
	for (int i = 0; i < HERE; i++)
		cut_off(of[i], of + HERE, NODES - HERE, engine);
	for (int i = HERE; i < NODES; i++)
		cut_off(of[i], of, HERE, false);
}

static void
heal(void)
{
	for (int i = 0; i < NODES; i++)
		cut_heals(of[i]);
}

static void
say(const char *body)
{
	origin_forget("*");
	origin_says("*", .body = body, .times = 9999, .fields = "Cache-Control: max-age=1000\r\n");
}

/* Each of them, at each of those nodes. */
static bool
all_answer(int first, int last, const char *body)
{
	for (int i = first; i < last; i++)
		for (int k = 0; k < URLS; k++) {
			struct answer a = node_get(of[i], text("/%d", k));
			expect_status(a, 200);
			if (strcmp(a.body, body) != 0)
				return false;
		}
	return true;
}

static struct answer
purge_all_of(struct node *n)
{
	return node_admin(n, "POST", "/purge?prefix=http://example.com/&wait=3000");
}

static bool
is_silent(struct answer a, const char *name)
{
	const char *list = strstr(a.body, "\"silent\"");
	const char *end = list ? strchr(list, ']') : NULL, *at = list ? strstr(list, name) : NULL;
	return at && at < end;
}

static void
warm(void)
{
	say("old");
	for (int k = 0; k < 2; k++)
		expect(all_answer(0, NODES, "old"));
	say("new");
}

SCENARIO("two halves that do not see each other serve everything, and a purge names who is missing")
{
	start_all();
	warm();
	come_apart(false);
	/* Old, or new where the copy of what the other half owns has become too old. */
	for (int i = 0; i < HERE; i++)
		for (int k = 0; k < URLS; k++)
			expect_status(node_get(of[i], text("/%d", k)), 200);
	for (int i = 0; i < NODES; i++)
		for (int k = 0; k < URLS; k++)
			expect_status(node_get(of[i], text("/fresh%d", k)), 200);
	struct answer a = purge_all_of(of[0]);
	expect_status(a, 202);
	expect_that(is_silent(a, "\"c\"") && is_silent(a, "\"d\"") && is_silent(a, "\"e\"") &&
			    !is_silent(a, "\"b\""),
		    "%s", a.body);
	/* The other half has it from the journal, which it reaches. */
	wait_until(all_answer(0, NODES, "new"));
	heal();
	wait_until(purge_all_of(of[0]).status == 200);
	expect(all_answer(0, NODES, "new"));
	nodes_end();
}

SCENARIO(
	"of a half that reaches no engine either nobody answers what was purged, once it is whole again")
{
	start_all();
	warm();
	come_apart(true);
	struct answer there = purge_all_of(of[NODES - 1]);
	expect_status(there, 202);
	expect_that(is_silent(there, "\"a\"") && is_silent(there, "\"b\"") &&
			    !is_silent(there, "\"c\"") && !is_silent(there, "\"d\""),
		    "%s", there.body);
	expect(all_answer(HERE, NODES, "new"));
	for (int k = 0; k < URLS; k++)
		expect_status(node_get(of[0], text("/%d", k)), 200);
	say("newer");
	struct answer here = purge_all_of(of[0]);
	expect_status(here, 202);
	expect(strstr(here.body, "\"journal\": false") != NULL && !is_silent(here, "\"b\""));
	expect(all_answer(0, HERE, "newer"));
	heal();
	wait_until(all_answer(0, NODES, "newer"));
	for (int i = 0; i < NODES; i++)
		nodes_wait(of[i], "a b c d e");
	wait_until(purge_all_of(of[0]).status == 200);
	for (int i = 0; i < NODES; i++)
		expect(node_stat(of[i], "fleet.journal_emptied") == 0);
	nodes_end();
}
