/* report_prometheus.c - GET /metrics: base units, one name for what differs in a label, counters
 * that end in _total, histograms. */
#include "proxy/admin/report_inside.h"
#include "proxy/admin/report_whatif.h"

#include <math.h>
#include <stdio.h>

enum { SAMPLES_MOST = 256, NAME_BYTES = 96 };

/* Of the histograms: 16 us to 67 s, 64 bytes to 64 GiB. */
enum { FIRST_DOUBLING_US = 4, LAST_DOUBLING_US = 26, FIRST_DOUBLING_B = 6, LAST_DOUBLING_B = 36 };

struct sample {
	struct report_fact fact;
	char name[NAME_BYTES]; /* without "twice_"; "": not shown */
	const char *label, *help;
};

struct samples {
	struct sample all[SAMPLES_MOST];
	unsigned n;
};

/* ---- names ----------------------------------------------------------------------------------- */

struct family {
	const char *group, *key, *name, *label;
};

static const struct family families[] = {
#define FAMILY(group, key, name, label) {group, key, name, label},
#define HELP(name, help)
#include "proxy/admin/families.h"
#undef FAMILY
#undef HELP
};

static const char *
help_of(const char *name)
{
	static const char *const rows[][2] = {
#define FAMILY(group, key, name, label)
#define HELP(name, help) {name, help},
#include "proxy/admin/families.h"
#undef FAMILY
#undef HELP
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i][0], name) == 0)
			return rows[i][1];
	return NULL;
}

/* requests_background_total: counters end in _total; the unit is a whole word. */
static void
name_after_key(const struct report_fact *f, char out[NAME_BYTES])
{
	size_t key = strlen(f->key);
	bool seconds = key > 2 && strcmp(f->key + key - 2, "_s") == 0;
	snprintf(out, NAME_BYTES, "%s%s%.*s%s%s", f->group, *f->group ? "_" : "",
		 (int)(seconds ? key - 2 : key), f->key, seconds ? "_seconds" : "",
		 f->kind == KIND_COUNT ? "_total" : "");
	for (char *p = out; *p; p++)
		if (*p == '.')
			*p = '_';
}

static void
gather(void *ctx, const struct report_fact *f)
{
	struct samples *s = ctx;
	if (s->n == SAMPLES_MOST)
		return; /* the unit test counts them */
	struct sample *to = &s->all[s->n++];
	*to = (struct sample){.fact = *f, .label = "", .help = f->help};
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		if (strcmp(families[i].group, f->group) || strcmp(families[i].key, f->key))
			continue;
		snprintf(to->name, sizeof to->name, "%s", families[i].name);
		to->label = families[i].label;
		to->help = help_of(to->name) ? help_of(to->name) : f->help;
		return;
	}
	name_after_key(f, to->name);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void
add_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
add_whole(struct buf *out, const char *name, const char *label, int64_t v)
{
	buf_printf(out, "%s%s%s%s %lld\n", name, *label ? "{" : "", label, *label ? "}" : "",
		   (long long)v);
}

static void
add_real(struct buf *out, const char *name, const char *label, double v)
{
	buf_printf(out, "%s%s%s%s %.9g\n", name, *label ? "{" : "", label, *label ? "}" : "",
		   isfinite(v) ? v : 0);
}

/* All of one name under one head, wherever they stand in the walk. */
static void
add_family(const struct samples *s, unsigned first, struct buf *out)
{
	const struct sample *head = &s->all[first];
	char name[NAME_BYTES + 8];
	snprintf(name, sizeof name, "twice_%s", head->name);
	add_head(out, name, head->fact.kind == KIND_COUNT ? "counter" : "gauge", head->help);
	for (unsigned i = first; i < s->n; i++) {
		const struct sample *one = &s->all[i];
		if (strcmp(one->name, head->name) != 0)
			continue;
		if (report_is_real(&one->fact))
			add_real(out, name, one->label, one->fact.real);
		else
			add_whole(out, name, one->label, one->fact.whole);
	}
}

static bool
is_told(const struct samples *s, unsigned i)
{
	for (unsigned n = 0; n < i; n++)
		if (strcmp(s->all[n].name, s->all[i].name) == 0)
			return true;
	return !*s->all[i].name;
}

static void
add_facts(const struct report *r, struct buf *out)
{
	struct samples s = {.n = 0};
	report_each(r, gather, &s);
	for (unsigned i = 0; i < s.n; i++)
		if (!is_told(&s, i))
			add_family(&s, i, out);
}

/* Behind a backslash as in the text format: what ends a label, or a line. */
static void
add_escaped(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\\' || *p == '"')
			buf_add(out, "\\", 1);
		buf_add(out, *p == '\n' ? "\\n" : p, *p == '\n' ? 2 : 1);
	}
}

/* origin="https://..." and what stands behind it; the caller ends the buf. */
static const char *
label_of(struct buf *b, const char *name, const char *value, const char *more)
{
	b->n = 0;
	buf_printf(b, "%s=\"", name);
	add_escaped(b, value);
	buf_printf(b, "\"%s", more);
	buf_add(b, "", 1);
	return b->p;
}

/* ---- histograms ------------------------------------------------------------------------------ */

static void
add_histogram(const struct histogram_sum *h, const char *name, const char *label, double per_one,
	      struct buf *out)
{
	const char *comma = *label ? "," : "";
	bool bytes = per_one == 1;
	unsigned last = bytes ? LAST_DOUBLING_B : LAST_DOUBLING_US;
	for (unsigned d = bytes ? FIRST_DOUBLING_B : FIRST_DOUBLING_US; d <= last; d++)
		buf_printf(out, "%s_bucket{%s%sle=\"%.9g\"} %llu\n", name, label, comma,
			   (double)((uint64_t)1 << d) / per_one,
			   (unsigned long long)histogram_up_to(h, d));
	buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, label, comma,
		   (unsigned long long)h->count);
	char part[NAME_BYTES + 16];
	snprintf(part, sizeof part, "%s_sum", name);
	add_real(out, part, label, (double)h->sum / per_one);
	snprintf(part, sizeof part, "%s_count", name);
	add_whole(out, part, label, (int64_t)h->count);
}

/* Rows of one family are neighbours in measures_list.h. */
static void
add_measures(const struct report *r, struct buf *out)
{
	for (int i = 0; i < MEASURE_COUNT; i++) {
		const struct measures_row *row = &measures_rows[i];
		char name[NAME_BYTES];
		snprintf(name, sizeof name, "twice_%s", row->family);
		if (i == 0 || strcmp(row->family, measures_rows[i - 1].family) != 0)
			add_head(out, name, "histogram", row->help);
		add_histogram(&r->measures[i], name, row->label, row->per_one, out);
	}
}

/* ---- origins --------------------------------------------------------------------------------- */

static void
add_to(struct report_origin *all, const struct report_origin *one)
{
	if (one->condition != REPORT_ORIGIN_WELL)
		all->condition = one->condition;
	all->requests += one->requests;
	all->errors += one->errors;
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		all->answers[class] += one->answers[class];
	all->wait_us.sum += one->wait_us.sum;
	all->wait_us.count += one->wait_us.count;
	for (int b = 0; b < HISTOGRAM_BUCKETS; b++)
		all->wait_us.n[b] += one->wait_us.n[b];
}

/* Groups may share a server, but a name and its labels may stand in the text once: its numbers are
 * those of all groups. False: it was told already. */
static bool
all_groups(const struct report *r, unsigned i, struct report_origin *all)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(r->origins[k].url, r->origins[i].url) == 0)
			return false;
	*all = r->origins[i];
	for (unsigned k = i + 1; k < r->origin_count; k++)
		if (strcmp(r->origins[k].url, r->origins[i].url) == 0)
			add_to(all, &r->origins[k]);
	return true;
}

static void
add_origin_numbers(const struct report *r, const char *name, const char *type, const char *help,
		   int64_t (*number)(const struct report_origin *o), struct buf *out)
{
	struct buf label = {0};
	struct report_origin o;
	if (r->origin_count)
		add_head(out, name, type, help);
	for (unsigned i = 0; i < r->origin_count; i++)
		if (all_groups(r, i, &o))
			add_whole(out, name, label_of(&label, "origin", o.url, ""), number(&o));
	buf_fini(&label);
}

static int64_t
requests_of(const struct report_origin *o)
{
	return (int64_t)o->requests;
}

static int64_t
errors_of(const struct report_origin *o)
{
	return (int64_t)o->errors;
}

static int64_t
is_up(const struct report_origin *o)
{
	return o->condition == REPORT_ORIGIN_WELL;
}

static void
add_origins(const struct report *r, struct buf *out)
{
	static const char answers[] = "twice_origin_responses_total",
			  wait[] = "twice_origin_first_byte_seconds";
	struct buf label = {0};
	struct report_origin o;
	add_origin_numbers(r, "twice_origin_requests_total", "counter", "requests sent to it",
			   requests_of, out);
	add_origin_numbers(r, "twice_origin_errors_total", "counter",
			   "fetches from it that failed, a head of 5xx not among them", errors_of,
			   out);
	add_origin_numbers(r, "twice_origin_up", "gauge",
			   "0 while it failed five times in a row, left alone or not", is_up, out);
	if (r->origin_count)
		add_head(out, answers, "counter", "heads that it sent, by class of status");
	for (unsigned i = 0; i < r->origin_count; i++)
		for (unsigned class = 1; all_groups(r, i, &o) && class < MEASURES_CLASSES;
		     class ++) {
			char code[32];
			snprintf(code, sizeof code, ",code=\"%uxx\"", class);
			add_whole(out, answers, label_of(&label, "origin", o.url, code),
				  (int64_t)o.answers[class]);
		}
	if (r->origin_count)
		add_head(out, wait, "histogram", "from the question to the head of its answer");
	for (unsigned i = 0; i < r->origin_count; i++)
		if (all_groups(r, i, &o))
			add_histogram(&o.wait_us, wait, label_of(&label, "origin", o.url, ""), 1e6,
				      out);
	buf_fini(&label);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void
add_routes(const struct report *r, struct buf *out)
{
	static const char answers[] = "twice_route_responses_total",
			  first[] = "twice_route_first_byte_seconds";
	struct buf label = {0};
	const struct report_route *o = r->routes;
	unsigned n = r->route_count;
#define EACH_ROUTE(name_, help, value)                 \
	if (n)                                         \
		add_head(out, name_, "counter", help); \
	for (unsigned i = 0; i < n; i++)               \
		add_whole(out, name_, label_of(&label, "route", o[i].name, ""), (int64_t)(value));
	EACH_ROUTE("twice_route_requests_total", "requests of routes with that name", o[i].requests)
	EACH_ROUTE("twice_route_hits_total", "of these, answers that caused no origin request",
		   o[i].hits)
	EACH_ROUTE("twice_route_body_bytes_total", "bytes of bodies sent to their clients",
		   o[i].bytes)
#undef EACH_ROUTE
	if (n)
		add_head(out, answers, "counter", "answers, by class of status");
	for (unsigned i = 0; i < n; i++)
		for (unsigned class = 1; class < MEASURES_CLASSES; class ++) {
			char code[32];
			snprintf(code, sizeof code, ",code=\"%uxx\"", class);
			add_whole(out, answers, label_of(&label, "route", o[i].name, code),
				  (int64_t)o[i].answers[class]);
		}
	if (n)
		add_head(out, first, "histogram", "from the request to the head of the answer");
	for (unsigned i = 0; i < n; i++)
		add_histogram(&o[i].first_byte_us, first, label_of(&label, "route", o[i].name, ""),
			      1e6, out);
	buf_fini(&label);
}

/* ---- disks ----------------------------------------------------------------------------------- */

static void
add_disks(const struct report *r, struct buf *out)
{
	struct buf label = {0};
	const struct cache_disk_stats *d = r->cache.disks;
#define EACH_DISK(name, type, help, value)              \
	if (r->cache.disks_n)                           \
		add_head(out, name, type, help);        \
	for (unsigned i = 0; i < r->cache.disks_n; i++) \
		add_whole(out, name, label_of(&label, "dir", d[i].dir, ""), (int64_t)(value));
	EACH_DISK("twice_disk_used_bytes", "gauge", "bytes of the log on a disk", d[i].used_bytes)
	EACH_DISK("twice_disk_limit_bytes", "gauge", "bytes that a disk may take", d[i].limit_bytes)
	EACH_DISK("twice_disk_objects", "gauge", "objects on a disk", d[i].objects)
	EACH_DISK("twice_disk_log_written_bytes_total", "counter", "bytes written to a disk's log",
		  d[i].written_bytes)
	EACH_DISK("twice_disk_errors_total", "counter", "calls to a disk that failed",
		  d[i].io_errors)
	EACH_DISK("twice_disk_out", "gauge", "1: a disk is not read from or not written to",
		  d[i].failing)
#undef EACH_DISK
	buf_fini(&label);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static void
add_certificates(const struct report *r, struct buf *out)
{
	static const char name[] = "twice_certificate_end_timestamp_seconds";
	const struct report_configuration *c = &r->configuration;
	if (c->certificate_count)
		add_head(out, name, "gauge", "when a certificate that clients are shown ends");
	for (unsigned i = 0; i < c->certificate_count; i++) {
		buf_printf(out, "%s{name=\"", name);
		add_escaped(out, c->certificates[i].name);
		buf_printf(out, "\",file=\"");
		add_escaped(out, c->certificates[i].file);
		buf_printf(out, "\"} %lld\n", (long long)c->certificates[i].until_s);
	}
}

/* ---- the process ----------------------------------------------------------------------------- */

static void
add_process(const struct process_facts *p, struct buf *out)
{
	const struct {
		const char *name, *type, *help;
		double v;
	} rows[] = {
		{"process_cpu_seconds_total", "counter", "CPU time, user and system", p->cpu_s},
		{"process_start_time_seconds", "gauge", "when it began, unix time", p->start_s},
		{"process_resident_memory_bytes", "gauge", "memory in RAM",
		 (double)p->resident_bytes},
		{"process_virtual_memory_bytes", "gauge", "address space",
		 (double)p->virtual_bytes},
		{"process_open_fds", "gauge", "open file descriptors", (double)p->open_fds},
		{"process_max_fds", "gauge", "that may be open", (double)p->most_fds},
		{"process_threads", "gauge", "its threads", (double)p->threads},
		{"twice_process_storage_written_bytes_total", "counter",
		 "bytes that it caused to be written to storage, by the kernel's count",
		 (double)p->written_bytes},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		add_head(out, rows[i].name, rows[i].type, rows[i].help);
		buf_printf(out, "%s %.17g\n", rows[i].name, rows[i].v);
	}
}

void
report_prometheus(const struct report *r, struct buf *out)
{
	struct buf label = {0};
	add_head(out, "twice_build_info", "gauge", "the version that runs");
	add_whole(out, "twice_build_info", label_of(&label, "version", r->version, ""), 1);
	buf_fini(&label);
	add_facts(r, out);
	add_measures(r, out);
	add_origins(r, out);
	add_routes(r, out);
	add_disks(r, out);
	add_certificates(r, out);
	report_whatif_prometheus(r, out);
	add_process(&r->process, out);
}
