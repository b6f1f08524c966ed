/* savings.c - reads /stats and says what it means. */
#include "proxy/cli/savings.h"

#include "config/units.h"
#include "proxy/cache/admission/choice.h"

#include <jansson.h>
#include <stdlib.h>
#include <time.h>

/* The numbers of /stats that are shown here; those that the sum of a fleet has too, and those of one node alone. */
/* clang-format off */
#define SUMMED(X) \
	X(uptime, "uptime_s") X(requests, "requests.total") X(ram_hits, "requests.ram_hits") \
	X(disk_hits, "requests.disk_hits") X(coalesced, "requests.coalesced") \
	X(revalidated, "requests.revalidated") X(sibling, "requests.sibling") X(stale, "requests.stale_served") \
	X(hit_ratio, "requests.hit_ratio") X(baseline_hit_ratio, "requests.baseline_hit_ratio") \
	X(sent, "bytes.to_clients") X(byte_hit_ratio, "bytes.hit_ratio") \
	X(baseline_byte_hit_ratio, "bytes.baseline_hit_ratio") \
	X(written, "disk.written_bytes") X(baseline, "disk.baseline_bytes") \
	X(saved, "disk.saved_bytes") X(saved_ratio, "disk.saved_ratio") \
	X(origin_requests, "origin.requests") X(extra_requests, "origin.extra_requests") \
	X(extra_bytes, "origin.extra_bytes") X(avoided_requests, "origin.avoided_requests") \
	X(avoided_bytes, "origin.avoided_bytes") X(origin_errors, "origin.errors") \
	X(over_budget, "admission.over_budget")
#define ALONE(X) \
	X(generation, "admission.generation.number") X(keys, "admission.generation.keys") \
	X(capacity, "admission.generation.capacity") X(fpr, "admission.generation.estimated_fpr") \
	X(age, "admission.generation.age_s") \
	X(life_years, "disk.drive_life_years") X(since, "lifetime.since_s") \
	X(all_written, "lifetime.written") X(all_baseline, "lifetime.baseline") \
	X(all_requests, "lifetime.requests")
/* clang-format on */

struct savings {
#define X(name, path) double name;
	SUMMED(X)
	ALONE(X)
#undef X
	char chosen[CHOICE_TEXT]; /* how many sightings, and why; "": they are set */
};

static void
read_chosen(const json_t *top, char to[CHOICE_TEXT])
{
	const json_t *a = json_object_get(top, "admission"), *s = json_object_get(a, "sightings");
	const char *why = json_string_value(json_object_get(s, "why"));
	snprintf(to, CHOICE_TEXT, "%s", why ? why : "");
}

static int
read_number(const json_t *top, const char *path, double *out)
{
	while (*path) {
		size_t n = strcspn(path, ".");
		char name[32];
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		path += n + (path[n] == '.');
		top = json_object_get(top, name);
	}
	if (!json_is_number(top))
		return -1;
	*out = json_number_value(top);
	return 0;
}

static int
read_savings(struct savings *s, const json_t *top, bool alone, char *err, size_t err_bytes)
{
	const char *missing = NULL;
	*s = (struct savings){0};
#define X(name, path)                             \
	if (read_number(top, path, &s->name) < 0) \
		missing = path;
	SUMMED(X)
	if (alone) {
		ALONE(X)
		read_chosen(top, s->chosen);
	}
#undef X
	if (missing)
		snprintf(err, err_bytes,
			 "the answer lacks \"%s\"; is that address the admin address "
			 "of a twice of this version?",
			 missing);
	return missing ? -1 : 0;
}

static const char *
count(double v, char out[UNITS_BYTES])
{
	return units_say_count((uint64_t)v, out);
}

static double
percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void
print_traffic(FILE *to, const struct savings *s)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	fprintf(to, "  requests                 %12s   in %s, %s sent to clients\n",
		count(s->requests, a), units_say_lasting(s->uptime, b),
		units_say_bytes_more(s->sent, (char[UNITS_BYTES]){0}));
	fprintf(to,
		"  hit ratio                %11.1f%%   RAM %.1f%%, disk %.1f%%%s; besides, shared fetch "
		"%.1f%%",
		100 * s->hit_ratio, percent(s->ram_hits, s->requests),
		percent(s->disk_hits, s->requests),
		s->sibling > 0 ? ", the rest at other nodes" : "",
		percent(s->coalesced, s->requests));
	fprintf(to, s->revalidated + s->stale > 0 ? ", revalidated or stale %.1f%%\n" : "\n",
		percent(s->revalidated + s->stale, s->requests));
	fprintf(to, "  origin requests          %12s   %s failed\n", count(s->origin_requests, a),
		s->origin_errors > 0 ? count(s->origin_errors, b) : "none");
}

/* Of a start, or of hits alone, its own index and snapshots are all that it writes. */
static void
print_saved(FILE *to, const char *what, double baseline, double written, const char *of)
{
	char a[UNITS_BYTES];
	double saved = baseline - written;
	if (saved < 0)
		fprintf(to, "  %-24s %12s   %s more were written, as its index and snapshots\n",
			what, "nothing", units_say_bytes_more(-saved, a));
	else
		fprintf(to, "  %-24s %12s   %.1f%% %s\n", what, units_say_bytes_more(saved, a),
			percent(saved, baseline), of);
}

/* Since this cache was first used, however often the proxy was started. */
static void
print_lifetime(FILE *to, const struct savings *s)
{
	char what[40] = "saved over restarts";
	time_t since = (time_t)s->since;
	struct tm tm;
	if (localtime_r(&since, &tm))
		strftime(what, sizeof what, "saved since %Y-%m-%d", &tm);
	print_saved(to, what, s->all_baseline, s->all_written, "of them, over restarts");
}

static void
print_life(FILE *to, const struct savings *s)
{
	char years[32], other[48] = "";
	snprintf(years, sizeof years, "%.1f years", s->life_years);
	if (s->baseline > 0)
		snprintf(other, sizeof other, "; %.1f in the ordinary cache",
			 s->life_years * s->written / s->baseline);
	fprintf(to, "  the drive lasts          %12s   at the rate since the start%s\n", years,
		other);
}

static void
print_disk(FILE *to, const struct savings *s)
{
	char a[UNITS_BYTES];
	fprintf(to,
		"  an ordinary cache writes %12s   it stores every object, in a log like that of twice\n",
		units_say_bytes_more(s->baseline, a));
	fprintf(to,
		"  twice wrote              %12s   it stores objects that are requested again\n",
		units_say_bytes_more(s->written, a));
	print_saved(to, "saved", s->baseline, s->written, "of the disk writes");
	if (s->over_budget > 0)
		fprintf(to,
			"  refused by the budget    %12s   answers: write_budget bounds twice, not the "
			"other\n",
			count(s->over_budget, a));
	if (s->all_requests > s->requests)
		print_lifetime(to, s);
	if (s->life_years > 0)
		print_life(to, s);
}

static void
print_price(FILE *to, const struct savings *s)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	fprintf(to,
		"  extra origin fetches     %12s   %.1f%% of requests, %s: made by twice alone\n",
		count(s->extra_requests, a), percent(s->extra_requests, s->requests),
		units_say_bytes_more(s->extra_bytes, b));
	fprintf(to,
		"  origin fetches avoided   %12s   %.1f%% of requests, %s: the ordinary cache makes them\n",
		count(s->avoided_requests, a), percent(s->avoided_requests, s->requests),
		units_say_bytes_more(s->avoided_bytes, b));
	fprintf(to,
		"  hit ratio admitting all  %11.1f%%   by bytes %.1f%%, where twice has %.1f%%\n",
		100 * s->baseline_hit_ratio, 100 * s->baseline_byte_hit_ratio,
		100 * s->byte_hit_ratio);
}

static void
print_generation(FILE *to, const struct savings *s)
{
	char a[UNITS_BYTES], b[UNITS_BYTES], c[UNITS_BYTES];
	fprintf(to,
		"  URLs remembered          %12s   of %s, generation %s, %s old; %.2g%% error\n",
		count(s->keys, a), count(s->capacity, b), count(s->generation, c),
		units_say_lasting(s->age, (char[UNITS_BYTES]){0}), 100 * s->fpr);
	if (s->chosen[0])
		fprintf(to, "  sightings                %12s   %s\n", "auto", s->chosen);
}

static void
print_all(FILE *to, const struct savings *s)
{
	print_traffic(to, s);
	fprintf(to, "\n");
	print_disk(to, s);
	fprintf(to, "\n");
	print_price(to, s);
}

int
savings_print(FILE *to, struct str json, char *err, size_t err_bytes)
{
	struct savings s;
	json_error_t why;
	json_t *top = json_loadb(json.p, json.n, 0, &why);
	if (!top) {
		snprintf(err, err_bytes,
			 "the answer is not JSON (%s); is that address a twice's "
			 "admin address?",
			 why.text);
		return -1;
	}
	int result = read_savings(&s, top, true, err, err_bytes);
	json_decref(top);
	if (result < 0)
		return -1;
	print_all(to, &s);
	print_generation(to, &s);
	return 0;
}

int
savings_print_sum(FILE *to, const json_t *sum, char *err, size_t err_bytes)
{
	struct savings s;
	if (read_savings(&s, sum, false, err, err_bytes) < 0)
		return -1;
	print_all(to, &s);
	return 0;
}

void
savings_print_report(FILE *to, const struct report *r)
{
	struct buf json = {0};
	char err[256];
	report_json(r, &json);
	if (savings_print(to, buf_str(&json), err, sizeof(err)) < 0)
		abort(); /* both sides are ours */
	buf_fini(&json);
}
