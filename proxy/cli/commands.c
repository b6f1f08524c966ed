/* commands.c - the table of commands: the help, the manual page and completions are made from it. */
#include "proxy/cli/cli.h"

const struct cli_command cli_commands[] = {
	{"run", cli_run, "runs the proxy in the foreground: twice run --origin https://host"},
	{"check", cli_check, "checks a configuration and prints the effective one"},
	{"route", cli_route, "tells which route of a configuration a URL takes, and why"},
	{"demo", cli_demo, "sends CDN-like traffic through the proxy and reports what was saved"},
	{"simulate", cli_simulate, "computes from access logs what twice would have saved"},
	{"size", cli_size, "computes the memory of the filters from URLs and error rate"},
	{"stats", cli_stats, "says whether a running proxy is well, and what it has saved"},
	{"top", cli_top, "shows which URLs are asked for most now"},
	{"explain", cli_explain,
	 "tells why a URL is on disk or not, and how a request would be answered now"},
	{"purge", cli_purge, "makes a running proxy forget objects"},
	{"reload", cli_reload, "makes a running proxy apply its configuration anew"},
	{"upgrade", cli_upgrade, "lets a new process of the program take a running proxy's place"},
	{"fleet", cli_fleet, "shows the nodes that act as one cache, and lets one of them drain"},
	{"inspect", cli_inspect,
	 "lists the contents of a cache directory, and checks them for damage"},
	{NULL, NULL, NULL},
};
