/* outlook.c - a sentence, then rates in the columns of savings.c. */
#include "proxy/cli/outlook.h"

#include "config/units.h"

#include <string.h>
#include <time.h>

static double
number(const json_t *top, const char *group, const char *key)
{
	return json_number_value(json_object_get(json_object_get(top, group), key));
}

static void
print_state(FILE *to, const json_t *health)
{
	char when[32] = "-", lasting[UNITS_BYTES];
	time_t since = (time_t)json_integer_value(json_object_get(health, "since_timestamp_s"));
	const json_t *whys = json_object_get(health, "why"), *why;
	size_t i;
	struct tm tm;
	if (localtime_r(&since, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(to, "%s since %s (%s)", json_string_value(json_object_get(health, "state")), when,
		units_say_lasting(json_number_value(json_object_get(health, "for_s")), lasting));
	json_array_foreach(whys, i, why)
	{
		fprintf(to, "%s%s", i ? "; " : ": ",
			json_string_value(json_object_get(why, "says")));
	}
	fprintf(to, "\n");
}

struct rates {
	double requests, hit_ratio, failed_ratio, sent, asked, asked_failed,
		written; /* by second */
};

/* "0.02%", "12.3%": of few errors each counts. */
static const char *
percent(double share, char out[16])
{
	double p = 100 * share;
	snprintf(out, 16, p > 0 && p < 1 ? "%.2f%%" : "%.1f%%", p);
	return out;
}

static const char *
bytes(double per_s, char out[UNITS_BYTES])
{
	return units_say_bytes(per_s > 0 ? (uint64_t)per_s : 0, out);
}

static void
print_rates(FILE *to, const char *when, const struct rates *r)
{
	char text[32], b[UNITS_BYTES], p[16], q[16];
	snprintf(text, sizeof text, "requests, %s", when);
	fprintf(to, "  %-22s %12.1f/s %s from the cache, %s failed, %s/s sent to clients\n", text,
		r->requests, percent(r->hit_ratio, p), percent(r->failed_ratio, q),
		bytes(r->sent, b));
	fprintf(to, "  %-22s %12.1f/s %.1f/s failed, %s/s written to disk\n", "asked of origins",
		r->asked, r->asked_failed, bytes(r->written, b));
}

static void
print_minute(FILE *to, const json_t *m)
{
	char when[32];
	double seconds = json_number_value(json_object_get(m, "seconds"));
	snprintf(when, sizeof when, seconds < 58 ? "last %.0f s" : "last minute", seconds);
	print_rates(to, when,
		    &(struct rates){
			    .requests = json_number_value(json_object_get(m, "requests_per_s")),
			    .hit_ratio = json_number_value(json_object_get(m, "hit_ratio")),
			    .failed_ratio = json_number_value(json_object_get(m, "failed_ratio")),
			    .sent = json_number_value(json_object_get(m, "to_clients_per_s")),
			    .asked = json_number_value(json_object_get(m, "origin_requests_per_s")),
			    .asked_failed =
				    json_number_value(json_object_get(m, "origin_errors_per_s")),
			    .written = json_number_value(json_object_get(m, "written_per_s")),
		    });
}

/* From one look to the next; nothing where the proxy was started anew between them. */
static void
print_now(FILE *to, const json_t *stats, const json_t *before)
{
	double s = json_number_value(json_object_get(stats, "uptime_s")) -
		   json_number_value(json_object_get(before, "uptime_s"));
#define SINCE(group, key) (number(stats, group, key) - number(before, group, key))
	double requests = SINCE("requests", "total");
	double failed = SINCE("status", "5xx") - SINCE("requests", "only_if_cached");
	if (s <= 0 || requests < 0)
		return;
	double whole = requests > 0 ? requests : 1;
	print_rates(to, "now",
		    &(struct rates){
			    .requests = requests / s,
			    .hit_ratio = SINCE("requests", "hits") / whole,
			    .failed_ratio = failed > 0 ? failed / whole : 0,
			    .sent = SINCE("bytes", "to_clients") / s,
			    .asked = SINCE("origin", "requests") / s,
			    .asked_failed = SINCE("origin", "errors") / s,
			    .written = SINCE("disk", "written_bytes") / s,
		    });
#undef SINCE
}

void
outlook_print(FILE *to, const json_t *stats, const json_t *before)
{
	const json_t *health = json_object_get(stats, "health");
	if (!json_is_string(json_object_get(health, "state")))
		return;
	print_state(to, health);
	if (before)
		print_now(to, stats, before);
	if (json_is_object(json_object_get(stats, "last_minute")))
		print_minute(to, json_object_get(stats, "last_minute"));
	fprintf(to, "\nSince the start\n");
}
