/* purge.c - `twice purge`: makes a running proxy forget. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PURGE_HOST, PURGE_ALL, PURGE_ADMIN };
static const struct flag rows[] = {
	[PURGE_HOST] = {"--host", "HOST", "purge everything of this host, http and https alike",
			NULL},
	[PURGE_ALL] = {"--all", NULL, "everything", NULL},
	[PURGE_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
			 NULL},
	{NULL, NULL, NULL, NULL},
};

/* The answer of the proxy, as a line for people. */
static void
print_answer(const char *what, const char *text, size_t n)
{
	json_t *json = json_loadb(text, n, 0, NULL);
	const char *note = json_string_value(json_object_get(json, "note"));
	bool found = json_is_true(json_object_get(json, "purged"));
	printf("%s %s%s%s\n", found ? "purged" : "nothing stored:", what, note ? ": " : "",
	       note ? note : "");
	json_decref(json);
}

static int
purge(const char *admin, const char *name, const char *value)
{
	struct buf answer = {0};
	char err[1024];
	char *form = ask_form(name, value);
	int result = ask_admin(admin, "/purge", form, &answer, err, sizeof(err));
	if (result < 0)
		cli_complain("purge", "%s", err);
	else
		print_answer(strcmp(name, "all") == 0 ? "everything" : value, answer.p, answer.n);
	free(form);
	buf_fini(&answer);
	return result == 0 ? CLI_FINE : CLI_FAILED;
}

int
cli_purge(int argc, char **argv)
{
	struct flags f = {
		.command = "purge",
		.synopsis = "URL... | --host HOST | --all [--admin ADDR]",
		.about =
			"Makes a running proxy forget objects: the next request fetches anew. A URL "
			"means all its\nvariants and parts. When the command ends well, the purge "
			"is on disk: no crash undoes it.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ASK_ADMIN_DEFAULT, *host = NULL;
	int i, urls = 0, result = CLI_FINE;
	bool all = false;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_EXIT)
			return f.exit_code;
		if (i == FLAGS_WORD)
			argv[urls++] = argv[f.at]; /* gathered in front; flags_next is past it */
		else if (i == PURGE_HOST)
			host = f.value;
		else if (i == PURGE_ALL)
			all = true;
		else
			admin = f.value;
	}
	if ((urls > 0) + (host != NULL) + all != 1) {
		flags_refuse(&f, "say what to purge: twice purge http://host/path, or --host HOST, "
				 "or --all");
		return f.exit_code;
	}
	if (host)
		return purge(admin, "host", host);
	if (all)
		return purge(admin, "all", "1");
	for (i = 0; i < urls && result == CLI_FINE; i++)
		result = purge(admin, "url", argv[i]);
	return result;
}
