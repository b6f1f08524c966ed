/* reload.c - `twice reload`: a running proxy applies its configuration as the file says it now. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { RELOAD_JSON, RELOAD_ADMIN };
static const struct flag rows[] = {
	[RELOAD_JSON] = {"--json", NULL, "print the answer as it is", NULL},
	[RELOAD_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
			  NULL},
	{NULL, NULL, NULL, NULL},
};

static void
print_list(const json_t *answer, const char *key, const char *title)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(answer, key), i, one)
	{
		printf("%s: %s\n", title, json_string_value(one));
	}
}

static void
print_answer(const json_t *answer)
{
	size_t i;
	json_t *one;
	print_list(answer, "applied", "applied");
	json_array_foreach(json_object_get(answer, "restart"), i, one)
	{
		printf("needs a restart: %s (%s)\n",
		       json_string_value(json_object_get(one, "setting")),
		       json_string_value(json_object_get(one, "why")));
	}
	print_list(answer, "warnings", "warning");
	if (!json_array_size(json_object_get(answer, "applied")) &&
	    !json_array_size(json_object_get(answer, "restart")))
		printf("nothing has changed in the configuration\n");
}

/* The proxy has read it and says what is wrong. */
static bool
complain(const json_t *answer)
{
	size_t i;
	json_t *one, *errors = json_object_get(answer, "errors");
	json_array_foreach(errors, i, one)
	{
		cli_complain("reload", "%s", json_string_value(one));
	}
	return json_array_size(errors) > 0;
}

static int
reload(const char *admin, bool as_it_is)
{
	struct buf answer = {0};
	char err[1024];
	enum asked asked = ask_admin(admin, "/reload", "", &answer, err, sizeof(err));
	int result = asked == ASK_MALFORMED ? CLI_USAGE : CLI_FAILED;
	bool fine = asked == ASK_FINE;
	json_t *json = fine ? ask_object(admin, &answer, "applied", err, sizeof(err))
			    : json_loadb(answer.n ? answer.p : "", answer.n, 0, NULL);
	fine = fine && json;
	if (as_it_is && json)
		fwrite(answer.p, 1, answer.n, stdout);
	if (fine && !as_it_is)
		print_answer(json);
	if (fine)
		result = CLI_FINE;
	else if (complain(json))
		result = CLI_USAGE;
	else
		cli_complain("reload", "%s", err);
	json_decref(json);
	buf_fini(&answer);
	return fflush(stdout) == 0 ? result : CLI_FAILED;
}

int
cli_reload(int argc, char **argv)
{
	struct flags f = {
		.command = "reload",
		.synopsis = "[--json] [--admin ADDR]",
		.about =
			"Makes a running proxy apply its configuration as the file says it now, as SIGHUP "
			"does, and\ntells the outcome. It is applied whole or not at all: exit code 2 "
			"means that something is\nwrong with it, and that the old one serves on. Connections "
			"stay. Settings that need a restart are named,\nand keep their values until then.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ask_admin_default;
	bool json = false;
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			i = flags_refuse(&f, "\"%s\" is not understood; see twice reload --help",
					 f.value);
		if (i == FLAGS_EXIT)
			return f.exit_code;
		json |= i == RELOAD_JSON;
		if (i == RELOAD_ADMIN)
			admin = f.value;
	}
	return reload(admin, json);
}
