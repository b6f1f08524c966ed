/* report.c - one walk over the counters and facts, and what it looks like as JSON. */
#include "proxy/admin/report_inside.h"

#include "proxy/admin/report_health.h"
#include "proxy/admin/report_whatif.h"
#include "proxy/base/address.h"
#include "proxy/base/network.h"

#include <jansson.h>
#include <math.h>

/* ---- sums: docs/metrics.md says what they mean ---------------------------------------------- */

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
/* Packing won nothing of them. */
static uint64_t
kept_plain(const struct report *r)
{
	return r->packing.best + r->packing.quick - r->packing.packed;
}

/* There was no time for them. */
static uint64_t
not_packed(const struct report *r)
{
	uint64_t n = 0;
	for (int i = 0; i < PACKER_ANSWERS; i++)
		n += i == PACKER_TAKEN ? 0 : r->packing.answers[i];
	return n;
}

uint64_t
report_baseline_bytes(const struct report *r)
{
	return r->baseline.ghost.written_bytes + r->cache.purge_bytes;
}

/* Below zero while our own overhead (index, snapshots) outweighs what was left off the disk. */
static int64_t
saved_bytes(const struct report *r)
{
	return (int64_t)(report_baseline_bytes(r) - r->cache.written_bytes);
}

static double
saved_ratio(const struct report *r)
{
	return share((double)saved_bytes(r), (double)report_baseline_bytes(r));
}

static double
write_amplification(const struct report *r)
{
	return share((double)r->cache.written_bytes, (double)r->cache.admitted_bytes);
}

static double
written_per_day(const struct report *r)
{
	enum { DAY_S = 86400 };
	return share((double)r->cache.written_bytes, r->uptime_s) * DAY_S;
}

static double
drive_writes_per_day(const struct report *r)
{
	return share(written_per_day(r), (double)r->cache.limit_bytes);
}

static double
drive_life_years(const struct report *r)
{
	return share(r->endurance_bytes, written_per_day(r)) / 365.25;
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
	double hits = (double)r->n[METRIC_HITS] - (double)r->baseline.ghost.net_missed;
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

static bool
turns_fast(const struct report *r)
{
	return r->sightings.interval_s > 0 && r->sightings.interval_s < r->sightings.turn_alarm_s;
}

/* Of the current generation; 0: it has just begun. */
static double
distinct_per_s(const struct report *r)
{
	double age = (double)(r->now_s - r->generation.born_s), n = r->generation.distinct_estimate;
	return age >= 1 && isfinite(n) ? n / age : 0;
}

static double
generation_age(const struct report *r)
{
	return r->now_s > r->generation.born_s ? (double)(r->now_s - r->generation.born_s) : 0;
}

/* ---- the walk -------------------------------------------------------------------------------- */

void
report_each(const struct report *r, report_fact_fn *fn, void *ctx)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		fn(ctx, &(struct report_fact){.kind = KIND_COUNT,
					      .group = metric_rows[i].group,
					      .key = metric_rows[i].key,
					      .help = metric_rows[i].help,
					      .whole = (int64_t)r->n[i]});
#define VALUE_COUNT(v)	 .whole = (int64_t)(v)
#define VALUE_LEVEL(v)	 .whole = (int64_t)(v)
#define VALUE_SHARE(v)	 .real = (v)
#define VALUE_SECONDS(v) .real = (v)
#define FACT(kind_, group_, key_, value_, help_)            \
	fn(ctx, &(struct report_fact){.kind = KIND_##kind_, \
				      .group = group_,      \
				      .key = key_,          \
				      .help = help_,        \
				      VALUE_##kind_(value_)});
#include "proxy/admin/facts.h"
#undef FACT
}

bool
report_is_real(const struct report_fact *f)
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

void
report_add_json(void *ctx, const struct report_fact *f)
{
	json_t *v = report_is_real(f) ? json_real(isfinite(f->real) ? f->real : 0)
				      : json_integer(f->whole);
	json_object_set_new(group_of(ctx, f->group), f->key, v);
}

/* Seconds, or bytes; a distribution of which nothing was counted has zeros. */
static json_t *
json_of_sum(const struct histogram_sum *h, double per_one)
{
	double mean = h->count ? (double)h->sum / (double)h->count : 0;
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "count", (json_int_t)h->count, "mean",
			 mean / per_one, "p50", histogram_quantile(h, 0.5) / per_one, "p90",
			 histogram_quantile(h, 0.9) / per_one, "p99",
			 histogram_quantile(h, 0.99) / per_one);
}

static void
add_measures(const struct report *r, json_t *top)
{
	for (int i = 0; i < MEASURE_COUNT; i++) {
		const struct measures_row *row = &measures_rows[i];
		json_object_set_new(group_of(top, row->group), row->key,
				    json_of_sum(&r->measures[i], row->per_one));
	}
}

/* Somebody should notice who has the disk written full. */
static void
add_most_written(const struct report *r, json_t *top)
{
	char text[NETWORK_CLIENT_TEXT];
	if (r->most_written.bytes)
		json_object_set_new(
			group_of(top, "admission.most_written"), "address",
			json_string(network_print_client(r->most_written.who.address, text)));
}

/* Why so many are asked for, where that is chosen. */
static void
add_sightings(const struct report *r, json_t *top)
{
	char text[CHOICE_TEXT];
	json_t *group = group_of(top, "admission.sightings");
	const struct choice *c = &r->sightings.choice;
	json_object_set_new(group, "auto", json_boolean(r->sightings.chosen));
	if (!r->sightings.chosen)
		return;
	json_object_set_new(group, "since_s", json_integer((json_int_t)c->since_s));
	json_object_set_new(group, "why", json_string(choice_say(c, text)));
}

static json_t *
json_of_addresses(const struct report_origin *o)
{
	json_t *list = json_array();
	for (int i = 0; i < o->address_count && i < REPORT_ADDRESSES_MOST; i++) {
		char text[ADDRESS_HOST_BYTES];
		bool v4 = network_is_v4(o->addresses[i]);
		address_print_host(v4 ? AF_INET : AF_INET6, o->addresses[i] + (v4 ? 12 : 0), text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *
json_of_origins(const struct report *r)
{
	static const char *const states[] = {"well", "failing", "out"};
	json_t *list = json_array();
	for (unsigned i = 0; i < r->origin_count; i++) {
		const struct report_origin *o = &r->origins[i];
		json_t *one = json_pack(
			"{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "url", o->url, "group",
			o->group ? o->group : "default", "state", states[o->condition], "requests",
			(json_int_t)o->requests, "errors", (json_int_t)o->errors, "under_way",
			(json_int_t)o->under_way, "first_byte", json_of_sum(&o->wait_us, 1e6));
		if (o->address_count >= 0) {
			json_object_set_new(one, "addresses", json_of_addresses(o));
			json_object_set_new(one, "address_count", json_integer(o->address_count));
		}
		if (o->why)
			json_object_set_new(one, "why", json_string(o->why));
		if (o->condition == REPORT_ORIGIN_OUT)
			json_object_set_new(one, "returns_in_s",
					    json_real((double)o->returns_ms / 1000));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *
json_of_routes(const struct report *r)
{
	static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
	json_t *list = json_array();
	for (unsigned i = 0; i < r->route_count; i++) {
		const struct report_route *o = &r->routes[i];
		json_t *status = json_object();
		for (int class = 0; class < MEASURES_CLASSES; class ++)
			json_object_set_new(status, classes[class],
					    json_integer((json_int_t)o->answers[class]));
		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "name", o->name,
						"requests", (json_int_t)o->requests, "hits",
						(json_int_t)o->hits, "body_bytes",
						(json_int_t)o->bytes, "status", status,
						"first_byte", json_of_sum(&o->first_byte_us, 1e6)));
	}
	return list;
}

static json_t *
json_of_disks(const struct report *r)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < r->cache.disks_n; i++) {
		const struct cache_disk_stats *d = &r->cache.disks[i];
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "dir",
						d->dir, "state", d->failing ? "failing" : "well",
						"written_bytes", (json_int_t)d->written_bytes,
						"used_bytes", (json_int_t)d->used_bytes,
						"limit_bytes", (json_int_t)d->limit_bytes,
						"objects", (json_int_t)d->objects, "io_errors",
						(json_int_t)d->io_errors));
	}
	return list;
}

/* A path may be any bytes. */
static json_t *
json_of_bytes(const char *text)
{
	json_t *json = json_string(text);
	return json ? json : json_string("(not UTF-8)");
}

static json_t *
json_of_certificates(const struct report *r)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < r->configuration.certificate_count; i++) {
		const struct report_certificate *c = &r->configuration.certificates[i];
		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:I}", "name",
						      json_of_bytes(c->name), "file",
						      json_of_bytes(c->file), "ends_s",
						      (json_int_t)c->until_s, "ends_in_s",
						      (json_int_t)(c->until_s - r->now_s)));
	}
	return list;
}

static json_t *
json_of_node(const struct report *r)
{
	json_t *listen = json_array();
	for (unsigned i = 0; i < r->listen_count; i++)
		json_array_append_new(listen, json_string(r->listen[i]));
	return json_pack("{s:s, s:o, s:I}", "name", r->node, "listen", listen, "workers",
			 (json_int_t)r->workers);
}

/* Since this cache was first used, however often the proxy was restarted. */
static json_t *
json_of_lifetime(const struct report *r)
{
	static const char *const names[] = {
#define RATE(name, value) #name,
#define LEVEL(name, value)
#define QUANTILE(name, which, share)
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
	};
	json_t *all = json_pack("{s:I}", "since_s", (json_int_t)r->lifetime_since_s);
	for (int i = 0; i < REPORT_RATES; i++)
		json_object_set_new(all, names[i], json_integer((json_int_t)r->lifetime[i]));
	return all;
}

static json_t *
json_of_process(const struct process_facts *p)
{
	return json_pack("{s:f, s:I, s:I, s:I, s:I}", "cpu_s", p->cpu_s, "resident_bytes",
			 (json_int_t)p->resident_bytes, "open_fds", (json_int_t)p->open_fds,
			 "threads", (json_int_t)p->threads, "written_bytes",
			 (json_int_t)p->written_bytes);
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
	report_each(r, report_add_json, top);
	report_health_json(r, group_of(top, "health"));
	json_object_set_new(top, "last_minute", report_minute_json(r));
	json_object_set_new(top, "node", json_of_node(r));
	json_object_set_new(top, "what_if", report_whatif_json(r));
	json_object_set_new(top, "lifetime", json_of_lifetime(r));
	json_object_set_new(top, "process", json_of_process(&r->process));
	add_measures(r, top);
	json_object_set_new(top, "disks", json_of_disks(r));
	add_most_written(r, top);
	add_sightings(r, top);
	json_object_set_new(top, "origins", json_of_origins(r));
	json_object_set_new(top, "routes", json_of_routes(r));
	json_object_set_new(top, "certificates", json_of_certificates(r));
	json_dump_callback(top, on_json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(top);
	buf_add_lit(out, "\n");
}
