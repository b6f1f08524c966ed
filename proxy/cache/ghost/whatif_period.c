/* whatif_period.c - what the rows did: in all, and, for the choice of sightings, since that was last made.
 */
#include "proxy/cache/ghost/whatif_inside.h"

#include <math.h>

/* Requests that asked an origin, less those that really did. */
static int64_t
net(const struct ghost_stats *s)
{
	return (int64_t)(s->avoided_requests - s->extra_requests);
}

/* Two standard errors of a difference whose sampled parts are known. */
static double
error_of(const double a[WHATIF_PARTS], const double b[WHATIF_PARTS])
{
	double sum = 0, squares = 0;
	for (int i = 0; i < WHATIF_PARTS; i++)
		sum += a[i] - b[i];
	for (int i = 0; i < WHATIF_PARTS; i++) {
		double off = a[i] - b[i] - sum / WHATIF_PARTS;
		squares += off * off;
	}
	return 2 * sqrt(squares * WHATIF_PARTS / (WHATIF_PARTS - 1));
}

static void
mark_of(const struct whatif *w, struct whatif_mark *m)
{
	const struct whatif_cell *two = &w->rows[WHATIF_SIGHTINGS_2],
				 *three = &w->rows[WHATIF_LARGE_3];
	struct ghost_stats now, a, b;
	ghost_stats(w->rows[WHATIF_NOW].ghost, &now);
	ghost_stats(two->ghost, &a);
	ghost_stats(three->ghost, &b);
	m->sums = (struct choice_period){
		.requests = w->requests,
		.bytes = w->bytes,
		.written = two->admitted,
		.more_written = three->admitted - two->admitted,
		.more_requests = (double)(net(&b) - net(&a)),
		.more_bytes = three->sent - two->sent,
		.refused = two->refused,
		.off_requests = (double)net(&now),
	};
	for (int i = 0; i < WHATIF_PARTS; i++) {
		m->asked[i] = three->asked[i] - two->asked[i];
		m->took[i] = three->took[i] - two->took[i];
		m->came[i] = three->came[i] - two->came[i];
	}
}

bool
whatif_period(struct whatif *w, bool from_here, struct choice_period *out)
{
	struct whatif_mark is, *was = &w->mark;
	if (!w->rows[WHATIF_SIGHTINGS_2].ghost || !w->rows[WHATIF_LARGE_3].ghost)
		return false;
	mark_of(w, &is);
	*out = (struct choice_period){
		.requests = is.sums.requests - was->sums.requests,
		.bytes = is.sums.bytes - was->sums.bytes,
		.written = is.sums.written - was->sums.written,
		.more_written = is.sums.more_written - was->sums.more_written,
		.more_written_error = error_of(is.took, was->took),
		.more_requests = is.sums.more_requests - was->sums.more_requests,
		.more_requests_error = error_of(is.asked, was->asked),
		.more_bytes = is.sums.more_bytes - was->sums.more_bytes,
		.more_bytes_error = error_of(is.came, was->came),
		.refused = is.sums.refused - was->sums.refused,
		.off_requests = is.sums.off_requests - was->sums.off_requests,
	};
	if (from_here)
		w->mark = is;
	return true;
}

/* ---- what came of it ----------------------------------------------------------------------- */

void
whatif_stats(const struct whatif *w, struct whatif_stats *out)
{
	const struct whatif_cell *now = &w->rows[WHATIF_NOW];
	struct ghost_stats is, of_now;
	ghost_stats(now->ghost, &of_now);
	*out = (struct whatif_stats){.sample_share = of_now.sample_share,
				     .off_requests = (double)net(&of_now),
				     .memory_bytes = sizeof *w,
				     .budget_bytes_s = w->o.budget_bytes_s,
				     .budget_saved_s = w->o.budget_saved_s,
				     .sightings = now->sightings,
				     .large_sightings = now->large};
	for (int i = 0; i < WHATIF_ROWS; i++) {
		const struct whatif_cell *c = &w->rows[i];
		if (!c->ghost)
			continue;
		ghost_stats(c->ghost, &is);
		out->entries += is.entries;
		out->memory_bytes += is.memory_bytes + c->filter_bytes;
		out->rows[i] = (struct whatif_told){
			.told = true,
			.sightings = c->large ? c->large : c->sightings,
			.disk_bytes = c->disk_bytes,
			.memory_bytes = c->memory_bytes,
			.written_bytes = (double)is.written_bytes,
			.more_requests = (double)(net(&is) - net(&of_now)),
			.more_written = (double)is.written_bytes - (double)of_now.written_bytes,
			.more_requests_error = error_of(c->asked, now->asked),
			.more_written_error = error_of(c->written, now->written)};
	}
}
