/* purge.c - `twice purge`: makes a running proxy forget. */
#include "config/units.h"
#include "proxy/cache/forget/forget_kind.h"
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kinds, some of which flags say. */
static const struct {
	enum forget_kind kind;
	bool by_hand;
	const char *word;
	struct flag flag;
} kinds[] = {
#define ROW(id, number, word, by_hand, soft, argument, sentence) \
	{FORGET_##id, by_hand, word, {"--" word, argument, sentence, NULL}},
	FORGET_ROWS(ROW)
#undef ROW
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* How it is done; behind the flags of kinds. */
enum { SOFT, WAIT, ADMIN, MANNERS };
static const struct flag manners[] = {
	[SOFT] = {"--soft", NULL, "do not remove: have it validated before it is fresh again",
		  NULL},
	[WAIT] =
		{"--wait", "[=TIME]",
		 "wait for the other nodes of a fleet (2s), and up to a minute for a disk that fails",
		 NULL},
	[ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")", NULL},
};

enum { TRIES_MOST = 60 }; /* a second apart */
enum { WAIT_MS = 2000, WAIT_MOST_MS = 10000 };

/* ---- what came of it ------------------------------------------------------------------------- */

static const char *
name_of(const json_t *one)
{
	const char *name = NULL;
	for (size_t i = 0; i < KINDS && !name; i++)
		if (kinds[i].by_hand)
			name = json_string_value(json_object_get(one, kinds[i].word));
	return name ? name : "everything";
}

static void
print_one(const json_t *one)
{
	const char *note = json_string_value(json_object_get(one, "note"));
	bool found = json_is_true(json_object_get(one, "purged"));
	bool soft = json_is_true(json_object_get(one, "soft"));
	printf("%s %s%s%s\n",
	       !found ? "nothing stored:"
	       : soft ? "stale from now on:"
		      : "purged",
	       name_of(one), note ? ": " : "", note ? note : "");
}

static void
print_nodes(const json_t *fleet, const char *key, const char *words)
{
	json_t *list = json_object_get(fleet, key), *name;
	size_t i;
	if (!json_array_size(list))
		return;
	printf("%s", words);
	json_array_foreach(list, i, name)
	{
		printf("%s %s", i ? "," : "", json_string_value(name));
	}
	printf("\n");
}

/* The other nodes, by what they say of it. */
static void
print_fleet(const json_t *fleet)
{
	if (!fleet)
		return;
	print_nodes(fleet, "has", "on disk at");
	print_nodes(fleet, "refuses", "not running:");
	print_nodes(fleet, "silent", "not heard of yet:");
	if (json_is_false(json_object_get(fleet, "journal")))
		printf("the journal does not have it yet\n");
}

/* Not all nodes have it that should have been waited for. */
static bool
is_lacked(const json_t *fleet)
{
	return json_array_size(json_object_get(fleet, "silent")) ||
	       json_is_false(json_object_get(fleet, "journal"));
}

/* The answer of the proxy, as a line for each purge. */
static void
print_answer(const json_t *json)
{
	json_t *results = json_object_get(json, "results"), *one;
	size_t i;
	if (!results)
		print_one(json);
	json_array_foreach(results, i, one)
	{
		print_one(one);
	}
}

/* It is in force, but a crash now would undo it. */
static bool
is_not_durable(const struct buf *text)
{
	json_t *json = json_loadb(text->n ? text->p : "", text->n, 0, NULL);
	bool yes = json_is_false(json_object_get(json, "durable"));
	json_decref(json);
	return yes;
}

static int
purge(const char *admin, const char *form, bool wait)
{
	struct buf answer = {0};
	char err[1024];
	enum asked asked = ASK_FAILED;
	int tries = wait ? TRIES_MOST : 1;
	while (tries--) {
		answer.n = 0;
		asked = ask_admin(admin, "/purge", form, &answer, err, sizeof(err));
		if (asked == ASK_FINE || !is_not_durable(&answer))
			break;
		if (tries)
			sleep(1);
	}
	json_t *said =
		asked == ASK_FINE ? ask_object(admin, &answer, "durable", err, sizeof(err)) : NULL;
	if (said)
		print_answer(said);
	if (said && wait)
		print_fleet(json_object_get(said, "fleet"));
	else
		cli_complain("purge", "%s", err);
	bool lacked = wait && said && is_lacked(json_object_get(said, "fleet"));
	if (lacked)
		cli_complain("purge",
			     "not all nodes have it yet; it is sent to them until they do");
	int result = asked != ASK_FINE ? ask_exit_code(asked)
		     : said && !lacked ? CLI_FINE
				       : CLI_FAILED;
	if (fflush(stdout) != 0)
		result = CLI_FAILED;
	json_decref(said);
	buf_fini(&answer);
	return result;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void
add(struct buf *form, const char *name, const char *value)
{
	char *pair = ask_form(name, value);
	buf_printf(form, "%s%s", form->n ? "&" : "", pair);
	free(pair);
}

struct asked_for {
	struct buf form;
	bool all, soft, wait;
	uint64_t wait_ms;
	const char *admin;
};

/* Of kind i. */
static void
add_kind(struct asked_for *a, size_t i, const char *value)
{
	if (kinds[i].kind == FORGET_ALL)
		a->all = true;
	else
		add(&a->form, kinds[i].word, value);
}

/* False: the value cannot be meant. */
static bool
set_manner(struct asked_for *a, int manner, const char *value)
{
	switch (manner) {
	case SOFT:
		a->soft = true;
		break;
	case WAIT:
		a->wait = true;
		a->wait_ms = WAIT_MS;
		if (value && (units_parse_ms(value, &a->wait_ms) || a->wait_ms > WAIT_MOST_MS))
			return false;
		break;
	default:
		a->admin = value;
	}
	return true;
}

/* All flags, in the order of --help; of: the kinds that the first ones say. How many these are. */
static size_t
list_flags(struct flag rows[KINDS + MANNERS + 1], size_t of[KINDS])
{
	size_t n = 0;
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].flag.sentence) {
			of[n] = i;
			rows[n++] = kinds[i].flag;
		}
	memcpy(rows + n, manners, sizeof manners);
	rows[n + MANNERS] = (struct flag){0};
	return n;
}

int
cli_purge(int argc, char **argv)
{
	struct flag rows[KINDS + MANNERS + 1];
	size_t of[KINDS], n = list_flags(rows, of);
	struct flags f = {
		.command = "purge",
		.synopsis = "URL... | --prefix URL | --host HOST | --tag TAG | --all [--soft] "
			    "[--wait[=TIME]] [--admin ADDR]",
		.about =
			"Makes a running proxy forget objects: the next request fetches anew. A URL "
			"means all its\nvariants and kept ranges. Several URLs, prefixes, hosts and tags "
			"may be given at once: all are\npurged, or none if one of them is malformed. When the command ends well, the purge\nis on disk: no crash undoes "
			"it. In a fleet all nodes are told; with --wait it ends well\nwhen all that "
			"run have it on disk too.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	struct asked_for a = {.admin = ask_admin_default};
	int i, result = CLI_USAGE;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_EXIT) {
			result = f.exit_code;
			goto out;
		}
		if (i == FLAGS_WORD)
			add(&a.form, "url", f.value);
		else if ((size_t)i < n)
			add_kind(&a, of[i], f.value);
		else if (!set_manner(&a, i - (int)n, f.value)) {
			flags_refuse(&f, "--wait=%s is no time up to 10s, such as 500ms", f.value);
			goto out;
		}
	}
	if ((a.form.n > 0) == a.all) {
		flags_refuse(&f, a.all ? "--all covers everything else: leave out one of the two"
				       : "say what to purge: twice purge http://host/path, or "
					 "--prefix, --host, --tag, or --all");
		goto out;
	}
	if (a.all)
		add(&a.form, "all", "1");
	if (a.soft)
		add(&a.form, "soft", "1");
	if (a.wait) {
		char ms[24];
		snprintf(ms, sizeof ms, "%llu", (unsigned long long)a.wait_ms);
		add(&a.form, "wait", ms);
	}
	buf_add(&a.form, "", 1);
	result = purge(a.admin, a.form.p, a.wait);
out:
	buf_fini(&a.form);
	return result;
}
