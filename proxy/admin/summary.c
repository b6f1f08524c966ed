/* summary.c - a walk over rows, and back into a report, whose ratios are those of /stats. */
#include "proxy/admin/summary.h"

#include "proxy/admin/report_inside.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of one node, and of the sum: two of these fit in an int64_t. */
#define SUMMARY_MOST (INT64_C(1) << 61)

static const struct summary_name {
	const char *group, *key;
} told[] =
	{
#define TOLD(group, key, place) {group, key},
#define COMPUTED(group, key)
#include "proxy/admin/summary_rows.h"
#undef TOLD
#undef COMPUTED
},
  computed[] = {
#define TOLD(group, key, place)
#define COMPUTED(group, key) {group, key},
#include "proxy/admin/summary_rows.h"
#undef TOLD
#undef COMPUTED
};

/* "requests.total" */
enum { NAME_BYTES = 64 };
static const char *
name_of(int i, char out[NAME_BYTES])
{
	bool counter = i < SUMMARY_COUNTERS;
	snprintf(out, NAME_BYTES, "%s.%s",
		 counter ? metric_rows[i].group : told[i - SUMMARY_COUNTERS].group,
		 counter ? metric_rows[i].key : told[i - SUMMARY_COUNTERS].key);
	return out;
}

void
summary_of(const struct report *r, struct summary *out)
{
	int i = SUMMARY_COUNTERS;
	out->uptime_s = r->uptime_s;
	for (int k = 0; k < SUMMARY_COUNTERS; k++)
		out->n[k] = (int64_t)r->n[k];
#define TOLD(group, key, place) out->n[i++] = (int64_t)r->place;
#define COMPUTED(group, key)
#include "proxy/admin/summary_rows.h"
#undef TOLD
#undef COMPUTED
	assert(i == SUMMARY_NUMBERS);
}

static void
to_report(const struct summary *s, struct report *r)
{
	int i = SUMMARY_COUNTERS;
	r->uptime_s = s->uptime_s;
	for (int k = 0; k < SUMMARY_COUNTERS; k++)
		r->n[k] = (uint64_t)s->n[k];
#define TOLD(group, key, place) r->place = s->n[i++];
#define COMPUTED(group, key)
#include "proxy/admin/summary_rows.h"
#undef TOLD
#undef COMPUTED
}

static int64_t
within(int64_t n)
{
	return n > SUMMARY_MOST ? SUMMARY_MOST : n < -SUMMARY_MOST ? -SUMMARY_MOST : n;
}

void
summary_add(struct summary *to, const struct summary *s)
{
	to->uptime_s = s->uptime_s > to->uptime_s ? s->uptime_s : to->uptime_s;
	for (int i = 0; i < SUMMARY_NUMBERS; i++)
		to->n[i] = within(to->n[i] + s->n[i]);
}

/* ---- on the way ---------------------------------------------------------------------------- */

void
summary_format(const struct summary *s, struct buf *out)
{
	char name[NAME_BYTES];
	size_t from = out->n;
	buf_printf(out, "{\"uptime_s\":%.1f", s->uptime_s);
	for (int i = 0; i < SUMMARY_NUMBERS; i++)
		if (s->n[i])
			buf_printf(out, ",\"%s\":%lld", name_of(i, name), (long long)s->n[i]);
	buf_add_lit(out, "}");
	assert(out->n - from <= SUMMARY_TEXT_MOST);
}

static bool
read_number(const json_t *json, int64_t *out)
{
	*out = json_integer_value(json);
	return !json || (json_is_integer(json) && *out >= -SUMMARY_MOST && *out <= SUMMARY_MOST);
}

int
summary_parse(struct str text, struct summary *out)
{
	struct summary s;
	char name[NAME_BYTES];
	json_t *json = text.n <= SUMMARY_TEXT_MOST ? json_loadb(text.p, text.n, 0, NULL) : NULL;
	const json_t *uptime = json_object_get(json, "uptime_s");
	s.uptime_s = json_number_value(uptime);
	bool fine = json_is_number(uptime) && s.uptime_s >= 0 && s.uptime_s < 1e12;
	for (int i = 0; fine && i < SUMMARY_NUMBERS; i++)
		fine = read_number(json_object_get(json, name_of(i, name)), &s.n[i]);
	json_decref(json);
	if (fine)
		*out = s;
	return fine ? 0 : -1;
}

/* ---- for people ---------------------------------------------------------------------------- */

static bool
is_among(const struct summary_name *of, size_t n, const struct report_fact *f)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(of[i].group, f->group) == 0 && strcmp(of[i].key, f->key) == 0)
			return true;
	return false;
}

static bool
is_counter(const struct report_fact *f)
{
	for (int i = 0; i < SUMMARY_COUNTERS; i++)
		if (strcmp(metric_rows[i].group, f->group) == 0 &&
		    strcmp(metric_rows[i].key, f->key) == 0)
			return true;
	return false;
}

static void
add_json(void *ctx, const struct report_fact *f)
{
	if (is_counter(f) || is_among(told, sizeof told / sizeof *told, f) ||
	    is_among(computed, sizeof computed / sizeof *computed, f))
		report_add_json(ctx, f);
}

json_t *
summary_json(const struct summary *s)
{
	struct report *r = NEW(struct report);
	json_t *top = json_object();
	to_report(s, r);
	report_each(r, add_json, top);
	free(r);
	return top;
}
