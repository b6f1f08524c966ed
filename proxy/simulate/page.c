/* page.c - which figures there are, and the words around them. */
#include "proxy/simulate/page.h"

#include "config/units.h"
#include "proxy/base/mem.h"
#include "proxy/simulate/account.h"
#include "proxy/simulate/advice.h"
#include "proxy/simulate/doubts.h"
#include "proxy/simulate/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
	"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
	"content='width=device-width,initial-scale=1'><title>twice simulate</title><style>\n"
	":root{color-scheme:light dark;--ink:#1b1f24;--soft:#59626d;--paper:#fff;--line:#dfe3e8;"
	"--s0:#7d8792;--s1:#1f6fb5;--s2:#b4561a;--s3:#3b7f4c}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a3adb8;--paper:#14171b;"
	"--line:#30363d;--s0:#97a1ab;--s1:#69b1f0;--s2:#f0985a;--s3:#7cc78f}}\n"
	"@media print{:root{color-scheme:light;--ink:#000;--soft:#333;--paper:#fff;--line:#ccc;"
	"--s0:#777;--s1:#1f6fb5;--s2:#b4561a;--s3:#3b7f4c}details>:not(summary){display:block}"
	"figure,tr{break-inside:avoid}}\n"
	"@media(max-width:40rem){svg .tick{font-size:17px}svg .axis{font-size:18px}}\n"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
	"margin:0 auto;max-width:70rem;padding:1rem}\n"
	"h1{font-size:1.6rem;margin:.2em 0}h2{font-size:1.1rem;margin:0}p{margin:.3em 0}"
	"main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));"
	"gap:2rem;margin:2rem 0}\n"
	"figure{margin:0;min-width:0}figure p,.soft{color:var(--soft);font-size:.9rem}"
	"svg{width:100%;height:auto;display:block}\n"
	".grid{stroke:var(--line)}.tick{font-size:11px;fill:var(--soft)}"
	".axis{font-size:12px;fill:var(--ink)}.line{fill:none;stroke-width:2.5}"
	".line.s0{stroke:var(--s0)}.line.s1{stroke:var(--s1)}.line.s2{stroke:var(--s2)}"
	".line.s3{stroke:var(--s3)}\n"
	".dot.s0,.bar.s0,.key.s0{fill:var(--s0);background:var(--s0)}"
	".dot.s1,.bar.s1,.key.s1{fill:var(--s1);background:var(--s1)}"
	".dot.s2,.bar.s2,.key.s2{fill:var(--s2);background:var(--s2)}"
	".dot.s3,.bar.s3,.key.s3{fill:var(--s3);background:var(--s3)}"
	".marked{stroke:var(--ink);stroke-width:2}\n"
	".legend span{margin-right:1em;white-space:nowrap}.key{display:inline-block;width:.8em;"
	"height:.8em;margin-right:.4em;border-radius:2px}\n"
	"table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}"
	"th,td{text-align:right;padding:.2em .7em;border-bottom:1px solid var(--line);"
	"white-space:nowrap}th:first-child,td:first-child{text-align:left}"
	".wide{overflow-x:auto}tr.chosen td{font-weight:bold}\n"
	"summary{cursor:pointer;color:var(--soft);font-size:.85rem}"
	"pre{background:color-mix(in srgb,var(--line) 45%,transparent);padding:.8em;overflow-x:auto}"
	".big{font-size:2.2rem;font-weight:600;line-height:1.1}.tiles{display:flex;flex-wrap:wrap;"
	"gap:1.5rem 3rem;margin:1rem 0}.tiles p{color:var(--soft);max-width:16rem}\n"
	"</style>\n";

static double
share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static struct chart *
chart_new(const char *title, const char *says, const char *x_title, const char *y_title)
{
	struct chart *c = NEW(struct chart);
	c->title = title;
	c->says = says;
	c->x_title = x_title;
	c->y_title = y_title;
	return c;
}

static struct chart_series *
series(struct chart *c, const char *name, unsigned colour)
{
	struct chart_series *s = &c->series[c->series_n++];
	s->name = name;
	s->colour = colour;
	return s;
}

static void
add(struct chart_series *s, double x, double y, const char *label)
{
	if (s->n == CHART_POINTS_MOST || !isfinite(x) || !isfinite(y))
		return;
	s->x[s->n] = x;
	s->y[s->n] = y;
	snprintf(s->label[s->n++], CHART_NAME_BYTES, "%s", label);
}

static void
finish(FILE *to, struct chart *c)
{
	chart_write(to, c);
	free(c);
}

/* ---- of the policies ----------------------------------------------------------------------- */

static void
add_tradeoff(struct chart_series *dots, const struct study *s, unsigned disk)
{
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i], *all = study_baseline(s, r);
		if (r->disk == disk && all && !r->spec.bound && !r->spec.lru)
			add(dots, 1 - share(r->facts.written_bytes, all->facts.written_bytes),
			    r->facts.hit_ratio, r->spec.text);
	}
}

static void
write_tradeoff(FILE *to, const struct study *s, const struct advice *a)
{
	struct chart *c =
		chart_new("What is saved, and at which hit ratio",
			  "Each dot is a setting. Right is fewer writes, up is more hits; the "
			  "suggested one has a ring.",
			  "disk writes saved against admitting everything", "hit ratio");
	char main_disk[UNITS_BYTES], its_disk[UNITS_BYTES], main_name[80], its_name[80];
	unsigned disk = a->row ? a->row->disk : 0;
	c->kind = CHART_DOTS;
	c->x_unit = c->y_unit = CHART_PERCENT;
	for (unsigned i = 0; i < s->rows_n; i++)
		units_say_bytes(s->rows[i].spec.disk_bytes,
				s->rows[i].disk == disk ? its_disk : main_disk);
	units_say_bytes(s->rows_n ? s->rows[0].spec.disk_bytes : 0, main_disk);
	snprintf(main_name, sizeof main_name, "with a disk of %s", main_disk);
	snprintf(its_name, sizeof its_name, "with a disk of %s", disk ? its_disk : main_disk);
	if (disk)
		add_tradeoff(series(c, main_name, 0), s, 0);
	add_tradeoff(series(c, its_name, 1), s, disk);
	c->marked = a->row ? a->row->spec.text : NULL;
	finish(to, c);
}

/* The rows of one policy, by size of the disk. */
static unsigned
rows_of(const struct study *s, const char *text, const struct study_row **out)
{
	unsigned n = 0;
	for (unsigned i = 0; i < s->rows_n; i++) {
		const struct study_row *r = &s->rows[i];
		if (strcmp(r->spec.text, text) != 0)
			continue;
		unsigned at = n++;
		for (; at > 0 && out[at - 1]->spec.disk_bytes > r->spec.disk_bytes; at--)
			out[at] = out[at - 1];
		out[at] = r;
	}
	return n;
}

static double
bytes_per_day(const struct study *s, const struct study_row *r)
{
	double seconds = s->run_s;
	return seconds > 0 ? r->facts.written_bytes / seconds * 86400 : r->facts.written_bytes;
}

/* Misses, or bytes written in a day, over the size of the disk. */
static void
write_curve(FILE *to, const struct study *s, const char *second, bool misses)
{
	struct chart *c =
		misses ? chart_new("Misses over the size of the disk",
				   "Where the line is flat, a larger disk hits no more.", "disk",
				   "miss ratio")
		       : chart_new("Writes over the size of the disk",
				   "Below a certain size, objects are written again and again.",
				   "disk", "written in a day");
	c->x_unit = CHART_BYTES;
	c->y_unit = misses ? CHART_PERCENT : CHART_BYTES;
	c->log_x = c->from_0 = true;
	for (unsigned k = 0; k < 2; k++) {
		const struct study_row *rows[STUDY_ROWS_MOST];
		unsigned n = rows_of(s, k ? second : "all", rows);
		struct chart_series *line = series(c, k ? second : "all", k);
		for (unsigned i = 0; i < n; i++)
			add(line, (double)rows[i]->spec.disk_bytes,
			    misses ? 1 - rows[i]->facts.hit_ratio : bytes_per_day(s, rows[i]), "");
	}
	finish(to, c);
}

/* ---- of the log ---------------------------------------------------------------------------- */

static void
write_popularity(FILE *to, const struct catalogue_facts *l)
{
	struct chart *c =
		chart_new("How often URLs are asked for",
			  "An ordinary cache writes objects that are asked for once for nobody.",
			  "requests for a URL", "share");
	struct chart_series *urls = series(c, "URLs", 0), *bytes = series(c, "bytes", 1),
			    *visits = series(c, "requests", 2);
	c->kind = CHART_BARS;
	c->y_unit = CHART_PERCENT;
	c->from_0 = true;
	int last = 0;
	for (int i = 0; i < CATALOGUE_LOG2; i++)
		last = l->by_count[i] > 0 ? i : last;
	for (int i = 0; i <= last; i++) {
		char label[CHART_NAME_BYTES];
		double low = i ? ldexp(1, i - 1) + 1 : 1, high = ldexp(1, i);
		snprintf(label, sizeof label, i < 2 ? "%.0f" : "%.0f-%.0f", low, high);
		add(urls, i, share(l->by_count[i], l->urls), label);
		add(bytes, i, share(l->by_count_bytes[i], l->bytes), label);
		add(visits, i, share(l->by_count_visits[i], (double)l->visits), label);
	}
	finish(to, c);
}

static void
write_once_share(FILE *to, const struct catalogue_facts *l)
{
	struct chart *c =
		chart_new("Asked for once, so far",
			  "The share of URLs seen only once falls as the log goes on; where it "
			  "ends flat, a longer log would say the same.",
			  "requests so far", "URLs asked for once");
	struct chart_series *line = series(c, "share", 1);
	c->x_unit = CHART_COUNT;
	c->y_unit = CHART_PERCENT;
	c->from_0 = true;
	for (unsigned i = 0; i < l->steps; i++)
		add(line, (double)l->step[i].visits, share(l->step[i].once, l->step[i].urls), "");
	finish(to, c);
}

/* How much of what comes back has come back by then. */
static void
write_gaps(FILE *to, const double gaps[CATALOGUE_LOG2], struct chart *c)
{
	struct chart_series *line = series(c, "come back", 1);
	double all = 0, so_far = 0;
	int last = 0;
	c->y_unit = CHART_PERCENT;
	c->log_x = c->from_0 = true;
	for (int i = 0; i < CATALOGUE_LOG2; i++) {
		all += gaps[i];
		last = gaps[i] > 0 ? i : last;
	}
	for (int i = 0; i <= last && all > 0; i++) {
		so_far += gaps[i];
		add(line, ldexp(1, i), so_far / all, "");
	}
	finish(to, c);
}

static void
write_all_gaps(FILE *to, const struct catalogue_facts *l)
{
	struct chart *c = chart_new(
		"After how long URLs come back",
		"The filter remembers a URL while a quarter to half of the disk is written anew: a URL "
		"that comes back later is new to it. admission.rotate_after can be a time instead.",
		"time since the request before", "of repeated requests");
	c->x_unit = CHART_SECONDS;
	write_gaps(to, l->gap_s, c);
	c = chart_new(
		"After how many new URLs they come back",
		"A generation should hold more than most of these numbers: admission.capacity.",
		"other URLs that were new meanwhile", "of repeated requests");
	c->x_unit = CHART_COUNT;
	write_gaps(to, l->gap_urls, c);
}

static void
write_hours(FILE *to, const struct catalogue_facts *l, bool bytes)
{
	struct chart *c = chart_new(bytes ? "Bytes sent by hour" : "Requests by hour",
				    "Of the day, UTC, all days together.", "hour",
				    bytes ? "bytes" : "requests");
	struct chart_series *bars = series(c, bytes ? "bytes" : "requests", bytes ? 2 : 1);
	c->kind = CHART_BARS;
	c->y_unit = bytes ? CHART_BYTES : CHART_COUNT;
	c->from_0 = true;
	for (int i = 0; i < CATALOGUE_HOURS; i++) {
		char label[CHART_NAME_BYTES];
		snprintf(label, sizeof label, "%d", i);
		add(bars, i, (double)(bytes ? l->hour_bytes[i] : l->hour_visits[i]), label);
	}
	finish(to, c);
}

/* ---- words and tables ---------------------------------------------------------------------- */

static void
write_tile(FILE *to, const char *number, const char *says)
{
	fprintf(to, "<div><div class=big>");
	chart_put_text(to, number);
	fprintf(to, "</div><p>");
	chart_put_text(to, says);
	fprintf(to, "</p></div>");
}

static void
write_tiles(FILE *to, const struct advice *a)
{
	char text[64];
	if (!a->row || !a->all || a->row == a->all)
		return;
	const struct policy_facts *f = &a->row->facts, *all = &a->all->facts;
	fprintf(to, "<div class=tiles>");
	snprintf(text, sizeof text, "%.0f%%",
		 100 * (1 - share(f->written_bytes, all->written_bytes)));
	write_tile(to, text, "fewer bytes written to disk than when everything is admitted");
	snprintf(text, sizeof text, "%+.1f points", 100 * (f->hit_ratio - all->hit_ratio));
	write_tile(to, text, "of hit ratio");
	if (a->years > 0 && a->years_all > 0) {
		snprintf(text, sizeof text, "%.1f times", a->years / a->years_all);
		write_tile(to, text, "the life of the drive");
	}
	fprintf(to, "</div>");
}

static void
write_advice(FILE *to, const struct advice *a)
{
	if (!a->row) {
		fprintf(to, "<section><p>");
		chart_put_text(to, a->none);
		fprintf(to, "</p></section>");
		return;
	}
	fprintf(to, "<section><h2>Suggested: ");
	chart_put_text(to, a->row->spec.text);
	fprintf(to, "</h2><ul>");
	for (unsigned i = 0; i < a->reasons_n; i++) {
		fprintf(to, "<li>");
		chart_put_text(to, a->reasons[i]);
		fprintf(to, "</li>");
	}
	fprintf(to, "</ul><pre>");
	for (const char *p = a->yaml; *p; p++) /* of our own making; its line ends stay */
		fputc(*p, to);
	fprintf(to, "</pre></section>");
}

static void
write_row(FILE *to, const struct study *s, const struct study_row *r, bool chosen)
{
	const struct study_row *all = study_baseline(s, r);
	const struct policy_facts *f = &r->facts;
	char a[UNITS_BYTES], b[UNITS_BYTES], c[UNITS_BYTES], d[UNITS_BYTES];
	fprintf(to, "<tr%s><td>", chosen ? " class=chosen" : "");
	chart_put_text(to, r->spec.text);
	fprintf(to,
		"</td><td>%s</td><td>%s</td><td>%.1f%%</td><td>%.1f%%</td><td>%s</td><td>%s</td>",
		units_say_bytes(r->spec.disk_bytes, a),
		r->spec.lru ? "-" : units_say_bytes(r->spec.memory_bytes, b), 100 * f->hit_ratio,
		100 * f->byte_hit_ratio,
		r->spec.bound ? "-" : units_say_count((uint64_t)f->written_objects, c),
		r->spec.bound ? "-" : units_say_bytes((uint64_t)f->written_bytes, d));
	if (all && all != r && !r->spec.bound)
		fprintf(to, "<td>%.1f%%</td><td>%+.0f</td>",
			100 * (1 - share(f->written_bytes, all->facts.written_bytes)),
			f->origin_requests - all->facts.origin_requests);
	else
		fprintf(to, "<td>-</td><td>-</td>");
	if (r->spec.sightings > 1)
		fprintf(to, "<td>%s</td><td>%.2f%%</td></tr>\n",
			units_say_bytes(r->sights.memory_bytes, a),
			100 * share((double)r->sights.false_first, (double)r->sights.first));
	else
		fprintf(to, "<td>-</td><td>-</td></tr>\n");
}

static void
write_policies(FILE *to, const struct study *s, const struct advice *a)
{
	fprintf(to,
		"<section><h2>All settings</h2><div class=wide><table><tr><th>policy<th>disk<th>"
		"memory<th>hit ratio<th>byte hit ratio<th>objects written<th>bytes written<th>"
		"saved<th>more origin requests<th>filter memory<th>falsely seen</tr>\n");
	for (unsigned i = 0; i < s->rows_n; i++)
		write_row(to, s, &s->rows[i], &s->rows[i] == a->row);
	fprintf(to,
		"</table></div><p class=soft>all: everything is written at first sight. 2, 3, ...: at "
		"that request. bound: what no cache of this size exceeds.</p>"
		"</section>");
}

static void
write_assumption(void *ctx, const char *sentence)
{
	fprintf(ctx, "<li>");
	chart_put_text(ctx, sentence);
	fprintf(ctx, "</li>");
}

static void
write_intro(FILE *to, const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	char a[UNITS_BYTES], b[UNITS_BYTES], c[UNITS_BYTES];
	fprintf(to, "<h1>What would twice save?</h1><p>%s requests for %s URLs of %s",
		units_say_count(l->visits, a), units_say_count((uint64_t)l->urls, b),
		units_say_bytes((uint64_t)l->bytes, c));
	fprintf(to, ", in ");
	for (unsigned i = 0; i < s->logs_n && i < 4; i++) {
		fputs(i ? ", " : "", to);
		chart_put_text(to, s->logs[i].name);
	}
	if (s->logs_n > 4)
		fprintf(to, " and %u more", s->logs_n - 4);
	fprintf(to, ". %.1f%% of the URLs, with %.1f%% of the bytes, are asked for only once.</p>",
		100 * share(l->once_urls, l->urls), 100 * share(l->once_bytes, l->bytes));
}

static void
write_doubt(void *ctx, const char *sentence)
{
	fprintf(ctx, "<p><strong>Warning:</strong> ");
	chart_put_text(ctx, sentence);
	fprintf(ctx, "</p>");
}

void
page_write(FILE *to, const struct study *s, const struct study_options *o)
{
	struct advice *a = NEW(struct advice);
	advice_find(a, s, o);
	fputs(head, to);
	doubts_tell(s, write_doubt, to);
	write_intro(to, s);
	write_tiles(to, a);
	write_advice(to, a);
	fprintf(to, "<main>\n");
	write_tradeoff(to, s, a);
	write_curve(to, s, "2", true);
	write_curve(to, s, "2", false);
	write_popularity(to, &s->log);
	write_once_share(to, &s->log);
	write_all_gaps(to, &s->log);
	write_hours(to, &s->log, false);
	write_hours(to, &s->log, true);
	fprintf(to, "</main>\n");
	write_policies(to, s, a);
	fprintf(to, "<section><h2>Taken for granted</h2><ul>");
	account_assumptions(s, o, write_assumption, to);
	fprintf(to, "</ul></section></html>\n");
	free(a);
}
