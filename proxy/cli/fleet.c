/* fleet.c - `twice fleet`: the nodes that act as one cache, as one of them sees them. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/owners.h"
#include "config/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLEET_JSON, FLEET_ADMIN };
static const struct flag rows[] = {
	[FLEET_JSON] = {"--json", NULL, "print the answer as it is", NULL},
	[FLEET_ADMIN] = {"--admin", "ADDR", "admin address of a node (" ASK_ADMIN_DEFAULT ")",
			 NULL},
	{NULL, NULL, NULL, NULL},
};

struct order {
	const char *word, *about; /* "drain", NODE; NULL: the table */
	const char *admin;
	bool json;
};

static const char *
text(const json_t *of, const char *key)
{
	const char *s = json_string_value(json_object_get(of, key));
	return s ? s : "";
}

static bool
is(const json_t *of, const char *key)
{
	return json_is_true(json_object_get(of, key));
}

/* ---- the table ----------------------------------------------------------------------------- */

static void
print_engine(const json_t *answer)
{
	const json_t *e = json_object_get(answer, "engine");
	if (!json_is_object(e))
		printf("engine   none: the members are those of a list\n");
	else if (is(e, "answers"))
		printf("engine   %s\n", text(e, "name"));
	else
		printf("engine   %s cannot be used, the members stay as they are: %s\n",
		       text(e, "name"), text(e, "why"));
	printf("secret   has the fingerprint %s\n", text(answer, "secret"));
	if (is(answer, "hands_over"))
		printf("ring     changed lately; owners of before are remembered\n");
}

/* Nodes name more than one zone. */
static bool
has_zones(const json_t *answer)
{
	size_t i;
	json_t *m, *members = json_object_get(answer, "members");
	const char *first = text(json_array_get(members, 0), "zone");
	json_array_foreach(members, i, m)
	{
		if (strcmp(text(m, "zone"), first) != 0)
			return true;
	}
	return false;
}

static void
print_zone(const char *name, bool shown)
{
	if (shown)
		printf("%-12s ", *name ? name : "-");
}

static void
print_member(const json_t *m, bool zones)
{
	char weight[UNITS_BYTES];
	const char *state = text(m, "state");
	units_print_bytes((uint64_t)json_integer_value(json_object_get(m, "weight")), weight);
	print_zone(text(m, "zone"), zones);
	printf("%-20s %-22s %-9s %10s %6.1f%% %7lld  %s%s\n", text(m, "node"), text(m, "address"),
	       is(m, "well") ? state : "silent", weight,
	       100 * json_real_value(json_object_get(m, "share")),
	       (long long)json_integer_value(json_object_get(m, "purges_behind")),
	       text(m, "version"), is(m, "self") ? " (this node)" : "");
}

static void
print_members(const json_t *answer)
{
	size_t i;
	json_t *m;
	bool zones = has_zones(answer);
	print_engine(answer);
	printf("\n");
	print_zone("zone", zones);
	printf("%-20s %-22s %-9s %10s %7s %7s  %s\n", "node", "address", "state", "weight", "share",
	       "behind", "version");
	json_array_foreach(json_object_get(answer, "members"), i, m)
	{
		print_member(m, zones);
	}
}

/* ---- an owner ------------------------------------------------------------------------------ */

static void
print_owner(const json_t *answer)
{
	printf("key      %s\n", text(answer, "key"));
	owners_print(answer);
}

/* ---- asking -------------------------------------------------------------------------------- */

static const char *
path_of(const struct order *o, struct buf *path)
{
	char *form = o->word ? ask_form(strcmp(o->word, "owner") == 0 ? "url" : o->word, o->about)
			     : NULL;
	buf_printf(path, "/fleet%s%s", form ? "?" : "", form ? form : "");
	buf_add(path, "", 1);
	free(form);
	return path->p;
}

static int
ask(const struct order *o)
{
	struct buf path = {0}, answer = {0};
	char err[1024];
	bool owner = o->word && strcmp(o->word, "owner") == 0, orders = o->word && !owner;
	enum asked asked = ask_admin(o->admin, path_of(o, &path), orders ? "" : NULL, &answer, err,
				     sizeof err);
	json_t *json = asked == ASK_FINE ? ask_object(o->admin, &answer,
						      owner ? "owners" : "members", err, sizeof err)
					 : NULL;
	if (!json)
		cli_complain("fleet", "%s", err);
	else if (o->json)
		fwrite(answer.p, 1, answer.n, stdout);
	else if (owner)
		print_owner(json);
	else if (orders)
		printf("%s %s; all nodes know it within a second\n", o->about,
		       strcmp(o->word, "drain") == 0 ? "drains: it will own nothing"
						     : "will own its share again");
	else
		print_members(json);
	int result = json ? CLI_FINE : asked == ASK_FINE ? CLI_FAILED : ask_exit_code(asked);
	json_decref(json);
	buf_fini(&answer);
	buf_fini(&path);
	return fflush(stdout) == 0 ? result : CLI_FAILED;
}

/* ---- the command line ---------------------------------------------------------------------- */

static bool
is_order(const char *word)
{
	return strcmp(word, "drain") == 0 || strcmp(word, "undrain") == 0 ||
	       strcmp(word, "owner") == 0;
}

static int
read_flags(struct order *o, struct flags *f)
{
	int i;
	while ((i = flags_next(f)) != FLAGS_END) {
		if (i == FLAGS_EXIT)
			return i;
		if (i == FLEET_ADMIN)
			o->admin = f->value;
		else if (i == FLEET_JSON)
			o->json = true;
		else if (!o->word && is_order(f->value))
			o->word = f->value;
		else if (o->word && !o->about)
			o->about = f->value;
		else
			return flags_refuse(f,
					    "\"%.100s\" is not understood; see twice fleet --help",
					    f->value);
	}
	if (o->word && !o->about)
		return flags_refuse(f, "say which: twice fleet %s %s", o->word,
				    strcmp(o->word, "owner") == 0 ? "URL" : "NODE");
	return FLAGS_END;
}

int
cli_fleet(int argc, char **argv)
{
	struct flags f = {
		.command = "fleet",
		.synopsis = "[drain NODE | undrain NODE | owner URL] [--json] [--admin ADDR]",
		.about =
			"Tells which nodes act as one cache, as a running proxy sees them, and how much of "
			"all keys each\nowns; behind counts the purges of this node that it lacks. drain makes a node own nothing, until undrain, also over its "
			"restarts; NODE is its name or id.\nowner tells which node owns a URL, and who is "
			"asked when that one does not answer.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	struct order o = {.admin = ask_admin_default};
	return read_flags(&o, &f) == FLAGS_EXIT ? f.exit_code : ask(&o);
}
