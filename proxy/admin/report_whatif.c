/* report_whatif.c - what other settings would do, as JSON and for Prometheus.
 *
 * A row is told as the proxy's own numbers and what the row differs by (cache/ghost/whatif.h).
 */
#include "proxy/admin/report_whatif.h"

#include <math.h>
#include <stdio.h>

/* Until then it tells of chance, and of what a start is. */
enum { KNOWS_REQUESTS = 1000, KNOWS_SECONDS = 30 };

static const double KNOWS_OFF = 0.03; /* points of hits, of what really happened */

struct said {
	/* Shares; the last two are no numbers where the settings of now would write nothing. */
	double hit_change, hit_error, written_change, written_error;
	double hit_ratio, written_bytes;
};

static double
share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double
between_0_and_1(double v)
{
	return v < 0 ? 0 : v < 1 ? v : 1;
}

static double
off_hit_ratio(const struct report *r)
{
	return -share(r->baseline.what_if.off_requests, (double)r->n[METRIC_REQUESTS]);
}

static bool
is_known(const struct report *r)
{
	return r->n[METRIC_REQUESTS] >= KNOWS_REQUESTS && r->uptime_s >= KNOWS_SECONDS &&
	       fabs(off_hit_ratio(r)) <= KNOWS_OFF;
}

static struct said
say(const struct report *r, const struct whatif_told *t)
{
	const struct whatif_told *now = &r->baseline.what_if.rows[WHATIF_NOW];
	double requests = (double)r->n[METRIC_REQUESTS], hits = (double)r->n[METRIC_HITS];
	double written = (double)r->cache.written_bytes + t->more_written;
	return (struct said){
		.hit_change = -share(t->more_requests, requests),
		.hit_error = share(t->more_requests_error, requests),
		.written_change =
			now->written_bytes > 0 ? t->more_written / now->written_bytes : (double)NAN,
		.written_error = now->written_bytes > 0 ? t->more_written_error / now->written_bytes
							: (double)NAN,
		.hit_ratio = between_0_and_1(share(hits - t->more_requests, requests)),
		.written_bytes = written > 0 ? written : 0,
	};
}

enum { WORDS_BYTES = 160 };

/* A share of nothing is no share: then the bytes are told. */
static const char *
words_of(const struct report *r, enum whatif_row row, const struct said *s, char to[WORDS_BYTES])
{
	const char *name = whatif_name(row);
	double more = r->baseline.what_if.rows[row].more_written;
	if (row == WHATIF_NOW)
		return "as it is";
	if (!is_known(r))
		snprintf(to, WORDS_BYTES, "with %s: not known yet", name);
	else if (isnan(s->written_change))
		snprintf(to, WORDS_BYTES,
			 "with %s: %.0f bytes written where now none are, %+.1f "
			 "points of hits",
			 name, more, 100 * s->hit_change);
	else
		snprintf(to, WORDS_BYTES, "with %s: %+.1f%% writes, %+.1f points of hits", name,
			 100 * s->written_change, 100 * s->hit_change);
	return to;
}

static json_t *
number_or_null(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *
json_of_row(const struct report *r, enum whatif_row row)
{
	const struct whatif_told *t = &r->baseline.what_if.rows[row];
	struct said s = say(r, t);
	char words[WORDS_BYTES];
	return json_pack("{s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:s}", "name",
			 whatif_name(row), "sightings", (int)t->sightings, "disk_bytes",
			 (json_int_t)t->disk_bytes, "memory_bytes", (json_int_t)t->memory_bytes,
			 "hit_ratio", s.hit_ratio, "hit_ratio_change", s.hit_change,
			 "hit_ratio_error", s.hit_error, "written_bytes", s.written_bytes,
			 "more_written_bytes", t->more_written, "written_change",
			 number_or_null(s.written_change), "written_error",
			 number_or_null(s.written_error), "says", words_of(r, row, &s, words));
}

json_t *
report_whatif_json(const struct report *r)
{
	const struct whatif_stats *w = &r->baseline.what_if;
	json_t *rows = json_array();
	double real = (double)r->cache.written_bytes;
	double off = w->rows[WHATIF_NOW].told ? w->rows[WHATIF_NOW].written_bytes - real : 0;
	for (int i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].told)
			json_array_append_new(rows, json_of_row(r, (enum whatif_row)i));
	return json_pack("{s:b, s:f, s:I, s:I, s:f, s:f, s:o}", "known", is_known(r),
			 "sample_share", w->sample_share, "entries", (json_int_t)w->entries,
			 "memory_bytes", (json_int_t)w->memory_bytes, "off_hit_ratio",
			 off_hit_ratio(r), "off_written", share(off, real), "rows", rows);
}

static void
add_family(const struct report *r, const char *name, const char *help, bool written,
	   struct buf *out)
{
	const struct whatif_stats *w = &r->baseline.what_if;
	buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	for (int i = 0; i < WHATIF_ROWS; i++) {
		struct said s = say(r, &w->rows[i]);
		double change = written ? s.written_change : s.hit_change;
		if (w->rows[i].told && i != WHATIF_NOW && !isnan(change))
			buf_printf(out, "%s{with=\"%s\"} %.9g\n", name,
				   whatif_name((enum whatif_row)i), change);
	}
}

void
report_whatif_prometheus(const struct report *r, struct buf *out)
{
	if (!r->baseline.what_if.rows[WHATIF_NOW].told || !is_known(r))
		return;
	add_family(r, "twice_what_if_written_change_ratio",
		   "bytes written with another setting, more than now, as a share of now's", true,
		   out);
	add_family(r, "twice_what_if_hit_ratio_change",
		   "hit ratio with another setting, less the ratio of now", false, out);
}
