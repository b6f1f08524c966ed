/* judgement.c - one function for each thing that may be wrong. */
#include "proxy/admin/judgement.h"

#include "proxy/admin/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAILING_SHARE  0.5
#define DEGRADED_SHARE 0.01

const char *
judgement_word(enum judgement_level level)
{
	static const char *const words[] = {"ok", "degraded", "failing"};
	return words[level];
}

/* ---- reasons --------------------------------------------------------------------------------- */

/* Its place is behind those that are as bad or worse. */
static struct judgement_reason *
add_reason(struct judgement *j, enum judgement_level level)
{
	unsigned at = j->count;
	assert(j->count < JUDGEMENT_REASONS_MOST);
	for (; at > 0 && j->reasons[at - 1].level < level; at--)
		j->reasons[at] = j->reasons[at - 1];
	j->count++;
	j->reasons[at] = (struct judgement_reason){.level = level};
	if (level > j->level)
		j->level = level;
	return &j->reasons[at];
}

__attribute__((format(printf, 3, 4))) static struct judgement_reason *
say(struct judgement *j, enum judgement_level level, const char *fmt, ...)
{
	struct judgement_reason *why = add_reason(j, level);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(why->says, sizeof why->says, fmt, ap);
	va_end(ap);
	return why;
}

/* As many names as there is room for. */
__attribute__((format(printf, 2, 3))) static void
add_name(struct judgement_reason *why, const char *fmt, ...)
{
	size_t n = strlen(why->names);
	char name[320];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(name, sizeof name, fmt, ap);
	va_end(ap);
	if (n + strlen(name) + sizeof ", ..." < sizeof why->names)
		snprintf(why->names + n, sizeof why->names - n, "%s%s", n ? ", " : "", name);
	else if (n >= 3 && strcmp(why->names + n - 3, "...") != 0)
		snprintf(why->names + n, sizeof why->names - n, ", ...");
}

/* ---- the process ----------------------------------------------------------------------------- */

static void
look_at_process(const struct report *r, struct judgement *j)
{
	if (r->health.draining)
		say(j, JUDGEMENT_FAILING, "it is about to end");
	if (r->health.stalled_workers)
		say(j, JUDGEMENT_FAILING, "%u of %u workers stand still (the log says more)",
		    (unsigned)r->health.stalled_workers, r->workers);
	j->elsewhere = r->health.draining || r->health.stalled_workers;
}

/* ---- servers --------------------------------------------------------------------------------- */

static bool
is_same_group(const struct report_origin *a, const struct report_origin *b)
{
	return a->group == b->group || (a->group && b->group && strcmp(a->group, b->group) == 0);
}

/* No server of its group is well. */
static bool
is_group_lost(const struct report *r, const struct report_origin *o)
{
	for (unsigned i = 0; i < r->origin_count; i++)
		if (is_same_group(&r->origins[i], o) &&
		    r->origins[i].condition == REPORT_ORIGIN_WELL)
			return false;
	return true;
}

static void
look_at_servers(const struct report *r, struct judgement *j)
{
	unsigned bad = 0;
	bool lost = false;
	for (unsigned i = 0; i < r->origin_count; i++)
		if (r->origins[i].condition != REPORT_ORIGIN_WELL) {
			lost |= is_group_lost(r, &r->origins[i]);
			bad++;
		}
	if (!bad)
		return;
	enum judgement_level level = lost ? JUDGEMENT_FAILING : JUDGEMENT_DEGRADED;
	struct judgement_reason *why =
		r->origin_count == 1
			? say(j, level, "the only server of origins fails")
			: say(j, level, "%u of %u servers of origins %s%s", bad, r->origin_count,
			      bad == 1 ? "fails" : "fail",
			      lost && bad < r->origin_count ? ", and a group has no other" : "");
	for (unsigned i = 0; i < r->origin_count; i++) {
		const struct report_origin *o = &r->origins[i];
		if (o->condition != REPORT_ORIGIN_WELL)
			add_name(why, "%s is %s (%s)", o->url,
				 o->condition == REPORT_ORIGIN_OUT ? "out" : "failing",
				 o->why ? o->why : "");
	}
}

/* ---- answers --------------------------------------------------------------------------------- */

static void
look_at_answers(const struct report *r, struct judgement *j)
{
	double all = r->health.minute.came[REPORT_requests], failed = r->health.minute.failed;
	double share = all > failed ? failed / all : 1;
	if (failed < JUDGEMENT_ANSWERS_LEAST || share < DEGRADED_SHARE)
		return;
	say(j, share < FAILING_SHARE ? JUDGEMENT_DEGRADED : JUDGEMENT_FAILING,
	    "%.*f%% of the answers of the last minute are errors of 5xx", share < 0.1 ? 1 : 0,
	    100 * share);
}

/* ---- disks ----------------------------------------------------------------------------------- */

static void
look_at_disks(const struct report *r, struct judgement *j)
{
	struct judgement_reason *why = NULL;
	if (r->health.lost_directories)
		why = say(j, JUDGEMENT_DEGRADED,
			  "%u of %u directories of the cache cannot be used (the log says more)",
			  r->health.lost_directories, r->health.directories);
	else if (r->cache.failing)
		why = say(j, JUDGEMENT_DEGRADED, "nothing is stored, for a disk fails");
	for (unsigned i = 0; why && i < r->cache.disks_n; i++)
		if (r->cache.disks[i].failing)
			add_name(why, "%s", r->cache.disks[i].dir);
}

/* ---- what is configured -------------------------------------------------------------------------- */

static void
look_at_certificates(const struct report *r, struct judgement *j)
{
	const struct report_configuration *c = &r->configuration;
	unsigned ended = 0, ending = 0;
	for (unsigned i = 0; i < c->certificate_count; i++) {
		int64_t left_s = c->certificates[i].until_s - r->now_s;
		ended += left_s <= 0;
		ending += left_s > 0 && left_s < JUDGEMENT_CERTIFICATE_S;
	}
	if (!ended && !ending)
		return;
	struct judgement_reason *why =
		ended ? say(j, JUDGEMENT_DEGRADED, "%u certificate%s expired", ended,
			    ended == 1 ? " has" : "s have")
		      : say(j, JUDGEMENT_DEGRADED, "%u certificate%s within %d days", ending,
			    ending == 1 ? " ends" : "s end", JUDGEMENT_CERTIFICATE_S / 86400);
	for (unsigned i = 0; i < c->certificate_count; i++) {
		const struct report_certificate *one = &c->certificates[i];
		int64_t left_s = one->until_s - r->now_s;
		if (left_s <= 0)
			add_name(why, "%s (%s)", *one->name ? one->name : "no name", one->file);
		else if (left_s < JUDGEMENT_CERTIFICATE_S)
			add_name(why, "%s (%s) in %lld days", *one->name ? one->name : "no name",
				 one->file, (long long)(left_s / 86400));
	}
}

static void
look_at_changes(const struct report *r, struct judgement *j)
{
	const struct report_configuration *c = &r->configuration;
	if (c->refused)
		say(j, JUDGEMENT_DEGRADED,
		    "the last reload was refused, and the configuration of before is in use (the log says "
		    "why)");
	if (!*c->upgrade_failed)
		return;
	struct judgement_reason *why = say(j, JUDGEMENT_DEGRADED, "the last upgrade failed");
	add_name(why, "%s", c->upgrade_failed);
}

/* ---- the fleet ------------------------------------------------------------------------------- */

static void
look_at_fleet(const struct report *r, struct judgement *j)
{
	const struct report_fleet *f = &r->health.fleet;
	if (!f->engine_away)
		return;
	struct judgement_reason *why =
		say(j, JUDGEMENT_DEGRADED,
		    "the engine of the fleet cannot be used; its members stay as they are");
	add_name(why, "%s: %s", f->engine, *f->why ? f->why : "it does not answer");
}

void
judgement_of(const struct report *r, struct judgement *out)
{
	memset(out, 0, sizeof *out);
	look_at_process(r, out);
	look_at_servers(r, out);
	look_at_answers(r, out);
	look_at_disks(r, out);
	look_at_certificates(r, out);
	look_at_changes(r, out);
	look_at_fleet(r, out);
}

/* "draining" is a word that balancers may look for. */
void
judgement_print(const struct judgement *j, struct buf *out)
{
	buf_printf(out, "%s", judgement_word(j->level));
	for (unsigned i = 0; i < j->count; i++)
		buf_printf(out, "%s %s", i ? ";" : ":", j->reasons[i].says);
	buf_add_lit(out, "\n");
}
