/* study.c - two passes over the logs, and all policies at once in the second one. */
#include "proxy/simulate/study.h"

#include "config/units.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/simulate/crew.h"
#include "proxy/simulate/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ENTRY_BYTES = 192, /* of a policy, for an object */
	LEAST_ENTRIES = 8 << 10,
	TELL_EVERY_US = 250000,
};
static const uint64_t GIB = UINT64_C(1) << 30;
static const uint64_t MOST_USED = UINT64_C(8) << 30;

struct run {
	const struct study_options *o;
	struct merge *merge;
	struct screen *screen;
	struct catalogue *catalogue;
	struct feed *feed;
	struct crew *crew;
	struct sights *sights[STUDY_ROWS_MOST];
	struct sights_known *known[STUDY_ROWS_MOST]; /* owned; of a batch */
	bool asked[STUDY_ROWS_MOST];		     /* some policy wants to know */
	unsigned sights_n;
	bool has_no_parts; /* the log; known from the first pass */
	struct policy_spec specs[STUDY_ROWS_MOST];
	unsigned disk_of[STUDY_ROWS_MOST];
	struct policy *policies[STUDY_ROWS_MOST];
	unsigned policies_n;
	const struct feed_batch *batch;
	uint64_t use_bytes;
	int64_t begun_us, told_us;
	unsigned pass, passes, stops; /* stops: that were heard */
	uint64_t most_entries;
	uint32_t begin_s, end_s; /* of this pass */
	bool stopped, cut;	 /* this pass; any pass */
	char *err;
	size_t err_bytes;
};

static int
say(struct run *r, const char *text)
{
	snprintf(r->err, r->err_bytes, "%s", text);
	return -1;
}

/* ---- which policies, of which sizes -------------------------------------------------------- */

static uint64_t
room_of(uint64_t room, double whole)
{
	if (!(room & UNITS_ROOM_SHARE))
		return room;
	double bytes = (double)(room & ~UNITS_ROOM_SHARE) / 1e6 * whole;
	return bytes < 1 ? 1 : (uint64_t)bytes;
}

static uint64_t
disk_bytes(const struct run *r, unsigned disk, const struct catalogue_facts *log)
{
	uint64_t room = r->o->disks[disk], bytes = room_of(room, log->bytes);
	bool small = bytes < STUDY_LEAST_DISK && (room & UNITS_ROOM_SHARE); /* of a small log */
	return small ? STUDY_LEAST_DISK : bytes;
}

/* Shares of a small log are the same disk. */
static bool
is_there_already(const struct run *r, unsigned disk, const struct catalogue_facts *log)
{
	for (unsigned d = 0; d < disk; d++)
		if (disk_bytes(r, d, log) == disk_bytes(r, disk, log))
			return (r->o->disks[disk] & UNITS_ROOM_SHARE) != 0;
	return false;
}

static int
add_policy(struct run *r, const char *text, unsigned disk, const struct catalogue_facts *log)
{
	struct policy_spec base = r->o->base, *spec = &r->specs[r->policies_n];
	if (r->policies_n == STUDY_ROWS_MOST)
		return say(r, "these are too many policies; name fewer, or fewer disks");
	base.urls = r->passes < 2 ? 0 : log->urls > 0 ? log->urls : 1;
	base.disk_bytes = disk_bytes(r, disk, log);
	base.memory_bytes = room_of(r->o->memory, (double)base.disk_bytes);
	if (policy_parse(spec, &base, text, r->err, r->err_bytes) != 0)
		return -1;
	if (spec->disk_bytes < STUDY_LEAST_DISK && !spec->lru)
		return say(r, "the proxy's disk is 8MiB at least: give --disk 8MiB or more, or "
			      "--eviction lru");
	r->disk_of[r->policies_n++] = disk;
	return 0;
}

static int
choose_policies(struct run *r)
{
	struct catalogue_facts log;
	catalogue_facts(r->catalogue, &log);
	for (unsigned d = 0; d < r->o->disks_n; d++) {
		if ((r->o->disks[d] & UNITS_ROOM_SHARE) && r->passes == 1)
			return say(r,
				   "a disk as a share of the log's bytes needs a log that can be "
				   "read twice; give --disk in bytes, such as 100GiB");
		if (is_there_already(r, d, &log))
			continue;
		const char *const *texts = d ? r->o->curves : r->o->policies;
		unsigned n = d ? r->o->curves_n : r->o->policies_n;
		for (unsigned i = 0; i < n; i++)
			if (add_policy(r, texts[i], d, &log) != 0)
				return -1;
	}
	return 0;
}

static struct sights *
sights_for(struct run *r, const struct policy_spec *spec)
{
	struct sights_options o = spec->sights;
	/* Others ask it only which parts are sightings. */
	bool asks = spec->sightings > 1 && !spec->bound;
	o.by_turns = asks;
	o.exact = o.exact || (!asks && r->has_no_parts);
	for (unsigned i = 0; i < r->sights_n; i++)
		if (sights_are_like(r->sights[i], &o)) {
			r->asked[i] = r->asked[i] || asks || !r->has_no_parts;
			return r->sights[i];
		}
	char why[256];
	struct sights *s = sights_create(&o, why, sizeof why);
	if (!s) {
		snprintf(r->err, r->err_bytes, "policy %s: %s", spec->text, why);
		return NULL;
	}
	r->known[r->sights_n] = mem_zalloc(FEED_BATCH * sizeof *r->known[0]);
	r->asked[r->sights_n] = asks || !r->has_no_parts;
	r->sights[r->sights_n++] = s;
	return s;
}

static uint32_t
entries_for(const struct run *r, uint64_t bytes)
{
	if (r->o->never_samples)
		return UINT32_C(1) << 30;
	uint64_t n = bytes / r->policies_n / ENTRY_BYTES;
	return n < LEAST_ENTRIES ? LEAST_ENTRIES : n < 1 << 30 ? (uint32_t)n : 1 << 30;
}

/* Filters see every request, so they are as large as they would be in the proxy. What they leave of
 * the policies' half of the memory is for objects. -1: nothing worth having. */
static int
share_memory(struct run *r, uint64_t *left)
{
	uint64_t filters = 0, half = r->use_bytes / 2;
	char a[UNITS_BYTES], b[UNITS_BYTES];
	*left = half;
	for (unsigned i = 0; i < r->sights_n; i++) {
		struct sights_facts f;
		sights_facts(r->sights[i], &f);
		filters += f.memory_bytes;
	}
	*left -= filters < half ? filters : half;
	if (r->o->never_samples || *left >= half / 8)
		return 0;
	snprintf(
		r->err, r->err_bytes,
		"the filters of these policies take %s, and half of --use-memory is %s; name fewer "
		"policies, smaller filters (2+capacity=1M), or give --use-memory more",
		units_say_bytes(filters, a), units_say_bytes(half, b));
	return -1;
}

static int
make_policies(struct run *r)
{
	struct sights *of[STUDY_ROWS_MOST];
	uint64_t left;
	if (choose_policies(r) != 0)
		return -1;
	for (unsigned i = 0; i < r->policies_n; i++)
		if (!(of[i] = sights_for(r, &r->specs[i])))
			return -1;
	if (share_memory(r, &left) != 0)
		return -1;
	for (unsigned i = 0; i < r->policies_n; i++)
		r->policies[i] = policy_create(&r->specs[i], of[i], entries_for(r, left));
	return 0;
}

/* ---- a pass -------------------------------------------------------------------------------- */

static void
see_task(void *ctx, unsigned i)
{
	struct run *r = ctx;
	if (!r->asked[i] || sights_are_by_turns(r->sights[i]))
		return; /* by turns: its policy asks it */
	sights_see(r->sights[i], r->batch->visits, r->batch->n, r->known[i]);
}

static void
policy_task(void *ctx, unsigned i)
{
	struct run *r = ctx;
	unsigned k = 0;
	while (r->sights[k] != policy_sights(r->policies[i]))
		k++;
	policy_run(r->policies[i], r->batch->visits, r->batch->n, r->batch->sample, r->known[k]);
}

static void
tell(struct run *r)
{
	int64_t now = now_us();
	if (!r->o->tell || now - r->told_us < TELL_EVERY_US)
		return;
	r->told_us = now;
	r->o->tell(r->o->ctx,
		   &(struct study_progress){.pass = r->pass,
					    .passes = r->passes,
					    .share = merge_progress(r->merge),
					    .lines = feed_entries(r->feed),
					    .seconds = (double)(now - r->begun_us) / 1e6});
}

static bool
is_told_to_stop(const struct run *r)
{
	return r->o->stop && atomic_load_explicit(r->o->stop, memory_order_relaxed) > r->stops;
}

static int
open_logs(struct run *r)
{
	screen_destroy(&r->screen);
	merge_close(&r->merge);
	struct source_options so = r->o->source;
	so.stop = r->o->stop;
	r->merge = merge_open(r->o->logs, r->o->logs_n, &so, r->err, r->err_bytes);
	if (!r->merge)
		return -1;
	r->screen = screen_create(&r->o->screen);
	return 0;
}

/* 0; -1: no log has a line. */
static int
expect_lines(struct run *r)
{
	struct source_facts f;
	for (unsigned i = 0; i < merge_count(r->merge); i++) {
		merge_facts(r->merge, i, &f);
		if (f.lines)
			return 0;
	}
	return say(r, r->stopped ? "it was stopped before there was a line"
				 : "the log is empty: there are no lines in it");
}

/* Ends the feed; -1 when the log could not be read to its end. */
static int
end_feed(struct run *r)
{
	bool failed = !r->stopped && feed_failed(r->feed);
	r->stops += r->stopped;
	r->cut = r->cut || r->stopped;
	uint64_t entries = feed_close(&r->feed);
	/* Of a log that grows, or was left in the middle, the second pass sees no more. */
	if (r->pass == 1)
		r->most_entries = entries;
	return failed ? say(r, merge_trouble(r->merge)) : expect_lines(r);
}

/* Over what time the policies have run. */
static void
note_times(struct run *r)
{
	for (size_t i = 0; i < r->batch->n; i++) {
		uint32_t s = r->batch->visits[i].now_s;
		r->begin_s = s < r->begin_s ? s : r->begin_s;
		r->end_s = s > r->end_s ? s : r->end_s;
	}
}

static int
go_through(struct run *r)
{
	r->begun_us = now_us();
	r->pass++;
	r->stopped = false;
	r->feed = feed_open(r->merge, r->screen, r->catalogue, r->most_entries);
	if (!r->feed)
		return say(r, "no thread can be started");
	r->begin_s = UINT32_MAX;
	r->end_s = 0;
	while (!r->stopped && (r->batch = feed_next(r->feed))) {
		note_times(r);
		crew_run(r->crew, r->sights_n, see_task, r);
		crew_run(r->crew, r->policies_n, policy_task, r);
		tell(r);
		r->stopped = is_told_to_stop(r);
	}
	r->stopped = r->stopped || is_told_to_stop(r); /* a pipe ends then */
	return end_feed(r);
}

/* ---- all of it ----------------------------------------------------------------------------- */

unsigned
study_passes(const struct study_options *o)
{
	for (unsigned i = 0; i < o->logs_n; i++) {
		struct stat st;
		if (strcmp(o->logs[i], "-") == 0 || stat(o->logs[i], &st) != 0 ||
		    !S_ISREG(st.st_mode))
			return 1;
	}
	return 2;
}

/* A quarter of the machine's memory, at most 8 GiB. */
static uint64_t
memory_to_use(const struct study_options *o)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
	if (o->use_bytes)
		return o->use_bytes;
	return all < GIB / 4 ? GIB / 4 : all < MOST_USED ? all : MOST_USED;
}

static void
collect(struct run *r, struct study *out)
{
	out->rows = mem_zalloc((r->policies_n + 1) * sizeof *out->rows);
	out->rows_n = r->policies_n;
	for (unsigned i = 0; i < r->policies_n; i++) {
		struct study_row *row = &out->rows[i];
		row->spec = r->specs[i];
		row->disk = r->disk_of[i];
		policy_facts(r->policies[i], &row->facts);
		sights_facts(policy_sights(r->policies[i]), &row->sights);
		out->memory_bytes += (double)row->facts.memory_bytes;
	}
	for (unsigned i = 0; i < r->sights_n; i++) {
		struct sights_facts s;
		sights_facts(r->sights[i], &s);
		out->memory_bytes += (double)s.memory_bytes;
	}
	out->logs_n = merge_count(r->merge);
	for (unsigned i = 0; i < out->logs_n; i++) {
		merge_facts(r->merge, i, &out->logs[i]);
		out->lines += out->logs[i].lines;
	}
	screen_facts(r->screen, &out->screen);
	catalogue_facts(r->catalogue, &out->log);
	out->memory_bytes += (double)out->log.memory_bytes;
	out->passes = r->passes;
	out->run_s = r->end_s > r->begin_s ? r->end_s - r->begin_s : 0;
	out->stopped = r->cut;
}

static int
study(struct run *r, struct study *out)
{
	int64_t begun = now_us();
	uint64_t rows =
		r->o->never_samples ? UINT64_MAX / 4 : r->use_bytes / 2 / catalogue_row_bytes();
	r->catalogue = catalogue_create(rows, r->o->halvings);
	r->crew = crew_create(r->o->threads ? r->o->threads
					    : (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	if (open_logs(r) != 0)
		return -1;
	if (r->passes == 2) {
		struct screen_facts seen;
		if (go_through(r) != 0)
			return -1;
		screen_facts(r->screen, &seen);
		r->has_no_parts = seen.parts == 0;
		if (open_logs(r) != 0)
			return -1;
		catalogue_rewind(r->catalogue);
	}
	if (make_policies(r) != 0 || go_through(r) != 0)
		return -1;
	collect(r, out);
	out->seconds = (double)(now_us() - begun) / 1e6;
	return 0;
}

int
study_run(struct study *out, const struct study_options *o, char *err, size_t err_bytes)
{
	struct run *r = NEW(struct run);
	*out = (struct study){0};
	r->o = o;
	r->err = err;
	r->err_bytes = err_bytes;
	r->use_bytes = memory_to_use(o);
	r->passes = study_passes(o);
	r->most_entries = UINT64_MAX;
	int result = study(r, out);
	feed_close(&r->feed);
	for (unsigned i = 0; i < r->policies_n; i++)
		policy_destroy(&r->policies[i]);
	for (unsigned i = 0; i < r->sights_n; i++) {
		sights_destroy(&r->sights[i]);
		free(r->known[i]);
	}
	crew_destroy(&r->crew);
	catalogue_destroy(&r->catalogue);
	screen_destroy(&r->screen);
	merge_close(&r->merge);
	free(r);
	return result;
}

void
study_fini(struct study *s)
{
	free(s->rows);
	*s = (struct study){0};
}

const struct study_row *
study_baseline(const struct study *s, const struct study_row *row)
{
	for (unsigned i = 0; i < s->rows_n; i++)
		if (s->rows[i].disk == row->disk && strcmp(s->rows[i].spec.text, "all") == 0)
			return &s->rows[i];
	return NULL;
}

bool
study_has_urls(const struct study *s)
{
	for (unsigned i = 0; i < s->logs_n; i++)
		if (parse_has_urls(s->logs[i].format))
			return true;
	return false;
}
