/* report.c - one walk over the counters and facts, shown in two ways. */
#include "proxy/admin/report.h"

#include <jansson.h>
#include <math.h>

enum kind { KIND_COUNT, KIND_LEVEL, KIND_SHARE, KIND_SECONDS };

struct fact {
	enum kind kind;
	const char *group, *key, *help;
	int64_t whole; /* of COUNT and LEVEL */
	double real;   /* of SHARE and SECONDS */
};

/* ---- sums: README.md says what they mean ---------------------------------------------------- */

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

/* Purges are written down, whatever the rule of admission says. */
static uint64_t
baseline_bytes(const struct report *r)
{
	return r->baseline.ghost.written_bytes + r->cache.purge_bytes;
}

/* Below zero while our own overhead (index, snapshots) outweighs what was left off the disk. */
static int64_t
saved_bytes(const struct report *r)
{
	return (int64_t)(baseline_bytes(r) - r->cache.written_bytes);
}

static double
saved_ratio(const struct report *r)
{
	return share((double)saved_bytes(r), (double)baseline_bytes(r));
}

static double
write_amplification(const struct report *r)
{
	return share((double)r->cache.written_bytes, (double)r->cache.admitted_bytes);
}

/* Origin requests, and bytes of bodies from origins, that we caused more than the baseline would
 * have; below zero when we caused fewer. */
static int64_t
net_requests(const struct report *r)
{
	return (int64_t)(r->baseline.ghost.extra_requests - r->baseline.ghost.avoided_requests);
}

static int64_t
net_bytes(const struct report *r)
{
	return (int64_t)(r->baseline.ghost.extra_bytes - r->baseline.ghost.avoided_bytes);
}

static double
hit_ratio(const struct report *r)
{
	return share((double)r->n[METRIC_HITS], (double)r->n[METRIC_REQUESTS]);
}

/* The baseline answers what we answer, and what our rule sent to the origin, but not what we had
 * and it would have fetched. */
static double
baseline_hit_ratio(const struct report *r)
{
	double hits = (double)r->n[METRIC_HITS] + (double)net_requests(r);
	return between_0_and_1(share(hits, (double)r->n[METRIC_REQUESTS]));
}

static double
body_bytes(const struct report *r)
{
	return (double)(r->n[METRIC_BYTES_FROM_CACHE] + r->n[METRIC_BYTES_FROM_ORIGIN]);
}

static double
byte_hit_ratio(const struct report *r)
{
	return share((double)r->n[METRIC_BYTES_FROM_CACHE], body_bytes(r));
}

static double
baseline_byte_hit_ratio(const struct report *r)
{
	double bytes = (double)r->n[METRIC_BYTES_FROM_CACHE] + (double)net_bytes(r);
	return between_0_and_1(share(bytes, body_bytes(r)));
}

static double
generation_age(const struct report *r)
{
	return r->now_s > r->generation.born_s ? (double)(r->now_s - r->generation.born_s) : 0;
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef void fact_fn(void *ctx, const struct fact *f);

static void
each_fact(const struct report *r, fact_fn *fn, void *ctx)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		fn(ctx, &(struct fact){.kind = KIND_COUNT,
				       .group = metric_rows[i].group,
				       .key = metric_rows[i].key,
				       .help = metric_rows[i].help,
				       .whole = (int64_t)r->n[i]});
#define VALUE_COUNT(v)	 .whole = (int64_t)(v)
#define VALUE_LEVEL(v)	 .whole = (int64_t)(v)
#define VALUE_SHARE(v)	 .real = (v)
#define VALUE_SECONDS(v) .real = (v)
#define FACT(kind_, group_, key_, value_, help_)     \
	fn(ctx, &(struct fact){.kind = KIND_##kind_, \
			       .group = group_,      \
			       .key = key_,          \
			       .help = help_,        \
			       VALUE_##kind_(value_)});
#include "proxy/admin/facts.h"
#undef FACT
}

static bool
is_real(const struct fact *f)
{
	return f->kind == KIND_SHARE || f->kind == KIND_SECONDS;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The object that "admission.generation" names, made where it is missing. */
static json_t *
group_of(json_t *top, const char *path)
{
	while (*path) {
		char name[32];
		size_t n = strcspn(path, ".");
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		path += n + (path[n] == '.');
		json_t *inner = json_object_get(top, name);
		if (!inner) {
			inner = json_object();
			json_object_set_new(top, name, inner);
		}
		top = inner;
	}
	return top;
}

static void
add_json(void *ctx, const struct fact *f)
{
	json_t *v =
		is_real(f) ? json_real(isfinite(f->real) ? f->real : 0) : json_integer(f->whole);
	json_object_set_new(group_of(ctx, f->group), f->key, v);
}

static int
on_json(const char *p, size_t n, void *ctx)
{
	buf_add(ctx, p, n);
	return 0;
}

void
report_json(const struct report *r, struct buf *out)
{
	json_t *top = json_object();
	json_object_set_new(top, "version", json_string(r->version));
	each_fact(r, add_json, top);
	json_dump_callback(top, on_json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(top);
	buf_add_lit(out, "\n");
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

/* twice_requests_ram_hits_total: counters end in _total, once; the unit is a whole word. */
static void
metric_name(const struct fact *f, char *out, size_t n)
{
	size_t key = strlen(f->key);
	bool seconds = key > 2 && strcmp(f->key + key - 2, "_s") == 0;
	const char *total = f->kind == KIND_COUNT && strcmp(f->key, "total") != 0 ? "_total" : "";
	snprintf(out, n, "twice_%s%s%.*s%s%s", f->group, *f->group ? "_" : "",
		 (int)(seconds ? key - 2 : key), f->key, seconds ? "_seconds" : "", total);
	for (char *p = out; *p; p++)
		if (*p == '.')
			*p = '_';
}

static void
add_prometheus(void *ctx, const struct fact *f)
{
	struct buf *out = ctx;
	char name[128];
	metric_name(f, name, sizeof(name));
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s ", name, f->help, name,
		   f->kind == KIND_COUNT ? "counter" : "gauge", name);
	if (is_real(f))
		buf_printf(out, "%.9g\n", isfinite(f->real) ? f->real : 0);
	else
		buf_printf(out, "%lld\n", (long long)f->whole);
}

void
report_prometheus(const struct report *r, struct buf *out)
{
	buf_printf(out,
		   "# HELP twice_build_info the version that runs\n# TYPE twice_build_info gauge\n"
		   "twice_build_info{version=\"%s\"} 1\n",
		   r->version);
	each_fact(r, add_prometheus, out);
}
