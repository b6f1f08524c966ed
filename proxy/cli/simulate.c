/* simulate.c - `twice simulate`: what would it have saved on these logs? */
#include "config/config.h"
#include "config/units.h"
#include "proxy/cli/cli.h"
#include "proxy/simulate/account.h"
#include "proxy/simulate/page.h"
#include "proxy/cli/terminal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MOST 64

struct command {
	struct study_options o;
	struct config config;
	struct roles_own own;
	const char *config_path, *html_path;
	char *copies[WORDS_MOST]; /* owned: lists that were cut into words */
	unsigned copies_n;
	bool json;
	int code; /* below 0: go on */
};

static const char about[] =
	"Tells what twice would have done with the requests of access logs or traces: what it would\n"
	"have written to disk, at which hit ratio, beside a cache that writes everything. It runs the\n"
	"proxy's own rule, filters and eviction. Formats and packings are found by looking (Apache, nginx,\n"
	"Varnish, Squid, HAProxy, Traffic Server, Caddy, Envoy, CloudFront, Cloudflare, TSV, CSV, traces;\n"
	"plain, gzip, zstd, xz); several logs are merged by time; - is standard input. Policies are\n"
	"written as: all, 2, 3, ... or bound (writes only what is asked for again), and then settings:\n"
	"2+capacity=1M+filter=stable+fpr=1%+rotate=24h+max=1MiB+exp=64KiB+budget=10MiB+ram=1GiB.\n"
	"Without rotate, admission.rotate_after of -c holds: auto, the default, is a quarter of a turn of the disk's log.";

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
	[POLICIES] = {"--policies", "LIST", "what to compare at the main disk", NULL},
	[CURVES] = {"--curves", "LIST", "what to compare at the other disks (default all,2)", NULL},
	[EVICTION] = {"--eviction", "WORD",
		      "twice, or lru as other simulators have it (default twice)", NULL},
	[CONFIG] = {"-c", "FILE", "routes, query rules, filter and sizes of this configuration",
		    NULL},
	[FORMAT] =
		{"--format", "WORD",
		 "of the logs: clf, json, squid, haproxy, w3c, table, triple, oracle (default auto)",
		 NULL},
	[FIELD] =
		{"--field", "ROLE=NAME",
		 "the column or key NAME is the time, method, scheme, host, target, query, status, size, bytes, id, client, lifetime",
		 NULL},
	[SKIP] = {"--skip", "PATTERN",
		  "leave out paths that match, such as /api/*; may be repeated", NULL},
	[ONLY] = {"--only", "PATTERN", "leave out paths that do not match; may be repeated", NULL},
	[FRESH] = {"--fresh", "LIST",
		   "how long objects are fresh: 1h, or .html=5m,.jpg=30d,1d (default: for ever)",
		   NULL},
	[SAMPLE] = {"--sample", "SHARE",
		    "of the URLs: auto (as many as fit), off, or a share such as 1%", NULL},
	[USE_MEMORY] =
		{"--use-memory", "SIZE",
		 "what the simulation itself may take (default a quarter of the machine's, at most 8GiB)",
		 NULL},
	[THREADS] = {"--threads", "N",
		     "for the policies, beside one that reads (default one per core)", NULL},
	[SEED] = {"--seed", "N",
		  "of the hashes: another one draws other false positives (default 1)", NULL},
	[TBW] = {"--tbw", "SIZE",
		 "what the drive may be written in its life: 600TB (default 600 times the disk)",
		 NULL},
	[HTML] = {"--html", "FILE", "write a page with plots and tables too", NULL},
	[JSON] = {"--json", NULL, "print the result as JSON", NULL},
	{NULL, NULL, NULL, NULL},
};

/* ---- the command line ------------------------------------------------------------------------ */

/* The next word of a list; the list is a copy that the command owns. */
static char *
cut_list(struct command *c, const char *text, char **save)
{
	if (*save)
		return strtok_r(NULL, ",", save);
	if (c->copies_n == WORDS_MOST)
		return NULL;
	c->copies[c->copies_n] = strdup(text);
	return c->copies[c->copies_n] ? strtok_r(c->copies[c->copies_n++], ",", save) : NULL;
}

static void
take_disks(struct command *c, struct flags *f)
{
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
	filter_seed_init(&c->o.screen.seed, bytes, sizeof bytes);
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

static void
parse_flags(struct command *c, struct flags *f)
{
	int row;
	f->exit_code = -1;
	while ((row = flags_next(f)) != FLAGS_END && row != FLAGS_EXIT && f->exit_code < 0)
		take_flag(c, f, row);
	if (f->exit_code < 0 && c->o.logs_n == 0)
		flags_refuse(
			f,
			"name at least one log, or - for standard input; see twice simulate --help");
	c->code = f->exit_code;
}

/* ---- what was not said ------------------------------------------------------------------------
 */

static const char *const default_policies[] = {
	"all",
	"2",
	"3",
	"4",
	"2+capacity=10%",
	"2+capacity=1%",
	"2+rotate=6h",
	"2+rotate=24h",
	"2+ram=5%",
	"2+ram=20%",
	"bound",
};
static const char *const default_curves[] = {"all", "2"};
/* Of the log's distinct bytes, in millionths: the main one first. */
static const uint64_t default_disks[] = {100000, 25000, 50000, 200000, 400000};

static void
default_list(const char **to, unsigned *n, const char *const *from, size_t count, bool one_pass)
{
	if (*n)
		return;
	for (size_t i = 0; i < count; i++)
		if (!one_pass || (strcmp(from[i], "bound") != 0 && !strstr(from[i], "capacity")))
			to[(*n)++] = from[i];
}

static void
complete(struct command *c)
{
	struct study_options *o = &c->o;
	const struct config_admission *a = &c->config.admission;
	bool from_config = c->config_path != NULL;
	o->screen.config = &c->config;
	o->source.own = &c->own;
	o->base.sights.memory = (struct memory_options){
		.kind = (enum memory_kind)a->filter,
		.sightings = a->sightings > 1 ? a->sightings : 2,
		.capacity = a->capacity,
		.false_positives = a->false_positives,
		.rotate_after_s = a->rotate_after_s,
		.seed = 1,
	};
	o->base.max_object_bytes = c->config.cache.max_object_bytes;
	if (from_config)
		o->base.budget_bytes_s = config_budget(&c->config, &o->base.budget_saved_s);
	if (!o->disks_n && from_config)
		o->disks[o->disks_n++] = config_disk_bytes(&c->config);
	for (size_t i = 0; !o->disks_n && i < sizeof default_disks / sizeof *default_disks; i++)
		o->disks[i] = UNITS_ROOM_SHARE | default_disks[i];
	if (!o->disks_n)
		o->disks_n = sizeof default_disks / sizeof *default_disks;
	if (!o->memory)
		o->memory =
			from_config ? c->config.cache.memory_bytes : (UNITS_ROOM_SHARE | 100000);
	bool standard = false;
	for (unsigned i = 0; i < o->logs_n; i++)
		standard = standard || strcmp(o->logs[i], "-") == 0;
	default_list(o->policies, &o->policies_n, default_policies,
		     sizeof default_policies / sizeof *default_policies, standard);
	default_list(o->curves, &o->curves_n, default_curves,
		     sizeof default_curves / sizeof *default_curves, standard);
}

/* ---- while it runs -----------------------------------------------------------------------------
 */

static atomic_uint stops;

static void
on_signal(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&stops, 1);
}

static void
show_progress(void *ctx, const struct study_progress *p)
{
	char line[256], count[UNITS_BYTES];
	int width = *(int *)ctx;
	double rate = p->seconds > 0 ? (double)p->lines / p->seconds : 0;
	int n = snprintf(line, sizeof line, "pass %u of %u: ", p->pass, p->passes);
	if (p->share >= 0)
		n += snprintf(line + n, sizeof line - (size_t)n, "%3.0f%%, ", 100 * p->share);
	n += snprintf(line + n, sizeof line - (size_t)n, "%s lines, %.1f M a minute",
		      units_say_count(p->lines, count), rate * 60e-6);
	if (p->share > 0.01)
		snprintf(line + n, sizeof line - (size_t)n, ", %.0f s left in it",
			 p->seconds / p->share * (1 - p->share));
	fprintf(stderr, "%.*s\033[K\r", width - 1, line);
}

/* 0, or -1 and all said. */
static int
write_page(const struct command *c, const struct study *s)
{
	FILE *f = fopen(c->html_path, "w");
	if (f)
		page_write(f, s, &c->o);
	bool failed = !f || ferror(f);
	failed = (f && fclose(f) != 0) || failed;
	if (failed)
		cli_complain("simulate", "cannot write %s: %s", c->html_path, strerror(errno));
	return failed ? -1 : 0;
}

static int
run(struct command *c)
{
	char err[1024];
	struct study s;
	int width = terminal_columns();
	struct sigaction on = {.sa_handler = on_signal};
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	c->o.stop = &stops;
	c->o.tell = width ? show_progress : NULL;
	c->o.ctx = &width;
	if (study_run(&s, &c->o, err, sizeof err) != 0) {
		cli_complain("simulate", "%s", err);
		return CLI_FAILED;
	}
	if (width)
		fprintf(stderr, "\033[K");
	if (c->json)
		account_json(stdout, &s, &c->o);
	else
		account_text(stdout, &s, &c->o);
	int r = c->html_path ? write_page(c, &s) : 0;
	study_fini(&s);
	return fflush(stdout) == 0 && r == 0 ? CLI_FINE : CLI_FAILED;
}

int
cli_simulate(int argc, char **argv)
{
	struct command *c = calloc(1, sizeof *c);
	char err[1024];
	struct flags f = {.command = "simulate",
			  .synopsis = "[flags] LOG...",
			  .about = about,
			  .rows = rows,
			  .argc = argc,
			  .argv = argv};
	if (!c)
		return CLI_FAILED;
	c->o.source.format = FORMAT_AUTO;
	take_seed(c, 1);
	config_init(&c->config);
	parse_flags(c, &f);
	if (c->code < 0 &&
	    config_load_flags(&c->config, c->config_path, NULL, 0, err, sizeof err)) {
		cli_complain("simulate", "%s", err);
		c->code = CLI_USAGE;
	}
	if (c->code < 0) {
		complete(c);
		c->code = run(c);
	}
	int code = c->code;
	config_fini(&c->config);
	for (unsigned i = 0; i < c->copies_n; i++)
		free(c->copies[i]);
	free(c);
	return code;
}
