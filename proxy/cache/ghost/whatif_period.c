/* whatif_period.c - what the rows did that a choice of sightings is made of, since that was last made.
 */
#include "proxy/cache/ghost/whatif_inside.h"

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
		.more_requests = (double)(whatif_net(&b) - whatif_net(&a)),
		.more_bytes = three->sent - two->sent,
		.refused = two->refused,
		.off_requests = (double)whatif_net(&now),
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
		.more_written_error = whatif_error(is.took, was->took),
		.more_requests = is.sums.more_requests - was->sums.more_requests,
		.more_requests_error = whatif_error(is.asked, was->asked),
		.more_bytes = is.sums.more_bytes - was->sums.more_bytes,
		.more_bytes_error = whatif_error(is.came, was->came),
		.refused = is.sums.refused - was->sums.refused,
		.off_requests = is.sums.off_requests - was->sums.off_requests,
	};
	if (from_here)
		w->mark = is;
	return true;
}
