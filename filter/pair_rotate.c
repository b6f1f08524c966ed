/* pair_rotate.c - when a generation ends, and how stale lines are tidied up.
 *
 * Rotation itself is one increment. Two things are done around it. Columns that no key has
 * come by since are swept to the present, before their tags could be taken for those of a
 * later generation. And a thread that turns columns says so (it is a turner), because one
 * that slept through several rotations could otherwise turn a column back.
 */
#include "filter/pair_inner.h"

#include <math.h>
#include <sched.h>

enum {
	SWEEP_LINES = 4096, /* a piece when rotation waits for it */
};

/* ---- turning columns to the present ---- */

/* Turners are counted apart for two eras, pairs of generations that take turns: which of the
 * two counters is that of generation g? */
static inline unsigned
era(uint64_t g)
{
	return (unsigned)(g >> 1 & 1);
}

/* Between begin and end the view that begin returns is at most three generations old:
 * rotation into the next era but one waits for end. */
static uint64_t
turn_begin(const struct twice_pair *p, struct stripe *s)
{
	for (;;) {
		uint64_t g = now_at(p);

		atomic_fetch_add(&s->turners[era(g)], 1);
		if (now_at(p) >> 1 == g >> 1)
			return g;
		atomic_fetch_sub(&s->turners[era(g)], 1);
	}
}

static void
turn_end(struct stripe *s, uint64_t g)
{
	atomic_fetch_sub(&s->turners[era(g)], 1);
}

void
twice_pair_turn_line(const struct twice_pair *p, const struct column *in_it)
{
	struct stripe *s = stripe_here(p);
	struct line *l = (struct line *)((uintptr_t)in_it & ~(uintptr_t)(LINE_BYTES - 1));
	uint64_t g = turn_begin(p, s);

	for (unsigned i = 0; i < LINE_COLUMNS; i++)
		column_turn(&l->column[i], g);
	turn_end(s, g);
}

void
twice_pair_sweep(struct twice_pair *p, uint64_t lines)
{
	if (atomic_load_explicit(&p->floor, memory_order_relaxed) == now_at(p))
		return;
	if (atomic_exchange(&p->sweeping, true))
		return;

	struct stripe *s = stripe_here(p);
	uint64_t g = turn_begin(p, s), at = atomic_load(&p->sweep_at);
	uint64_t left = p->line_count - at, end = at + (lines < left ? lines : left);

	if (at == 0)
		atomic_store(&p->sweep_from, g);
	for (; at < end; at++)
		for (unsigned i = 0; i < LINE_COLUMNS; i++)
			column_turn(&p->lines[at].column[i], g);
	if (at == p->line_count) {
		atomic_store(&p->floor, atomic_load(&p->sweep_from));
		at = 0;
	}
	atomic_store(&p->sweep_at, at);
	turn_end(s, g);
	atomic_store(&p->sweeping, false);
}

/* ---- rotation ---- */

/* Is every column young enough that the next generation's code means only that? The
 * impatient sweep a piece and see; the patient sweep until it is so. */
static bool
swept_for(struct twice_pair *p, uint64_t next, bool patient)
{
	for (;;) {
		if (atomic_load(&p->floor) + COLUMN_STALE >= next)
			return true;
		twice_pair_sweep(p, SWEEP_LINES);
		if (!patient)
			return atomic_load(&p->floor) + COLUMN_STALE >= next;
		if (atomic_load(&p->sweeping))
			sched_yield();
	}
}

static bool
turners_gone(struct twice_pair *p, uint64_t next, bool patient)
{
	if (era(next) == era(next - 1))
		return true;
	for (unsigned i = 0; i < STRIPES; i++)
		while (atomic_load(&p->stripe[i].turners[era(next)])) {
			if (!patient)
				return false;
			sched_yield();
		}
	return true;
}

static bool
is_empty(const struct twice_pair *p)
{
	struct twice_pair_count even = twice_pair_counted(p, 0), odd = twice_pair_counted(p, 1);

	return even.keys + odd.keys == 0;
}

/* The next generation begins. From one that is empty, as the one before it is, only its
 * number changes: turning nothing to nothing would use up codes for nothing. */
static void
begin_next(struct twice_pair *p, uint64_t g)
{
	atomic_store(&p->born_s, atomic_load(&p->clock_s));
	if (is_empty(p)) {
		atomic_fetch_add(&p->idle, 1);
		return;
	}
	twice_pair_expect(p, parity(g + 1), (struct twice_pair_count){0});
	atomic_store(&p->generation, g + 1);
}

bool
twice_pair_rotate_from(struct twice_pair *p, uint64_t g, bool patient)
{
	while (atomic_exchange(&p->rotating, true)) {
		if (!patient)
			return false;
		sched_yield();
	}
	bool ours =
		now_at(p) == g && swept_for(p, g + 1, patient) && turners_gone(p, g + 1, patient);
	if (ours)
		begin_next(p, g);
	atomic_store(&p->rotating, false);
	return ours;
}

static bool
is_due_by_age(const struct twice_pair *p, int64_t now_s)
{
	int64_t age = now_s - atomic_load(&p->born_s);

	return p->options.rotate_after_s > 0 && age > 0 &&
	       (uint64_t)age >= p->options.rotate_after_s;
}

/* Sweeping keeps ahead of age: all lines in half of rotate_after_s. */
static void
sweep_by_age(struct twice_pair *p, int64_t passed_s)
{
	double share = 2.0 * (double)passed_s / (double)p->options.rotate_after_s;

	if (passed_s > 0)
		twice_pair_sweep(p, 1 + (uint64_t)((double)p->line_count * fmin(share, 1)));
}

/* A clock that was set back changes no age. Another thread may begin a generation meanwhile, by
 * the clock as it was or as it is: then it was born now. */
static void
set_back(struct twice_pair *p, int64_t from_s, int64_t to_s)
{
	int64_t born_s = atomic_load(&p->born_s);

	atomic_store(&p->clock_s, to_s);
	if (!atomic_compare_exchange_strong(&p->born_s, &born_s, born_s - (from_s - to_s)))
		atomic_compare_exchange_strong(&p->born_s, &born_s, to_s);
}

bool
twice_pair_tick(struct twice_pair *p, int64_t now_s)
{
	uint64_t g = now_at(p);
	int64_t before_s = atomic_load(&p->clock_s), passed_s = now_s - before_s;

	if (passed_s < 0)
		set_back(p, before_s, now_s);
	else
		atomic_store(&p->clock_s, now_s);

	if (is_due_by_age(p, now_s))
		return twice_pair_rotate_from(p, g, true);
	if (p->options.rotate_after_s > 0)
		sweep_by_age(p, passed_s);
	return false;
}

void
twice_pair_rotate(struct twice_pair *p, int64_t now_s)
{
	atomic_store(&p->clock_s, now_s);
	twice_pair_rotate_from(p, now_at(p), true);
}

bool
twice_pair_try_rotate(struct twice_pair *p, uint64_t number)
{
	uint64_t g = now_at(p);

	return g + atomic_load(&p->idle) == number && twice_pair_rotate_from(p, g, false);
}
