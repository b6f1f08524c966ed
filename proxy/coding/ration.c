/* ration.c - earning, paying, settling. */
#include "proxy/coding/ration.h"

#include <stdbool.h>

/* A byte's cost before any is known, packing and check (bench/coding.c: 25 to 45 MB/s, 100 to 400); and the
 * bounds of what is learned, so that one strange body does not end the packing of all. */
enum { BEST_PS = 25000, QUICK_PS = 5000, COST_APART = 8, LEARNS = 8 };
static const int64_t usual_ps[STRENGTHS] = {BEST_PS, QUICK_PS};

void
ration_init(struct ration *b, uint32_t share_ppm, int64_t now_us)
{
	*b = (struct ration){.share_ppm = share_ppm, .at_us = now_us};
	b->most_ns = (int64_t)RATION_WINDOW_S * 1000 * share_ppm;
	b->left_ns = b->most_ns;
	for (int s = 0; s < STRENGTHS; s++)
		b->cost_ps[s] = usual_ps[s];
}

static void
add(struct ration *b, int64_t ns)
{
	b->left_ns = b->left_ns + ns < b->most_ns ? b->left_ns + ns : b->most_ns;
}

/* A microsecond earns share_ppm / 1000 ns. More than a window makes whole what can be, but for a debt, which
 * is bounded by the largest body: two windows are enough to count. */
static void
earn(struct ration *b, int64_t now_us)
{
	int64_t most_us = (int64_t)2 * RATION_WINDOW_S * 1000000, us = now_us - b->at_us;
	if (us <= 0)
		return;
	b->at_us = now_us;
	add(b, (us < most_us ? us : most_us) * b->share_ppm / 1000);
}

void
ration_change(struct ration *b, uint32_t share_ppm, int64_t now_us)
{
	bool begins = !b->share_ppm;
	earn(b, now_us);
	b->share_ppm = share_ppm;
	b->most_ns = (int64_t)RATION_WINDOW_S * 1000 * share_ppm;
	add(b, begins ? b->most_ns : 0);
}

static int64_t
price(const struct ration *b, enum strength s, size_t bytes)
{
	return (int64_t)bytes * b->cost_ps[s] / 1000;
}

enum strength
ration_take(struct ration *b, size_t bytes, int64_t now_us, int64_t *paid_ns)
{
	/* The rest below which a strength may not go. */
	const int64_t rest[STRENGTHS] = {b->most_ns / 2, 0};
	earn(b, now_us);
	*paid_ns = 0;
	for (enum strength s = STRENGTH_BEST; b->share_ppm && s < STRENGTH_NONE; s++) {
		int64_t ns = price(b, s, bytes);
		if (b->left_ns - ns < rest[s])
			continue;
		b->left_ns -= ns;
		*paid_ns = ns;
		return s;
	}
	return STRENGTH_NONE;
}

void
ration_settle(struct ration *b, enum strength s, size_t bytes, int64_t paid_ns, int64_t used_ns)
{
	add(b, paid_ns - used_ns);
	if (!bytes)
		return;
	int64_t ps =
		used_ns / (int64_t)bytes * 1000 + used_ns % (int64_t)bytes * 1000 / (int64_t)bytes;
	int64_t least = usual_ps[s] / COST_APART, most = usual_ps[s] * COST_APART;
	ps = ps < least ? least : ps > most ? most : ps;
	b->cost_ps[s] += (ps - b->cost_ps[s]) / LEARNS;
}
