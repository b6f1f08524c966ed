/* advice.c - the choice, its reasons, and the settings to paste. */
#include "proxy/simulate/advice.h"

#include "config/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double A_POINT = 0.01, SAME = 0.002, A_TWENTIETH = 0.05;
static const double TYPICAL_FILLS = 600, YEAR_S = 365 * 86400.0;
static const double SMALL_MEMORY = 1 << 30, HEAD_BYTES = 256; /* of an object in memory */

/* ---- the choice ---------------------------------------------------------------------------- */

/* Only what can be configured. */
static bool
is_possible(const struct study_row *r)
{
	const struct policy_spec *p = &r->spec;
	return !p->bound && !p->exp_bytes && !p->sights.exact && !p->lru &&
	       (!p->large_sightings || p->chooses);
}

static bool
has_usual_memory(const struct study *s, const struct study_row *r)
{
	for (unsigned i = 0; i < s->rows_n; i++)
		if (s->rows[i].disk == r->disk)
			return s->rows[i].spec.memory_bytes == r->spec.memory_bytes;
	return false;
}

/* The best hit ratio of a disk with its usual memory; below 0: no row is of it. */
static double
best_of_disk(const struct study *s, uint64_t disk_bytes)
{
	double best = -1;
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i];
		if (is_possible(r) && has_usual_memory(s, r) && r->spec.disk_bytes == disk_bytes)
			best = fmax(best, r->facts.hit_ratio);
	}
	return best;
}

static uint64_t
smallest_good_disk(const struct study *s)
{
	double best = -1;
	uint64_t smallest = 0;
	for (unsigned i = 0; i < s->rows_n; i++)
		best = fmax(best, best_of_disk(s, s->rows[i].spec.disk_bytes));
	for (unsigned i = 0; i < s->rows_n; i++) {
		uint64_t disk = s->rows[i].spec.disk_bytes;
		if (best_of_disk(s, disk) >= best - A_POINT && (!smallest || disk < smallest))
			smallest = disk;
	}
	return smallest;
}

static const struct study_row *
fewest_written(const struct study *s, uint64_t disk)
{
	double floor = best_of_disk(s, disk) - A_POINT;
	const struct study_row *best = NULL;
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i];
		if (is_possible(r) && r->spec.disk_bytes == disk && has_usual_memory(s, r) &&
		    r->facts.hit_ratio >= floor &&
		    (!best || r->facts.written_bytes < best->facts.written_bytes))
			best = r;
	}
	return best;
}

/* At no higher price, and better in one of the two. */
static bool
dominates(const struct study_row *r, const struct study_row *than)
{
	const struct policy_facts *a = &r->facts, *b = &than->facts;
	return r->spec.disk_bytes <= than->spec.disk_bytes &&
	       r->spec.memory_bytes <= than->spec.memory_bytes && a->hit_ratio >= b->hit_ratio &&
	       a->written_bytes <= b->written_bytes &&
	       (a->hit_ratio > b->hit_ratio || a->written_bytes < b->written_bytes);
}

/* Saves clearly more at the same hit ratio, or a better one. */
static bool
is_better(const struct study_row *r, const struct study_row *than)
{
	bool saves = r->facts.hit_ratio >= than->facts.hit_ratio - SAME &&
		     r->facts.written_bytes < than->facts.written_bytes * (1 - A_TWENTIETH);
	return is_possible(r) && (saves || dominates(r, than));
}

static const struct study_row *
choose(const struct study *s)
{
	const struct study_row *r = fewest_written(s, smallest_good_disk(s));
	for (bool moved = r != NULL; moved;) {
		moved = false;
		for (unsigned i = 0; i < s->rows_n; i++)
			if (is_better(&s->rows[i], r)) {
				r = &s->rows[i];
				moved = true;
			}
	}
	return r;
}

/* ---- reasons ------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
say(struct advice *a, const char *fmt, ...)
{
	va_list args;
	if (a->reasons_n == ADVICE_REASONS)
		return;
	va_start(args, fmt);
	vsnprintf(a->reasons[a->reasons_n++], ADVICE_BYTES, fmt, args);
	va_end(args);
}

/* "2.1 points more hits, 12% fewer bytes written" */
static const char *
difference(const struct study_row *r, const struct study_row *from, char out[96])
{
	double points = 100 * (r->facts.hit_ratio - from->facts.hit_ratio);
	double written = from->facts.written_bytes > 0
				 ? 100 * (r->facts.written_bytes / from->facts.written_bytes - 1)
				 : 0;
	snprintf(out, 96, "%.1f points %s hits, %.0f%% %s bytes written", fabs(points),
		 points < 0 ? "fewer" : "more", fabs(written), written < 0 ? "fewer" : "more");
	return out;
}

/* The nearest row above (or below) the chosen one that differs in this one number alone. */
typedef double number_fn(const struct study_row *r);

static double
disk_of(const struct study_row *r)
{
	return (double)r->spec.disk_bytes;
}

static double
memory_of(const struct study_row *r)
{
	return (double)r->spec.memory_bytes;
}

static double
capacity_of(const struct study_row *r)
{
	return (double)r->spec.sights.memory.capacity;
}

/* Between what auto chooses from. */
static double
sightings_of(const struct study_row *r)
{
	return r->spec.sightings + (r->spec.chooses ? 0.5 : 0);
}

/* 0: auto. */
static double
rotate_of(const struct study_row *r)
{
	return (double)r->spec.sights.memory.rotate_after_s;
}

static bool
same(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(a);
}

static bool
differs_only_in(const struct study_row *a, const struct study_row *b, number_fn *number)
{
	static number_fn *const all[] = {disk_of, memory_of, capacity_of, sightings_of, rotate_of};
	/* Memory goes with the disk where it is a share of it. */
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] != number && !same(all[i](a), all[i](b)) &&
		    !(number == disk_of && all[i] == memory_of))
			return false;
	return !same(number(a), number(b)) &&
	       a->spec.sights.memory.kind == b->spec.sights.memory.kind &&
	       a->spec.max_object_bytes == b->spec.max_object_bytes &&
	       a->spec.budget_bytes_s == b->spec.budget_bytes_s;
}

static const struct study_row *
step(const struct study *s, const struct study_row *from, number_fn *number, bool up)
{
	const struct study_row *best = NULL;
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i];
		if (!is_possible(r) || !differs_only_in(r, from, number) ||
		    (number == disk_of && has_usual_memory(s, r) != has_usual_memory(s, from)) ||
		    (number(r) > number(from)) != up)
			continue;
		bool nearer = best && (up ? number(r) < number(best) : number(r) > number(best));
		if (!best || nearer)
			best = r;
	}
	return best;
}

static void
say_steps(struct advice *a, const struct study *s, const char *what, number_fn *number,
	  const char *(*word)(const struct study_row *r, char *out), const char *why)
{
	char text[ADVICE_BYTES], name[UNITS_BYTES], change[96];
	int n = snprintf(text, sizeof text, "%s %s: %s", what, word(a->row, name), why);
	for (int up = 1; up >= 0; up--) {
		const struct study_row *r = step(s, a->row, number, up);
		if (r && n > 0 && n < (int)sizeof text)
			n += snprintf(text + n, sizeof text - (size_t)n, " With %s: %s.",
				      word(r, name), difference(r, a->row, change));
	}
	say(a, "%s", text);
}

static const char *
say_disk(const struct study_row *r, char *out)
{
	return units_say_bytes(r->spec.disk_bytes, out);
}

static const char *
say_memory(const struct study_row *r, char *out)
{
	return units_say_bytes(r->spec.memory_bytes, out);
}

static const char *
say_capacity(const struct study_row *r, char *out)
{
	return units_say_count(r->spec.sights.memory.capacity, out);
}

static const char *
say_sightings(const struct study_row *r, char *out)
{
	if (r->spec.chooses)
		return "auto";
	snprintf(out, UNITS_BYTES, "%u", r->spec.sightings);
	return out;
}

static const char *
say_rotate(const struct study_row *r, char *out)
{
	if (r->spec.sights.memory.rotate_after_s)
		return units_print_ms(r->spec.sights.memory.rotate_after_s * 1000, out);
	snprintf(out, UNITS_BYTES, "auto");
	return out;
}

/* The share of a histogram of powers of two that lies below a bound. */
static double
share_below(const double *histogram, double bound)
{
	double below = 0, all = 0;
	for (int i = 0; i < CATALOGUE_LOG2; i++) {
		all += histogram[i];
		below += ldexp(1, i) <= bound * 2 ? histogram[i] : 0;
	}
	return all > 0 ? below / all : 1;
}

/* A time within which 95% of what comes back has come back. */
static double
gap_s(const struct catalogue_facts *l)
{
	double s = 1;
	while (s < l->end_s - l->begin_s && share_below(l->gap_s, s / 2) < 0.95)
		s *= 2;
	return s;
}

/* The capacity of the policy, where its generations came near it; else twice what they held: a row
 * with too much of it hits as well, and takes memory for nothing. */
static uint64_t
capacity_for(const struct study_row *r)
{
	uint64_t most = r->spec.sights.memory.capacity, unit = 1000;
	double held = (double)r->sights.keys / (double)(r->sights.rotations + 1);
	if (r->spec.sightings < 2)
		return 0;
	if (2 * held >= (double)most)
		return most;
	while (unit * 20 < (uint64_t)(2 * held))
		unit *= 10;
	uint64_t wanted = ((uint64_t)(2 * held) / unit + 1) * unit;
	return wanted < most ? wanted : most;
}

static void
say_own_capacity(struct advice *a, const struct study *s)
{
	char why[200], count[UNITS_BYTES];
	double most = capacity_of(a->row);
	if (a->capacity == a->row->spec.sights.memory.capacity) {
		snprintf(why, sizeof why,
			 "%.0f%% of the requests for a known URL come before so many others.",
			 100 * share_below(s->log.gap_urls, most));
		say_steps(a, s, "capacity", capacity_of, say_capacity, why);
		return;
	}
	double held = (double)a->row->sights.keys / (double)(a->row->sights.rotations + 1);
	say(a, "capacity %s: a generation held %.0f URLs here, and twice that is room enough.",
	    units_say_count(a->capacity, count), held);
}

static void
say_reasons(struct advice *a, const struct study *s)
{
	char why[200], change[96];
	const struct study_row *r = a->row;
	bool admits_all = r->spec.sightings < 2;
	say_steps(
		a, s, "disk", disk_of, say_disk,
		"the smallest that comes within a point of the best, unless a larger one writes clearly less.");
	if (!r->spec.lru)
		say_steps(a, s, "memory", memory_of, say_memory,
			  "first sightings wait there for their second.");
	snprintf(why, sizeof why, "%s",
		 admits_all ? "everything is admitted." : "what comes once is not written.");
	if (a->all && a->all != r)
		snprintf(why, sizeof why, "%s than when everything is admitted.",
			 difference(r, a->all, change));
	say_steps(a, s, "sightings", sightings_of, say_sightings, why);
	if (admits_all)
		return;
	say_own_capacity(a, s);
	snprintf(
		why, sizeof why,
		"so generations ended %llu times. 95%% of the URLs that come back do so within %.1f h.",
		(unsigned long long)r->sights.rotations, gap_s(&s->log) / 3600);
	say_steps(a, s, "rotate_after", rotate_of, say_rotate, why);
}

/* ---- settings and the drive ---------------------------------------------------------------- */

static uint64_t
rounded(uint64_t bytes)
{
	uint64_t unit = bytes < 64 << 20 ? 1 << 10 : 1 << 20;
	return bytes / unit * unit;
}

static void
write_yaml(struct advice *a)
{
	const struct policy_spec *p = &a->row->spec;
	char disk[UNITS_BYTES], memory[UNITS_BYTES], capacity[UNITS_BYTES], rotate[UNITS_BYTES],
		sightings[UNITS_BYTES];
	units_print_bytes(rounded(p->disk_bytes), disk);
	units_print_bytes(rounded(p->memory_bytes), memory);
	units_print_count(a->capacity, capacity);
	int n = snprintf(a->yaml, sizeof a->yaml,
			 "cache:\n  disk: %s\n  memory: %s\nadmission:\n  sightings: %s\n", disk,
			 memory, say_sightings(a->row, sightings));
	if (p->sightings > 1)
		snprintf(a->yaml + n, sizeof a->yaml - (size_t)n,
			 "  filter: %s\n  capacity: %s\n  rotate_after: %s\n",
			 twice_filter_word(p->sights.memory.kind), capacity,
			 say_rotate(a->row, rotate));
}

static double
years(const struct study *s, const struct study_row *r, uint64_t tbw)
{
	double seconds = s->run_s, written = r->facts.written_bytes;
	double most = tbw ? (double)tbw : TYPICAL_FILLS * (double)r->spec.disk_bytes;
	return seconds > 0 && written > 0 ? most / (written / seconds) / YEAR_S : 0;
}

/* Has the log too little to say, or is there nothing to say? */
static bool
find_none(struct advice *out, const struct study *s, const struct study_options *o)
{
	char n[UNITS_BYTES];
	double bytes = s->log.bytes + s->log.urls * HEAD_BYTES;
	bool share = o->memory & UNITS_ROOM_SHARE;
	if (s->log.visits < ADVICE_LEAST_VISITS)
		snprintf(out->none, sizeof out->none,
			 "Nothing is suggested from %llu requests: it takes %d at least.",
			 (unsigned long long)s->log.visits, ADVICE_LEAST_VISITS);
	else if (bytes <= (share ? SMALL_MEMORY : (double)o->memory))
		snprintf(out->none, sizeof out->none,
			 "All of it fits in %s of memory: no disk is needed.",
			 units_say_bytes_more(bytes, n));
	return *out->none;
}

void
advice_find(struct advice *out, const struct study *s, const struct study_options *o)
{
	*out = (struct advice){0};
	if (find_none(out, s, o))
		return;
	out->row = choose(s);
	if (!out->row) {
		snprintf(out->none, sizeof out->none,
			 "Nothing is suggested: none of these policies can be configured.");
		return;
	}
	out->all = study_baseline(s, out->row);
	out->capacity = capacity_for(out->row);
	out->years = years(s, out->row, o->tbw);
	out->years_all = out->all ? years(s, out->all, o->tbw) : 0;
	say_reasons(out, s);
	write_yaml(out);
}
