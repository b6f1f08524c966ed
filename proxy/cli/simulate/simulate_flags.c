/* simulate_flags.c - the flags of `twice simulate`. */
#include "proxy/cli/simulate/simulate_flags.h"

#include "config/units.h"
#include "proxy/cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
	"Tells what twice would have done with the requests of access logs or traces: what it would\n"
	"have written to disk, at which hit ratio, beside a cache that writes everything. It runs the\n"
	"proxy's own rule, filters and eviction. Formats and packings are found by looking (the logs of web\n"
	"servers, proxies and CDNs as text, JSON, logfmt or columns with titles, traces, also from containers;\n"
	"plain, gzip, zstd, xz); several logs are merged by time; - is standard input. Policies are\n"
	"written as: all, 2, 3, ... or bound (what no cache of this size exceeds), and then settings:\n"
	"2+capacity=1M+filter=stable+fpr=1%+rotate=24h+max=1MiB+exp=64KiB+budget=10MiB+eviction=lru+ram=1GiB.\n"
	"Without rotate, admission.rotate_after of -c holds: auto, the default, lasts until a tenth of the disk is written anew.";

enum {
	DISK,
	MEMORY,
	POLICIES,
	CURVES,
	EVICTION,
	CONFIG,
	FORMAT,
	FIELD,
	SKIP,
	ONLY,
	FRESH,
	PACKING,
	SAMPLE,
	USE_MEMORY,
	THREADS,
	SEED,
	TBW,
	HTML,
	JSON,
};
static const struct flag rows[] = {
	[DISK] =
		{"--disk", "LIST",
		 "disk sizes, the main one first: 100GiB,200GiB or shares of the log's distinct bytes: 10%,20%",
		 NULL},
	[MEMORY] = {"--memory", "SIZE",
		    "of the RAM tier: 1GiB, or a share of the disk (default 10%)", NULL},
	[POLICIES] = {"--policies", "LIST", "policies to compare at the main disk", NULL},
	[CURVES] = {"--curves", "LIST", "policies to compare at the other disks (default all,auto)",
		    NULL},
	[EVICTION] = {"--eviction", "WORD",
		      "of all policies: twice, or lru, an exact one of bytes (default twice)", NULL},
	[CONFIG] = {"-c", "FILE", "routes, query rules, filter and sizes of this configuration",
		    NULL},
	[FORMAT] =
		{"--format", "WORD",
		 "of the logs: clf, json, table, ...; a wrong word prints all (default auto)",
		 NULL},
	[FIELD] =
		{"--field", "ROLE=NAME",
		 "the column or key NAME (a.b.c where it is nested) is the time, method, scheme, host, target, query, status, size, bytes, id, client, lifetime, range, type, coding",
		 NULL},
	[SKIP] = {"--skip", "PATTERN",
		  "leave out paths that match, such as /api/*; may be repeated", NULL},
	[ONLY] = {"--only", "PATTERN", "leave out paths that do not match; may be repeated", NULL},
	[FRESH] = {"--fresh", "LIST",
		   "how long objects are fresh: 1h, or .html=5m,.jpg=30d,1d (default: for ever)",
		   NULL},
	[PACKING] =
		{"--packing", "LIST",
		 "what packing leaves of text: auto (by type), off, or .html=30%,.js=25%,35% (default auto)",
		 NULL},
	[SAMPLE] = {"--sample", "SHARE",
		    "of the URLs: auto (as many as fit), off, or a share such as 1%", NULL},
	[USE_MEMORY] =
		{"--use-memory", "SIZE",
		 "memory that the simulation itself may take (default a quarter of the machine's, at most 8GiB)",
		 NULL},
	[THREADS] = {"--threads", "N",
		     "for the policies, beside one that reads (default one per core)", NULL},
	[SEED] = {"--seed", "N",
		  "of the hashes: another one draws other false positives (default 1)", NULL},
	[TBW] = {"--tbw", "SIZE",
		 "bytes that the drive endures in its life: 600TB (default 600 times the disk)",
		 NULL},
	[HTML] = {"--html", "FILE", "write a page with plots and tables too", NULL},
	[JSON] = {"--json", NULL, "print the result as JSON", NULL},
	{NULL, NULL, NULL, NULL},
};

/* The next word of a list; the list is a copy that the command owns. */
static char *
cut_list(struct command *c, const char *text, char **save)
{
	if (*save)
		return strtok_r(NULL, ",", save);
	if (c->copies_n == SIMULATE_WORDS_MOST)
		return NULL;
	c->copies[c->copies_n] = strdup(text);
	return c->copies[c->copies_n] ? strtok_r(c->copies[c->copies_n++], ",", save) : NULL;
}

/* A list without words: "" or ",". */
static bool
is_empty_list(struct flags *f, const char *example)
{
	bool empty = strspn(f->value, ",") == strlen(f->value);
	if (empty)
		flags_refuse(f, "\"%s\" names nothing; write %s", f->value, example);
	return empty;
}

static void
take_disks(struct command *c, struct flags *f)
{
	if (is_empty_list(f, "sizes such as 100GiB or 10%"))
		return;
	char *save = NULL;
	c->o.disks_n = 0;
	for (char *word; (word = cut_list(c, f->value, &save));) {
		uint64_t room;
		if (c->o.disks_n == STUDY_DISKS_MOST || units_parse_room(word, &room) != 0 ||
		    (room & ~UNITS_ROOM_SHARE) == 0) {
			flags_refuse(
				f,
				"\"%s\" is no size of a disk; write up to %d such as 100GiB or 10%%",
				word, STUDY_DISKS_MOST);
			return;
		}
		c->o.disks[c->o.disks_n++] = room;
	}
}

static void
take_words(struct command *c, struct flags *f, const char **to, unsigned *n)
{
	char *save = NULL;
	if (is_empty_list(f, "policies such as all,2,3"))
		return;
	*n = 0;
	for (char *word; (word = cut_list(c, f->value, &save));) {
		if (*n == STUDY_POLICIES_MOST) {
			flags_refuse(f, "these are more than %d policies", STUDY_POLICIES_MOST);
			return;
		}
		to[(*n)++] = word;
	}
}

static void
take_pattern(struct flags *f, const char **to, unsigned *n)
{
	if (*n == SCREEN_PATTERNS_MOST)
		flags_refuse(f, "these are more than %d patterns", SCREEN_PATTERNS_MOST);
	else
		to[(*n)++] = f->value;
}

/* ".html=5m", or "1h" for all that has no row of its own. */
static void
take_lifetimes(struct command *c, struct flags *f)
{
	struct screen_options *o = &c->o.screen;
	char *save = NULL;
	if (is_empty_list(f, "lifetimes such as 1h, or .html=5m,1d"))
		return;
	for (char *word; (word = cut_list(c, f->value, &save));) {
		char *value = strchr(word, '=');
		uint64_t ms = 0;
		if (value)
			*value++ = 0;
		if (o->lifetimes_n == SCREEN_LIFETIMES_MOST ||
		    units_parse_ms(value ? value : word, &ms) != 0 || ms / 1000 >= UINT32_MAX) {
			flags_refuse(f, "\"%s\" is no lifetime; write 1h, or .html=5m,1d",
				     value ? value : word);
			return;
		}
		o->lifetimes[o->lifetimes_n++] =
			(struct screen_lifetime){value ? word : "", (uint32_t)(ms / 1000)};
	}
}

/* ".html=30%", or "35%" for all text that has no row of its own. */
static void
take_packing(struct command *c, struct flags *f)
{
	struct packed_options *o = &c->o.screen.packed;
	char *save = NULL;
	*o = (struct packed_options){.off = strcmp(f->value, "off") == 0};
	if (o->off || strcmp(f->value, "auto") == 0 ||
	    is_empty_list(f, "auto, off, or shares such as .html=30%,35%"))
		return;
	for (char *word; (word = cut_list(c, f->value, &save));) {
		char *value = strchr(word, '=');
		double share = 0;
		if (value)
			*value++ = 0;
		if (o->shares_n == PACKED_SHARES_MOST ||
		    units_parse_share(value ? value : word, &share) != 0 || !(share >= 0.001) ||
		    share > 1) {
			flags_refuse(f,
				     "\"%s\" is no share that packing leaves; write auto, off, or "
				     ".html=30%%,35%%",
				     value ? value : word);
			return;
		}
		o->shares[o->shares_n++] =
			(struct packed_share){value ? word : "", (uint16_t)(1000 * share + 0.5)};
	}
}

static void
take_field(struct command *c, struct flags *f)
{
	const char *equals = strchr(f->value, '=');
	char role[32];
	snprintf(role, sizeof role, "%.*s", equals ? (int)(equals - f->value) : 0, f->value);
	if (!equals || roles_name(&c->own, role, equals + 1) != 0)
		flags_refuse(f, "\"%s\" is not ROLE=NAME; roles are: %s", f->value, roles_words());
}

static void
take_sample(struct command *c, struct flags *f)
{
	double share;
	c->o.never_samples = strcmp(f->value, "off") == 0;
	c->o.halvings = 0;
	if (c->o.never_samples || strcmp(f->value, "auto") == 0)
		return;
	if (units_parse_share(f->value, &share) != 0 || !(share > 1e-6))
		flags_refuse(f, "\"%s\" is no sample; write auto, off, or a share such as 1%%",
			     f->value);
	else
		c->o.halvings = (unsigned)floor(-log2(share) + 1e-9);
}

static void
take_eviction(struct command *c, struct flags *f)
{
	c->o.base.lru = strcmp(f->value, "lru") == 0;
	if (!c->o.base.lru && strcmp(f->value, "twice") != 0)
		flags_refuse(f, "\"%s\" is no eviction; write twice or lru", f->value);
}

static void
take_room(struct flags *f, uint64_t *out)
{
	if (units_parse_room(f->value, out) != 0)
		flags_refuse(f, "\"%s\" is no size; write one such as 1GiB, or a share", f->value);
}

static void
take_number(struct flags *f, uint64_t least, uint64_t most, uint64_t *out)
{
	if (units_parse_count(f->value, out) != 0 || *out < least || *out > most)
		flags_refuse(f, "\"%s\" is not a number from %llu to %llu", f->value,
			     (unsigned long long)least, (unsigned long long)most);
}

static void
take_seed(struct command *c, uint64_t n)
{
	uint64_t bytes[2] = {n, 0x7477696365ULL};
	twice_seed_init(&c->o.screen.seed, bytes, sizeof bytes);
}

static void
take_log(struct command *c, struct flags *f)
{
	if (c->o.logs_n == MERGE_MOST)
		flags_refuse(f, "these are more than %d logs", MERGE_MOST);
	else
		c->o.logs[c->o.logs_n++] = f->value;
}

/* flat: one case for each flag */
static void
take_flag(struct command *c, struct flags *f, int row)
{
	uint64_t n = 0;
	switch (row) {
	case FLAGS_WORD:
		take_log(c, f);
		break;
	case DISK:
		take_disks(c, f);
		break;
	case MEMORY:
		take_room(f, &c->o.memory);
		break;
	case POLICIES:
		take_words(c, f, c->o.policies, &c->o.policies_n);
		break;
	case CURVES:
		take_words(c, f, c->o.curves, &c->o.curves_n);
		break;
	case EVICTION:
		take_eviction(c, f);
		break;
	case CONFIG:
		c->config_path = f->value;
		break;
	case FORMAT:
		if (parse_format_of(f->value, &c->o.source.format) != 0)
			flags_refuse(f, "there is no format \"%s\"; there are %s", f->value,
				     parse_words());
		break;
	case FIELD:
		take_field(c, f);
		break;
	case SKIP:
		take_pattern(f, c->o.screen.skip, &c->o.screen.skip_n);
		break;
	case ONLY:
		take_pattern(f, c->o.screen.only, &c->o.screen.only_n);
		break;
	case FRESH:
		take_lifetimes(c, f);
		break;
	case PACKING:
		take_packing(c, f);
		break;
	case SAMPLE:
		take_sample(c, f);
		break;
	case USE_MEMORY:
		if (units_parse_bytes(f->value, &c->o.use_bytes) != 0)
			flags_refuse(f, "\"%s\" is no size; write one such as 4GiB", f->value);
		break;
	case THREADS:
		take_number(f, 1, 64, &n);
		c->o.threads = (unsigned)n;
		break;
	case SEED:
		take_number(f, 0, UINT64_MAX, &n);
		take_seed(c, n);
		break;
	case TBW:
		if (units_parse_bytes(f->value, &c->o.tbw) != 0)
			flags_refuse(f, "\"%s\" is no size; write one such as 600TB", f->value);
		break;
	case HTML:
		c->html_path = f->value;
		break;
	case JSON:
		c->json = true;
		break;
	default:
		break;
	}
}

int
simulate_parse(struct command *c, int argc, char **argv)
{
	struct flags f = {.command = "simulate",
			  .synopsis = "[flags] LOG...",
			  .about = about,
			  .rows = rows,
			  .argc = argc,
			  .argv = argv,
			  .exit_code = -1};
	int row;
	c->o.source.format = FORMAT_AUTO;
	take_seed(c, 1);
	while ((row = flags_next(&f)) != FLAGS_END && row != FLAGS_EXIT && f.exit_code < 0)
		take_flag(c, &f, row);
	if (f.exit_code < 0 && c->o.logs_n == 0)
		flags_refuse(
			&f,
			"name at least one log, or - for standard input; see twice simulate --help");
	return f.exit_code;
}
