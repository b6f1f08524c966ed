/* simulate.c - `twice simulate`: what would it have saved on these logs? */
#include "config/config.h"
#include "config/load.h"
#include "config/units.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/simulate/simulate_flags.h"
#include "proxy/cli/terminal.h"
#include "proxy/simulate/page.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was not said ------------------------------------------------------------------------
 */

static const char *const default_policies[] = {
	"all",
	"all+eviction=lru",
	"2",
	"auto",
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
static const char *const default_curves[] = {"all", "auto"};
/* Of the log's distinct bytes, in millionths: the main one first. */
static const uint64_t default_disks[] = {100000, 25000, 50000, 200000, 400000};

/* One pass does not know how many URLs there are, and a choice needs the filter pair. */
static bool
is_for(const struct command *c, const char *policy, bool one_pass)
{
	return !(one_pass && strstr(policy, "capacity")) &&
	       !(c->config.admission.filter != CONFIG_FILTER_PAIR && strcmp(policy, "auto") == 0);
}

static void
default_list(const struct command *c, const char **to, unsigned *n, const char *const *from,
	     size_t count)
{
	bool one_pass = study_passes(&c->o) == 1;
	for (size_t i = 0; i < count; i++)
		if (is_for(c, from[i], one_pass))
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
	o->base.sights.memory = (struct twice_filter_options){
		.kind = (enum twice_filter_kind)a->filter,
		.sightings = a->sightings > 1 ? a->sightings : 2,
		.capacity = a->capacity,
		.false_positives = a->false_positives,
		.rotate_after_s = a->rotate_after_s,
		.seed = 1,
	};
	o->screen.packed.off = o->screen.packed.off || a->compress.cpu <= 0;
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
	if (!o->policies_n)
		default_list(c, o->policies, &o->policies_n, default_policies,
			     sizeof default_policies / sizeof *default_policies);
	if (!o->curves_n)
		default_list(c, o->curves, &o->curves_n, default_curves,
			     sizeof default_curves / sizeof *default_curves);
}

/* ---- while it runs -----------------------------------------------------------------------------
 */

static atomic_uint stops;

static void
on_signal(int signal_number)
{
	if (atomic_fetch_add(&stops, 1) < 2) /* each ends a pass */
		return;
	signal(signal_number, SIG_DFL); /* nobody has heard them: the input is silent */
	raise(signal_number);
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

/* Sizes may be shares of what only the logs tell: here any will do. */
static bool
are_policies(const struct command *c, const char *const *words, unsigned n)
{
	char err[1024];
	struct policy_spec spec, base = c->o.base;
	base.urls = 1e6;
	base.disk_bytes = base.memory_bytes = UINT64_C(1) << 30;
	for (unsigned i = 0; i < n; i++)
		if (policy_parse(&spec, &base, words[i], err, sizeof err) != 0) {
			cli_complain("simulate", "%s", err);
			return false;
		}
	return true;
}

/* A misspelt name would be a simulation of something else. */
static bool
complain_of_fields(const struct command *c)
{
	const char *name = roles_missing(&c->own);
	if (name)
		cli_complain("simulate",
			     "--field: no column and no key of the logs is called \"%s\"; look at "
			     "their first lines, and at --format",
			     name);
	return name != NULL;
}

static int
run(struct command *c)
{
	char err[1024];
	struct study s;
	if (!are_policies(c, c->o.policies, c->o.policies_n) ||
	    !are_policies(c, c->o.curves, c->o.curves_n))
		return CLI_USAGE;
	int width = terminal_columns();
	struct sigaction on = {.sa_handler = on_signal};
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	c->o.stop = &stops;
	c->o.tell = width ? show_progress : NULL;
	c->o.ctx = &width;
	if (study_run(&s, &c->o, err, sizeof err) != 0) {
		cli_complain("simulate", "%s", err);
		return complain_of_fields(c) ? CLI_USAGE : CLI_FAILED;
	}
	if (width)
		fprintf(stderr, "\033[K");
	if (complain_of_fields(c)) {
		study_fini(&s);
		return CLI_USAGE;
	}
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
	if (!c)
		return CLI_FAILED;
	config_init(&c->config);
	int code = simulate_parse(c, argc, argv);
	if (code < 0 && config_load_flags(&c->config, c->config_path, NULL, 0, err, sizeof err)) {
		cli_complain("simulate", "%s", err);
		code = CLI_USAGE;
	}
	if (code < 0) {
		complete(c);
		code = run(c);
	}
	config_fini(&c->config);
	for (unsigned i = 0; i < c->copies_n; i++)
		free(c->copies[i]);
	free(c);
	return code;
}
