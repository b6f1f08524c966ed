/* stats.c - `twice stats`: the numbers of a running proxy. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/outlook.h"
#include "proxy/cli/savings.h"
#include "proxy/cli/stats_fleet.h"

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

enum { STATS_FLEET, STATS_JSON, STATS_WATCH, STATS_ADMIN };
static const struct flag stats_rows[] = {
	[STATS_FLEET] = {"--fleet", NULL,
			 "sum up all nodes of the fleet of that proxy, with a line for each", NULL},
	[STATS_JSON] = {"--json", NULL, "print the numbers as JSON, as GET /stats does", NULL},
	[STATS_WATCH] = {"--watch", NULL, "repeat it every second, until Ctrl-C", NULL},
	[STATS_ADMIN] = ADMIN_FLAG,
	{NULL, NULL, NULL, NULL},
};

struct wish {
	const char *admin;
	bool fleet, json, watch;
	bool in_place;
	json_t *before; /* the numbers of the look before; NULL: the first */
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

static int
print_fleet(FILE *to, const char *admin, const struct buf *numbers, char *err, size_t err_bytes)
{
	json_t *json = ask_object(admin, numbers, "sum", err, err_bytes);
	int result = json ? stats_fleet_print(to, json, err, err_bytes) : -1;
	json_decref(json);
	return result;
}

static int
print_node(FILE *to, struct wish *w, struct str numbers, char *err, size_t err_bytes)
{
	json_t *now = json_loadb(numbers.n ? numbers.p : "", numbers.n, 0, NULL);
	int members =
		(int)json_integer_value(json_object_get(json_object_get(now, "fleet"), "members"));
	outlook_print(to, now, w->before);
	json_decref(w->before);
	w->before = now;
	int result = savings_print(to, numbers, err, err_bytes);
	if (result == 0 && members > 1)
		fprintf(to,
			"\nThis is one of %d nodes of a fleet, each of which decides about its share of all URLs, whoever "
			"asks for them;\ntwice stats --fleet sums them up.\n",
			members);
	return result;
}

static int
print_all(struct wish *w, const struct buf *numbers, char *err, size_t err_bytes)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int result = w->fleet ? print_fleet(f, w->admin, numbers, err, err_bytes)
			      : print_node(f, w, buf_str(numbers), err, err_bytes);
	fclose(f);
	if (result == 0 && w->in_place)
		print_in_place((struct str){text, n});
	else if (result == 0)
		fwrite(text, 1, n, stdout);
	free(text);
	return result;
}

static int
print_once(struct wish *w)
{
	struct buf answer = {0};
	char err[1024];
	enum asked asked = ask_admin(w->admin, w->fleet ? "/fleet?stats=1" : "/stats", NULL,
				     &answer, err, sizeof(err));
	int result = asked == ASK_FINE ? 0 : -1;
	if (result == 0 && w->json)
		fwrite(answer.p, 1, answer.n, stdout);
	else if (result == 0)
		result = print_all(w, &answer, err, sizeof(err));
	if (result < 0)
		cli_complain("stats", "%s", err);
	else
		result = fflush(stdout);
	buf_fini(&answer);
	return result == 0 ? CLI_FINE : asked == ASK_MALFORMED ? CLI_USAGE : CLI_FAILED;
}

static int
read_flags(struct wish *w, struct flags *f)
{
	int i;
	while ((i = flags_next(f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			i = flags_refuse(f, "\"%s\" is not understood; see twice stats --help",
					 f->value);
		if (i == FLAGS_EXIT)
			return i;
		w->fleet |= i == STATS_FLEET;
		w->json |= i == STATS_JSON;
		w->watch |= i == STATS_WATCH;
		if (i == STATS_ADMIN)
			w->admin = f->value;
	}
	return FLAGS_END;
}

int
cli_stats(int argc, char **argv)
{
	struct flags f = {
		.command = "stats",
		.synopsis = "[--fleet] [--json] [--watch] [--admin ADDR]",
		.about =
			"Says whether a running proxy is well, since when and why not, what came in the last "
			"minute,\nand what it has saved since its start, and what that cost. With --fleet it says what all nodes "
			"of its fleet\nhave saved together; each request of a client counts once, and a node that does not answer "
			"is named and left out.",
		.rows = stats_rows,
		.argc = argc,
		.argv = argv};
	struct wish w = {.admin = ask_admin_default};
	if (read_flags(&w, &f) == FLAGS_EXIT)
		return f.exit_code;
	w.in_place = w.watch && !w.json && isatty(STDOUT_FILENO);
	if (w.in_place)
		printf("\033[H\033[J");
	int result = print_once(&w);
	while (w.watch && result == CLI_FINE) {
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		result = print_once(&w);
	}
	json_decref(w.before);
	return result;
}
