/* history.c - the rings: a step is the difference of two reports. */
#include "proxy/admin/history_inside.h"

#include "proxy/base/mem.h"

#include <math.h>
#include <stdlib.h>

const char *const history_names[HISTORY_COLUMNS] = {
#define RATE(name, value)	     #name,
#define LEVEL(name, value)	     #name,
#define QUANTILE(name, which, share) #name,
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
};

static const struct {
	uint32_t step_s, count;
} shapes[HISTORY_TIERS] = {{1, 600}, {10, 720}, {300, 2016}};

/* ---- life ------------------------------------------------------------------------------------ */

struct history *
history_create(int64_t now_s)
{
	struct history *h = NEW(struct history);
	pthread_mutex_init(&h->lock, NULL);
	h->since_s = now_s;
	h->saved_requests = -1;
	for (int i = 0; i < HISTORY_TIERS; i++) {
		struct history_tier *t = &h->tiers[i];
		t->step_s = shapes[i].step_s;
		t->count = shapes[i].count;
		t->stamp = mem_zalloc(t->count * sizeof *t->stamp);
		t->values = mem_zalloc(t->count * HISTORY_COLUMNS * sizeof *t->values);
	}
	return h;
}

void
history_destroy(struct history **hp)
{
	struct history *h = *hp;
	*hp = NULL;
	if (!h)
		return;
	for (int i = 0; i < HISTORY_TIERS; i++) {
		free(h->tiers[i].stamp);
		free(h->tiers[i].values);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* ---- what a report says ---------------------------------------------------------------------- */

static double
origins_out(const struct report *r)
{
	double n = 0;
	for (unsigned i = 0; i < r->origin_count; i++)
		n += r->origins[i].condition == REPORT_ORIGIN_OUT;
	return n;
}

void
history_totals(const struct report *r, double out[REPORT_RATES])
{
	int i = 0;
#define RATE(name, value) out[i++] = (double)(value);
#define LEVEL(name, value)
#define QUANTILE(name, which, share)
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
}

static void
read_sums(const struct report *r, struct histogram_sum out[HISTORY_SUMS])
{
	out[HISTORY_HIT] = r->measures[MEASURE_FIRST_BYTE_HIT];
	out[HISTORY_FETCHED] = r->measures[MEASURE_FIRST_BYTE_OTHER];
	struct histogram_sum *all = &out[HISTORY_ORIGIN];
	*all = (struct histogram_sum){0};
	for (unsigned i = 0; i < r->origin_count; i++) {
		const struct histogram_sum *one = &r->origins[i].wait_us;
		all->count += one->count;
		for (int b = 0; b < HISTOGRAM_BUCKETS; b++)
			all->n[b] += one->n[b];
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void
begin_step(struct history_tier *t, const struct report *r, int64_t step, int64_t now_us)
{
	t->begun = true;
	t->step = step;
	t->began_us = now_us;
	history_totals(r, t->rates);
	read_sums(r, t->sums);
}

static void
fill_row(const struct history_tier *t, const struct report *r, int64_t now_us,
	 float row[HISTORY_COLUMNS])
{
	double rates[REPORT_RATES], seconds = (double)(now_us - t->began_us) / 1e6;
	struct histogram_sum sums[HISTORY_SUMS], came[HISTORY_SUMS];
	history_totals(r, rates);
	read_sums(r, sums);
	for (int i = 0; i < HISTORY_SUMS; i++)
		histogram_sum_since(&sums[i], &t->sums[i], &came[i]);
	for (int i = 0; i < REPORT_RATES; i++)
		row[i] = (float)((rates[i] - t->rates[i]) / seconds);
#define RATE(name, value)
#define LEVEL(name, value) row[HISTORY_##name] = (float)(value);
#define QUANTILE(name, which, share)                                                       \
	row[HISTORY_##name] =                                                              \
		came[HISTORY_##which].count                                                \
			? (float)(histogram_quantile(&came[HISTORY_##which], share) / 1e6) \
			: NAN;
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
}

static void
write_row(struct history_tier *t, int64_t step, const float row[HISTORY_COLUMNS])
{
	uint32_t at = (uint32_t)(step % t->count);
	t->stamp[at] = (uint32_t)step;
	for (int c = 0; c < HISTORY_COLUMNS; c++)
		t->values[(size_t)c * t->count + at] = row[c];
}

/* Steps that nobody looked at have the average too, unless the clock was set forward by far. */
static void
end_step(struct history_tier *t, const struct report *r, int64_t step, int64_t now_us)
{
	float row[HISTORY_COLUMNS];
	int64_t seconds = (now_us - t->began_us) / 1000000;
	int64_t most = seconds / t->step_s + 2, first = t->step;
	if (now_us <= t->began_us)
		return;
	fill_row(t, r, now_us, row);
	if (step - first > most)
		first = step - 1;
	if (step - first > t->count)
		first = step - t->count;
	for (int64_t i = first; i < step; i++)
		write_row(t, i, row);
}

void
history_add(struct history *h, const struct report *r, int64_t now_s, int64_t now_us)
{
	pthread_mutex_lock(&h->lock);
	history_totals(r, h->now);
	for (int i = 0; i < HISTORY_TIERS; i++) {
		struct history_tier *t = &h->tiers[i];
		int64_t step = now_s / t->step_s;
		if (t->begun && step == t->step)
			continue;
		if (t->begun && step > t->step)
			end_step(t, r, step, now_us);
		begin_step(t, r, step, now_us); /* also when the clock was set back */
	}
	pthread_mutex_unlock(&h->lock);
}

void
history_lifetime(struct history *h, struct report *r)
{
	history_totals(r, r->lifetime);
	pthread_mutex_lock(&h->lock);
	for (int i = 0; i < REPORT_RATES; i++)
		r->lifetime[i] += h->before[i];
	r->lifetime_since_s = h->since_s;
	pthread_mutex_unlock(&h->lock);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void
add_column(const struct history_tier *t, int column, int64_t first, struct buf *out)
{
	const float *values = t->values + (size_t)column * t->count;
	buf_printf(out, "%s\n\"%s\":[", column ? "," : "", history_names[column]);
	for (int64_t step = first; step < t->step; step++) {
		uint32_t at = (uint32_t)(step % t->count);
		const char *comma = step > first ? "," : "";
		if (t->stamp[at] == (uint32_t)step && isfinite(values[at]))
			buf_printf(out, "%s%.6g", comma, (double)values[at]);
		else
			buf_printf(out, "%snull", comma);
	}
	buf_add_lit(out, "]");
}

bool
history_json(struct history *h, int64_t step_s, int64_t since_s, struct buf *out)
{
	const struct history_tier *t = NULL;
	for (int i = 0; i < HISTORY_TIERS; i++)
		if (h->tiers[i].step_s == step_s)
			t = &h->tiers[i];
	if (!t)
		return false;
	pthread_mutex_lock(&h->lock);
	int64_t first = t->step - t->count;
	if (since_s >= 0 && since_s / step_s >= first)
		first = since_s / step_s + 1;
	if (first < 0)
		first = 0;
	if (first > t->step)
		first = t->step;
	buf_printf(out, "{\"step_s\":%lld,\"first_s\":%lld,\"count\":%lld,\"columns\":{",
		   (long long)step_s, (long long)(first * step_s), (long long)(t->step - first));
	for (int c = 0; c < HISTORY_COLUMNS; c++)
		add_column(t, c, first, out);
	buf_add_lit(out, "}}\n");
	pthread_mutex_unlock(&h->lock);
	return true;
}
