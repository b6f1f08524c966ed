/* main.c - a table of commands; nothing else. */
#include "proxy/cli/cli.h"

#include "config/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *sentence;
} commands[] = {
	{"run", cli_run, "runs the proxy in the foreground: twice run --origin https://host"},
	{"check", cli_check, "checks a configuration and prints the effective one"},
	{"demo", cli_demo, "sends CDN-like traffic through the proxy and reports what was saved"},
	{"simulate", cli_simulate, "computes from access logs what twice would have saved"},
	{"size", cli_size, "computes the memory of the filters from URLs and error rate"},
	{"stats", cli_stats, "shows what a running proxy has saved so far"},
	{"top", cli_top, "shows what is asked for most now"},
	{"explain", cli_explain,
	 "tells why a URL is on disk or not, and what a request would do now"},
	{"purge", cli_purge, "makes a running proxy forget objects"},
	{"inspect", cli_inspect, "says what a cache directory holds, and what of it is damaged"},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int
print_help(FILE *to)
{
	fprintf(to,
		"twice %s - a caching HTTP reverse proxy that writes to disk only what was seen "
		"before\n\nusage: twice COMMAND [flags]\n\n",
		cli_version);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].sentence);
	fprintf(to, "\ntwice COMMAND --help says more about each.\n");
	return to == stdout ? CLI_FINE : CLI_USAGE;
}

static int
refuse(const char *name)
{
	for (int i = 0; i < COMMANDS; i++) {
		if (suggest_is_near(name, commands[i].name)) {
			cli_complain("", "there is no command \"%s\"; did you mean \"%s\"?", name,
				     commands[i].name);
			return CLI_USAGE;
		}
	}
	cli_complain("", "there is no command \"%s\"; see twice --help", name);
	return CLI_USAGE;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (!*name)
		return print_help(stderr);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return printf("twice %s\n", cli_version) < 0;
	bool help =
		strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
	if (help && argc == 2)
		return print_help(stdout);
	char *help_of[] = {help ? argv[2] : NULL, (char[]){"--help"}, NULL};
	if (help)
		name = argv[2];
	for (int i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return help ? commands[i].run(2, help_of)
				    : commands[i].run(argc - 1, argv + 1);
	return refuse(name);
}
