/* size.c - `twice size`: what does a filter for so many URLs cost, and what do its errors mean? */
#include "config/units.h"
#include "filter/sizing.h"
#include "proxy/cli/cli.h"

#include <stdbool.h>
#include <stdio.h>

static const char about[] =
	"Computes memory, hashes, false positives and needless writes of the pair of filters that\n"
	"admission uses, and shows the theory beside it.";

enum { URLS, FPR, SIGHTINGS, TABLE };

static const struct flag rows[] = {
	{"--urls", "N", "distinct URLs per generation: 10M, 250k", NULL},
	{"--fpr", "P", "false positives of both generations together: 1%, 0.001 (default 1%)",
	 NULL},
	{"--sightings", "N", "requests before a URL is written, 1 to 15 (default 3, as for auto)",
	 NULL},
	{"--table", NULL,
	 "print the rates of classic filters for 2 to 9 bits per key and 1 to 7 hashes", NULL},
	{0},
};

struct question {
	uint64_t urls;
	double fpr;
	uint64_t sightings;
	bool table;
};

static int
on_flag(struct flags *f, int row, struct question *q)
{
	if (row == TABLE)
		q->table = true;
	if (row == URLS && units_parse_count(f->value, &q->urls) != 0)
		return flags_refuse(f, "\"%s\" is not a number of URLs; write one such as 10M",
				    f->value);
	if (row == FPR && units_parse_share(f->value, &q->fpr) != 0)
		return flags_refuse(f, "\"%s\" is not a share; write one such as 1%% or 0.01",
				    f->value);
	if (row == SIGHTINGS && (units_parse_count(f->value, &q->sightings) != 0 ||
				 q->sightings < 1 || q->sightings > 15))
		return flags_refuse(f, "\"%s\" is not a number of sightings; write 1 to 15",
				    f->value);
	if (row == FLAGS_WORD)
		return flags_refuse(
			f, "\"%s\" is not understood; try: twice size --urls 10M --fpr 1%%",
			f->value);
	return row;
}

static int
print_sizes(struct flags *f, const struct question *q)
{
	char text[8192];

	if (q->urls == 0 && !q->table) {
		flags_refuse(f,
			     "the number of URLs is missing; try: twice size --urls 10M --fpr 1%%");
		return CLI_USAGE;
	}
	if (q->urls > 0 && twice_sizing_explain(text, sizeof(text), q->urls, q->fpr,
						(unsigned)q->sightings) == 0) {
		flags_refuse(
			f,
			"out of range: --urls from 1 to 1073741824, --fpr from 0.0001%% to 50%%");
		return CLI_USAGE;
	}
	if (q->urls > 0)
		fputs(text, stdout);
	if (q->table) {
		twice_sizing_explain_table(text, sizeof(text));
		printf("%s%s", q->urls > 0 ? "\n" : "", text);
	}
	return fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
}

int
cli_size(int argc, char **argv)
{
	struct question q = {.fpr = 0.01, .sightings = 3};
	struct flags f = {
		.command = "size",
		.synopsis = "--urls N [--fpr P] [--sightings N] [--table]",
		.about = about,
		.rows = rows,
		.argc = argc,
		.argv = argv,
	};

	for (;;) {
		int row = flags_next(&f);

		if (row == FLAGS_END)
			return print_sizes(&f, &q);
		if (row == FLAGS_EXIT || on_flag(&f, row, &q) == FLAGS_EXIT)
			return f.exit_code;
	}
}
