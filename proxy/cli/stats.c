/* stats.c - `twice stats`: the numbers of a running proxy. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/outlook.h"
#include "proxy/cli/savings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ADMIN_FLAG                                                                        \
	{                                                                                 \
		"--admin", "ADDR", "admin address of the proxy: " ASK_ADMIN_DEFAULT, NULL \
	}

/* ---- stats ----------------------------------------------------------------------------------- */

enum { STATS_JSON, STATS_WATCH, STATS_ADMIN };
static const struct flag stats_rows[] = {
	[STATS_JSON] = {"--json", NULL, "print the numbers as JSON, as GET /stats does", NULL},
	[STATS_WATCH] = {"--watch", NULL, "repeat it every second, until Ctrl-C", NULL},
	[STATS_ADMIN] = ADMIN_FLAG,
	{NULL, NULL, NULL, NULL},
};

/* Over what is there: a screen that is cleared first flickers. */
static int
print_in_place(struct str report)
{
	printf("\033[H");
	while (report.n) {
		struct str line = str_before(report, '\n');
		printf("%.*s\033[K\n", STR_ARG(line));
		report = str_from(report, line.n + 1);
	}
	return printf("\033[J");
}

/* *before: the numbers of the look before, which are replaced; NULL: the first. */
static int
print_all(struct str numbers, json_t **before, bool in_place, char *err, size_t err_bytes)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	json_t *now = json_loadb(numbers.n ? numbers.p : "", numbers.n, 0, NULL);
	outlook_print(f, now, *before);
	json_decref(*before);
	*before = now;
	int result = savings_print(f, numbers, err, err_bytes);
	fclose(f);
	if (result == 0 && in_place)
		print_in_place((struct str){text, n});
	else if (result == 0)
		fwrite(text, 1, n, stdout);
	free(text);
	return result;
}

static int
print_once(const char *admin, bool json, bool in_place, json_t **before)
{
	struct buf answer = {0};
	char err[1024];
	enum asked asked = ask_admin(admin, "/stats", NULL, &answer, err, sizeof(err));
	int result = asked == ASK_FINE ? 0 : -1;
	if (result == 0 && json)
		fwrite(answer.p, 1, answer.n, stdout);
	else if (result == 0)
		result = print_all(buf_str(&answer), before, in_place, err, sizeof(err));
	if (result < 0)
		cli_complain("stats", "%s", err);
	else
		result = fflush(stdout);
	buf_fini(&answer);
	return result == 0 ? CLI_FINE : asked == ASK_MALFORMED ? CLI_USAGE : CLI_FAILED;
}

int
cli_stats(int argc, char **argv)
{
	struct flags f = {
		.command = "stats",
		.synopsis = "[--json] [--watch] [--admin ADDR]",
		.about =
			"Says whether a running proxy is well, since when and why not, what came in the last "
			"minute,\nand what it has saved since its start, and what that cost.",
		.rows = stats_rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ask_admin_default;
	bool json = false, watch = false;
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			i = flags_refuse(&f, "\"%s\" is not understood; see twice stats --help",
					 f.value);
		if (i == FLAGS_EXIT)
			return f.exit_code;
		json |= i == STATS_JSON;
		watch |= i == STATS_WATCH;
		if (i == STATS_ADMIN)
			admin = f.value;
	}
	bool clear = watch && !json && isatty(STDOUT_FILENO);
	if (clear)
		printf("\033[H\033[J");
	json_t *before = NULL;
	int result = print_once(admin, json, clear, &before);
	while (watch && result == CLI_FINE) {
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		result = print_once(admin, json, clear, &before);
	}
	json_decref(before);
	return result;
}
