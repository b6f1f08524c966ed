/* main.c - finds the command; nothing else. */
#include "proxy/cli/cli.h"

#include "config/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int
print_help(FILE *to)
{
	fprintf(to,
		"twice %s - a caching HTTP reverse proxy that writes to disk only what was seen "
		"before\n\nusage: twice COMMAND [flags]\n\n",
		cli_version);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		fprintf(to, "  %-10s %s\n", c->name, c->sentence);
	fprintf(to, "\ntwice COMMAND --help says more about each.\n");
	return to == stdout ? CLI_FINE : CLI_USAGE;
}

static int
refuse(const char *name)
{
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (suggest_is_near(name, c->name)) {
			cli_complain("", "there is no command \"%s\"; did you mean \"%s\"?", name,
				     c->name);
			return CLI_USAGE;
		}
	}
	cli_complain("", "there is no command \"%s\"; see twice --help", name);
	return CLI_USAGE;
}

static int
print_version(int argc, char **argv)
{
	if (argc > 2) {
		cli_complain("", "%s takes no more words; leave out \"%s\"", argv[1], argv[2]);
		return CLI_USAGE;
	}
	return printf("twice %s\n", cli_version) < 0 ? CLI_FAILED : CLI_FINE;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (!*name)
		return print_help(stderr);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return print_version(argc, argv);
	bool help =
		strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
	if (help && argc == 2)
		return print_help(stdout);
	if (help && argc > 3) {
		cli_complain("", "help is of one command; leave out \"%s\"", argv[3]);
		return CLI_USAGE;
	}
	char *help_of[] = {help ? argv[2] : NULL, (char[]){"--help"}, NULL};
	if (help)
		name = argv[2];
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (strcmp(name, c->name) == 0)
			return help ? c->run(2, help_of) : c->run(argc - 1, argv + 1);
	if (strcmp(name, "manual") == 0 && !help)
		return cli_manual(argc - 1, argv + 1);
	return refuse(name);
}
