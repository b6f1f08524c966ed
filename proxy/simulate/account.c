/* account.c - the table, and what lies behind it. */
#include "proxy/simulate/account.h"

#include "config/units.h"
#include "proxy/cache/slice_bytes.h"
#include "proxy/simulate/advice.h"
#include "proxy/simulate/doubts.h"

#include <stdarg.h>
#include <string.h>

static const char *
count(double v, char out[UNITS_BYTES])
{
	char positive[UNITS_BYTES];
	double size = v < 0 ? -v : v;
	snprintf(out, UNITS_BYTES, "%s%s", v < 0 ? "-" : "",
		 units_say_count((uint64_t)(size + 0.5), positive));
	return out;
}

static double
percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* ---- the log ------------------------------------------------------------------------------- */

static void
print_bad_lines(FILE *to, const struct source_facts *f)
{
	char a[UNITS_BYTES];
	fprintf(to, "    %s bad lines:", count((double)f->bad_lines, a));
	for (unsigned i = 0; i < SOURCE_BAD_SHOWN && i < f->bad_lines; i++)
		fprintf(to, "%s %llu", i ? "," : "", (unsigned long long)f->bad_numbers[i]);
	fprintf(to, f->bad_lines > SOURCE_BAD_SHOWN ? ", ...\n" : "\n");
}

static void
print_logs(FILE *to, const struct study *s)
{
	char a[UNITS_BYTES];
	for (unsigned i = 0; i < s->logs_n; i++) {
		const struct source_facts *f = &s->logs[i];
		fprintf(to, "  %s: %s, %s, %s lines\n", f->name, parse_word(f->format), f->packing,
			count((double)f->lines, a));
		if (f->bad_lines)
			print_bad_lines(to, f);
	}
}

/* The words for how types are known. */
static const char *
text_is_told_by(const struct study *s)
{
	if (!s->screen.typed)
		return "by the ends of paths";
	return s->screen.ended ? "by types, and by the ends of paths where there is none"
			       : "by types";
}

static void
print_text(FILE *to, const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	if (l->packable_bytes > 0)
		fprintf(to,
			"  text that is packed: %.1f%% of bytes, %s; taken to become %.0f%% of that\n",
			percent(l->packable_bytes, l->bytes), text_is_told_by(s),
			percent(l->packed_bytes, l->packable_bytes));
}

static void
print_log_facts(FILE *to, const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	char a[UNITS_BYTES], b[UNITS_BYTES], c[UNITS_BYTES];
	fprintf(to, "  taken: %s requests over %s, for %s URLs of %s\n",
		count((double)l->visits, a), units_say_lasting((double)(l->end_s - l->begin_s), b),
		count(l->urls, c), units_say_bytes_more(l->bytes, (char[UNITS_BYTES]){0}));
	fprintf(to, "  asked for once: %.1f%% of URLs, %.1f%% of bytes\n",
		percent(l->once_urls, l->urls), percent(l->once_bytes, l->bytes));
	print_text(to, s);
	bool first = true;
	for (enum screening k = SCREENING_TAKEN + 1; k < SCREENING_COUNT; k++) {
		if (!s->screen.counts[k])
			continue;
		fprintf(to, "%s %s: %s", first ? "  left out:" : ";",
			count((double)s->screen.counts[k], a), screen_why(k));
		first = false;
	}
	if (!first)
		fprintf(to, "\n");
}

/* ---- the table ----------------------------------------------------------------------------- */

static void
print_error(FILE *to, double points)
{
	if (points > 0)
		fprintf(to, " +-%-4.2f", 200 * points);
	else
		fprintf(to, "%7s", "");
}

static void
print_filter(FILE *to, const struct study_row *r)
{
	char a[UNITS_BYTES];
	if (r->spec.bound || (r->spec.sightings < 2 && !r->spec.sights.exact)) {
		fprintf(to, " %10s %7s", "-", "-");
		return;
	}
	fprintf(to, " %10s", units_say_bytes_more((double)r->sights.memory_bytes, a));
	if (r->sights.first)
		fprintf(to, " %6.2f%%",
			percent((double)r->sights.false_first, (double)r->sights.first));
	else
		fprintf(to, " %7s", "-");
}

static void
print_row(FILE *to, const struct study *s, const struct study_row *r, size_t width)
{
	const struct study_row *all = study_baseline(s, r);
	const struct policy_facts *f = &r->facts;
	char a[UNITS_BYTES], b[UNITS_BYTES];
	fprintf(to, "  %-*s %10s %5.1f%%", (int)width, r->spec.text,
		units_say_bytes_more((double)r->spec.disk_bytes, a), 100 * f->hit_ratio);
	print_error(to, f->hit_ratio_error);
	fprintf(to, " %5.1f%% %12s %10s", 100 * f->byte_hit_ratio,
		r->spec.bound ? "-" : count(f->written_objects, a),
		r->spec.bound ? "-" : units_say_bytes_more(f->written_bytes, b));
	if (all && all != r && !r->spec.bound)
		fprintf(to, " %6.1f%% %12s %10s",
			percent(all->facts.written_bytes - f->written_bytes,
				all->facts.written_bytes),
			count(f->origin_requests - all->facts.origin_requests, a),
			units_say_bytes_more(f->origin_bytes - all->facts.origin_bytes, b));
	else
		fprintf(to, " %7s %12s %10s", "-", "-", "-");
	print_filter(to, r);
	fprintf(to, "\n");
}

void
account_table(FILE *to, const struct study *s)
{
	size_t width = 6;
	for (unsigned i = 0; i < s->rows_n; i++)
		if (strlen(s->rows[i].spec.text) > width)
			width = strlen(s->rows[i].spec.text);
	fprintf(to, "\n  %-*s %10s %6s %6s %6s %12s %10s %7s %12s %10s %10s %7s\n", (int)width, "",
		"", "hit", "", "byte", "objects", "bytes", "", "more origin", "more from", "filter",
		"false");
	fprintf(to, "  %-*s %10s %6s %6s %6s %12s %10s %7s %12s %10s %10s %7s\n", (int)width,
		"policy", "disk", "ratio", "", "ratio", "written", "written", "saved", "requests",
		"origin", "memory", "seen");
	for (unsigned i = 0; i < s->rows_n; i++) {
		if (i && s->rows[i].disk != s->rows[i - 1].disk)
			fprintf(to, "\n");
		print_row(to, s, &s->rows[i], width);
	}
}

/* ---- assumptions --------------------------------------------------------------------------- */

struct teller {
	void (*each)(void *ctx, const char *sentence);
	void *ctx;
};

__attribute__((format(printf, 2, 3))) static void
say(const struct teller *t, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	t->each(t->ctx, text);
}

static bool
has_format(const struct study *s, enum format f)
{
	for (unsigned i = 0; i < s->logs_n; i++)
		if (s->logs[i].format == f)
			return true;
	return false;
}

static void
say_sizes(const struct teller *t, const struct study *s)
{
	double taken = (double)s->screen.counts[SCREENING_TAKEN];
	if (s->screen.sent_sizes)
		say(t,
		    "%.0f%% of the sizes are of the bytes sent: the largest seen of a URL is its "
		    "object's; another size is a new version only where three answers in a row tell it.",
		    percent((double)s->screen.sent_sizes, taken));
	if (s->screen.sent_sizes < s->screen.counts[SCREENING_TAKEN] - s->screen.no_sizes)
		say(t,
		    "Where the log tells an object's size, a change of it is a new version, which "
		    "is fetched and written again.");
	if (s->screen.no_sizes)
		say(t,
		    "%.1f%% of the requests have no size, or one beyond 1 TiB: their object has the "
		    "size of another request for it, or none.",
		    percent((double)s->screen.no_sizes, taken));
	if (has_format(s, FORMAT_SQUID) || has_format(s, FORMAT_HAPROXY))
		say(t,
		    "Squid, Traffic Server and HAProxy count the head of an answer as sent too.");
	if (s->screen.parts)
		say(t,
		    "%.1f%% are parts (206): each counts for its URL where it asks for the first byte, "
		    "else for the slices that it touches, once per client and minute. Of %.1f%% of "
		    "them the log tells which part it was; others are taken as following each other.",
		    percent((double)s->screen.parts, taken),
		    percent((double)s->screen.placed, (double)s->screen.parts));
}

static void
say_slices(const struct teller *t, const struct study *s, const struct study_options *o)
{
	if (o->base.lru || s->log.largest_bytes <= SLICE_BYTES)
		return;
	say(t,
	    "Objects over 1 MiB lie in slices, as the proxy keeps them where the origin has ranges and "
	    "strong validators; +slices=off: in one piece.");
	if (s->screen.parts > s->screen.placed)
		say(t,
		    "Other parts of one URL are taken as following each other, and as beginning anew "
		    "behind its end. --field range=NAME names a column of ranges.");
}

static void
say_disks(const struct teller *t, const struct study *s, const struct study_options *o)
{
	char whole[UNITS_BYTES];
	for (unsigned i = 0; i < s->rows_n && !o->base.lru; i++) {
		uint64_t room = o->disks[s->rows[i].disk];
		double bytes = (double)(room & ~UNITS_ROOM_SHARE) / 1e6 * s->log.bytes;
		if (!(room & UNITS_ROOM_SHARE) || bytes >= STUDY_LEAST_DISK)
			continue;
		say(t,
		    "%g%% of the log's %s are less than the proxy's least disk, 8 MiB, which is "
		    "taken instead.",
		    (double)(room & ~UNITS_ROOM_SHARE) / 1e4,
		    units_say_bytes_more(s->log.bytes, whole));
		return;
	}
}

static void
say_times(const struct teller *t, const struct study *s, const struct study_options *o)
{
	if (!s->screen.fractions)
		say(t,
		    "Times are whole seconds: requests of one second keep the order of the log.");
	if (s->logs_n > 1)
		say(t,
		    "%u logs are merged by time, each taken as sorted; of the same time, the one "
		    "named first comes first.",
		    s->logs_n);
	for (unsigned i = 0; i < s->logs_n; i++)
		if (s->logs[i].late_lines)
			say(t,
			    "%s: %.1f%% of its lines are older than one before them, by up to "
			    "%.0f s; they are taken as of the later time. More than a request's "
			    "length means that it should be sorted first.",
			    s->logs[i].name,
			    percent((double)s->logs[i].late_lines, (double)s->logs[i].entries),
			    (double)s->logs[i].latest_us / 1e6);
	if (s->screen.with_lifetime)
		say(t, "Lifetimes are those of the log's own column.");
	else if (!o->screen.lifetimes_n)
		say(t,
		    "Lifetimes are not known: an object stays fresh until its size changes or it is "
		    "evicted. --fresh 1h, or --fresh .html=5m,1d says otherwise.");
	else
		say(t,
		    "Lifetimes are those of --fresh. An expired object is validated where the log "
		    "shows a 304 for its URL, else fetched again.");
}

static void
say_keys(const struct teller *t, const struct study *s)
{
	bool urls = study_has_urls(s);
	if (urls && !s->screen.with_host)
		say(t,
		    "The log has no host: all its URLs are of one site. The key is what the log has "
		    "for the URL; with nginx that should be $request_uri, not $uri.");
	if (has_format(s, FORMAT_SQUID) && !s->screen.with_query)
		say(t,
		    "No URL of this log has a query: Squid leaves queries out of its log unless it "
		    "is told strip_query_terms off. Different objects are then one here.");
	for (unsigned i = 0; i < s->logs_n; i++) {
		if (s->logs[i].host_is_client)
			say(t,
			    "%s: its column \"host\" is the client, for a column logname or ident "
			    "is there too.",
			    s->logs[i].name);
		if (s->logs[i].host_is_doubtful)
			say(t,
			    "%s: its column \"host\" is taken as the site that was asked; if it is "
			    "the client, say --field client=host.",
			    s->logs[i].name);
	}
	if (urls && !s->screen.told)
		say(t,
		    "Vary, cookies and Cache-Control are not in the log: a URL is one object, and "
		    "answers with status 200, 203, 206 or 304 may be stored.");
}

/* Of the main disk's first row that packs. */
static void
say_packing_saves(const struct teller *t, const struct study *s)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i];
		if (r->facts.packing_saved_bytes <= 0)
			continue;
		say(t,
		    "Packing: %s writes %s, which would be %s more if the same objects were written as they came. all is an ordinary "
		    "cache, which packs nothing; +packing=off: nor does the policy.",
		    r->spec.text, units_say_bytes_more(r->facts.written_bytes, a),
		    units_say_bytes_more(r->facts.packing_saved_bytes, b));
		return;
	}
}

static void
say_packing(const struct teller *t, const struct study *s, const struct study_options *o)
{
	char shares[PACKED_TEXT];
	uint64_t taken = s->screen.counts[SCREENING_TAKEN];
	uint64_t known = s->screen.typed + s->screen.ended;
	if (o->screen.packed.off)
		say(t, "Nothing is packed: --packing off, or compress.cpu: 0%%.");
	if (o->screen.packed.off || !study_has_urls(s))
		return;
	if (known < taken)
		say(t,
		    "Of %.0f%% of the requests nothing tells the type; these are not packed. "
		    "--field type=NAME names a column of Content-Type.",
		    percent((double)(taken - known), (double)taken));
	say_packing_saves(t, s);
	if (s->log.packable_bytes <= 0)
		return;
	say(t, "Packing leaves of bodies of 1 KiB to 1 MiB: %s%s.",
	    o->screen.packed.shares_n ? "as --packing says; else " : "", packed_say(shares));
	if (s->screen.says_coding < taken)
		say(t,
		    "%sext comes without a coding (Content-Encoding), for the log does not say it; if "
		    "its server had coded it: --packing off. A column of them: --field coding=NAME.",
		    s->screen.says_coding ? "Where the log is silent, t" : "T");
}

/* A log of twice, or of another cache with Cache-Status. */
static void
say_told(const struct teller *t, const struct study *s)
{
	if (s->screen.told)
		say(t,
		    "%.0f%% of the requests say what the cache did with them (Cache-Status). Of these all "
		    "count: POST, and what may not be stored, for the origin; HEAD for the cache if it has "
		    "the object; and who waited for another's fetch is no hit.",
		    percent((double)s->screen.told, (double)s->screen.counts[SCREENING_TAKEN]));
	if (s->screen.counts[SCREENING_PURGE])
		say(t, "The log of purges, up to 8 KiB for each, is not in the bytes written.");
	if (s->screen.tag_purges)
		say(t, "%.0f purges by tag are left out, for no request says its tags.",
		    (double)s->screen.tag_purges);
}

/* Saved is against a log of twice's own, which is another cache than the one of textbooks. */
static void
say_baseline(const struct teller *t, const struct study *s, const struct study_options *o)
{
	const struct study_row *all = NULL, *lru = NULL;
	for (unsigned i = 0; i < s->rows_n; i++) {
		if (s->rows[i].disk == 0 && strcmp(s->rows[i].spec.text, "all") == 0)
			all = &s->rows[i];
		if (s->rows[i].disk == 0 && strcmp(s->rows[i].spec.text, "all+eviction=lru") == 0)
			lru = &s->rows[i];
	}
	if (!all || o->base.lru)
		return;
	if (lru && lru->facts.written_bytes > 0)
		say(t,
		    "What is saved is against all: twice's own log, which admits everything. It "
		    "wrote %.2f times what an exact LRU of bytes (all+eviction=lru) did.",
		    all->facts.written_bytes / lru->facts.written_bytes);
	else
		say(t, "What is saved is against all: twice's own log, which admits everything. "
		       "The policy all+eviction=lru is an exact LRU of bytes.");
}

void
account_assumptions(const struct study *s, const struct study_options *o,
		    void (*each)(void *ctx, const char *sentence), void *ctx)
{
	struct teller t = {each, ctx};
	say_sizes(&t, s);
	say_slices(&t, s, o);
	say_disks(&t, s, o);
	say_times(&t, s, o);
	say_keys(&t, s);
	say_told(&t, s);
	say_packing(&t, s, o);
	say_baseline(&t, s, o);
	if (o->base.lru)
		say(&t, "Eviction is plain LRU over bodies, for comparison with other simulators; "
			"memory is not simulated.");
	else
		say(&t, "A stored head is taken as 200 bytes long.");
	if (s->log.sample_share < 1)
		say(&t,
		    "There were more URLs than fit into the memory: the figures are of %.0f large ones and of "
		    "%.2f%% of the others, chosen by hash. +- is twice the standard error of that choice; "
		    "where few objects share a segment of the log, hit ratios of a sample are up to four points low besides.",
		    s->log.large_urls, 100 * s->log.sample_share);
}

static void
print_advice(FILE *to, const struct study *s, const struct study_options *o)
{
	struct advice a;
	advice_find(&a, s, o);
	if (!a.row) {
		fprintf(to, "\n%s\n", a.none);
		return;
	}
	fprintf(to, "\nSuggested: %s\n", a.row->spec.text);
	for (unsigned i = 0; i < a.reasons_n; i++)
		fprintf(to, "  - %s\n", a.reasons[i]);
	if (a.years > 0) {
		fprintf(to, "  - %s, a drive of this size lasts %.1f years at this rate",
			o->tbw ? "With the writes it is given"
			       : "Written 600 times in its life, as is typical",
			a.years);
		if (a.years_all > 0 && a.all != a.row)
			fprintf(to, ", and %.1f when everything is admitted", a.years_all);
		fprintf(to, ".\n");
	}
	fprintf(to, "\n");
	for (const char *line = a.yaml; *line;) {
		size_t n = strcspn(line, "\n");
		fprintf(to, "    %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static void
print_assumption(void *ctx, const char *sentence)
{
	fprintf(ctx, "  - %s\n", sentence);
}

static void
print_doubt(void *ctx, const char *sentence)
{
	fprintf(ctx, "Warning: %s\n", sentence);
}

void
account_text(FILE *to, const struct study *s, const struct study_options *o)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	doubts_tell(s, print_doubt, to);
	print_logs(to, s);
	print_log_facts(to, s);
	if (s->stopped)
		fprintf(to, "  stopped before the end: this is what was read so far\n");
	account_table(to, s);
	print_advice(to, s, o);
	fprintf(to, "\nTaken for granted\n");
	account_assumptions(s, o, print_assumption, to);
	fprintf(to, "\n%s lines in %.1f s (%u pass%s), %s of memory for tables and filters.\n",
		count((double)s->lines, a), s->seconds, s->passes, s->passes == 1 ? "" : "es",
		units_say_bytes_more(s->memory_bytes, b));
}
