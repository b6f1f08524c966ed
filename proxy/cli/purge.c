/* purge.c - `twice purge`: makes a running proxy forget. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PURGE_PREFIX, PURGE_HOST, PURGE_TAG, PURGE_ALL, PURGE_SOFT, PURGE_WAIT, PURGE_ADMIN };
static const struct flag rows[] = {
	[PURGE_PREFIX] = {"--prefix", "URL", "purge all URLs of this scheme and host that begin so",
			  NULL},
	[PURGE_HOST] = {"--host", "HOST", "purge everything of this host, http and https alike",
			NULL},
	[PURGE_TAG] = {"--tag", "TAG",
		       "purge what came with this word in Surrogate-Key or "
		       "Cache-Tag",
		       NULL},
	[PURGE_ALL] = {"--all", NULL, "purge everything", NULL},
	[PURGE_SOFT] = {"--soft", NULL, "do not remove: have it validated before it is fresh again",
			NULL},
	[PURGE_WAIT] = {"--wait", NULL, "if the disk fails, wait up to a minute until it is there",
			NULL},
	[PURGE_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
			 NULL},
	{NULL, NULL, NULL, NULL},
};

enum { TRIES_MOST = 60 }; /* a second apart */

/* ---- what came of it ------------------------------------------------------------------------- */

static const char *
name_of(const json_t *one)
{
	static const char *const names[] = {"url", "prefix", "host", "tag"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *name = json_string_value(json_object_get(one, names[i]));
		if (name)
			return name;
	}
	return "everything";
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
	int result = -1, tries = wait ? TRIES_MOST : 1;
	while (tries--) {
		answer.n = 0;
		result = ask_admin(admin, "/purge", form, &answer, err, sizeof(err));
		if (result == 0 || !is_not_durable(&answer))
			break;
		if (tries)
			sleep(1);
	}
	json_t *said = result == 0 ? ask_object(admin, &answer, "durable", err, sizeof(err)) : NULL;
	if (said)
		print_answer(said);
	else
		cli_complain("purge", "%s", err);
	result = said && fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
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

static void
add_flag(struct buf *form, int flag, const char *value)
{
	static const char *const names[] = {
		[PURGE_PREFIX] = "prefix", [PURGE_HOST] = "host", [PURGE_TAG] = "tag"};
	add(form, names[flag], value);
}

int
cli_purge(int argc, char **argv)
{
	struct flags f = {
		.command = "purge",
		.synopsis = "URL... | --prefix URL | --host HOST | --tag TAG | --all [--soft] "
			    "[--wait] [--admin ADDR]",
		.about =
			"Makes a running proxy forget objects: the next request fetches anew. A URL "
			"means all its\nvariants and parts. Several URLs, prefixes, hosts and tags "
			"may be given at once: all are\npurged, or none if one of them is malformed. When the command ends well, the purge\nis on disk: no crash undoes "
			"it.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ASK_ADMIN_DEFAULT;
	struct buf form = {0};
	int i, result = CLI_USAGE;
	bool all = false, soft = false, wait = false;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_EXIT) {
			result = f.exit_code;
			goto out;
		}
		if (i == FLAGS_WORD)
			add(&form, "url", f.value);
		else if (i == PURGE_ALL)
			all = true;
		else if (i == PURGE_SOFT)
			soft = true;
		else if (i == PURGE_WAIT)
			wait = true;
		else if (i == PURGE_ADMIN)
			admin = f.value;
		else
			add_flag(&form, i, f.value);
	}
	if ((form.n > 0) == all) {
		flags_refuse(&f, all ? "--all covers everything else: leave out one of the two"
				     : "say what to purge: twice purge http://host/path, or "
				       "--prefix, --host, --tag, or --all");
		goto out;
	}
	if (all)
		add(&form, "all", "1");
	if (soft)
		add(&form, "soft", "1");
	buf_add(&form, "", 1);
	result = purge(admin, form.p, wait);
out:
	buf_fini(&form);
	return result;
}
