#include "filter/family/filter_ops.h"

#include "filter/family/cascade.h"
#include "filter/family/stable.h"
#include "filter/family/generations.h"

/* --- pair --- */

static struct twice_pair_options
pair_options_of(const struct twice_filter_options *o)
{
	return (struct twice_pair_options){.capacity = o->capacity,
					   .false_positives = o->false_positives,
					   .rotate_after_s = o->rotate_after_s};
}

static void *
on_pair_create(const struct twice_filter_options *o, int64_t now_s)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options po = pair_options_of(o);
	return twice_pair_create(&p, &po, now_s) ? NULL : p;
}

static void
on_pair_destroy(void *state)
{
	struct twice_pair *p = state;
	twice_pair_destroy(&p);
}

/* A filter that knows no counts has seen a key once, or not. */
static struct twice_filter_sight
once(enum twice_sight sight)
{
	return (struct twice_filter_sight){sight, sight != TWICE_SIGHT_FIRST};
}

static struct twice_filter_sight
on_pair_test(const void *state, struct twice_key_hash h)
{
	return once(twice_pair_test(state, h));
}

static struct twice_filter_sight
on_pair_record(void *state, struct twice_key_hash h)
{
	return once(twice_pair_record(state, h));
}

static void
on_pair_tick(void *state, int64_t now_s)
{
	twice_pair_tick(state, now_s);
}

static uint64_t
on_pair_number(const void *state)
{
	return twice_pair_number(state);
}

static void
on_pair_rotate(void *state, int64_t now_s)
{
	twice_pair_rotate(state, now_s);
}

static bool
on_pair_try_rotate(void *state, uint64_t number)
{
	return twice_pair_try_rotate(state, number);
}

static struct twice_filter_stats
stats_of(const struct twice_pair_stats *p)
{
	return (struct twice_filter_stats){.generation = p->number,
					   .keys = p->keys,
					   .bytes = p->memory_bytes,
					   .fill_ratio = p->fill_ratio,
					   .estimated_fpr = p->estimated_fpr,
					   .born_s = p->born_s};
}

static void
on_pair_stats(const void *state, struct twice_filter_stats *s)
{
	struct twice_pair_stats p;
	twice_pair_stats(state, &p);
	*s = stats_of(&p);
}

static int
on_pair_save(const void *state, const struct twice_filter_place *here,
	     const struct twice_snapshot_sink *to)
{
	return twice_pair_save(state, here->seed, here->now_s, to->write, to->ctx);
}

static void *
on_pair_load(const struct twice_filter_options *o, const struct twice_filter_place *here,
	     struct twice_snapshot_source *from)
{
	struct twice_pair *p = NULL;
	struct twice_pair_options po = pair_options_of(o);
	from->why = twice_pair_load(&p, &po, here->seed, here->now_s, from->read, from->ctx);
	return p;
}

/* --- cascade --- */

static void *
on_cascade_create(const struct twice_filter_options *o, int64_t now_s)
{
	return twice_cascade_create(o, now_s);
}

static void
on_cascade_destroy(void *state)
{
	struct twice_cascade *c = state;
	twice_cascade_destroy(&c);
}

static struct twice_filter_sight
on_cascade_test(const void *state, struct twice_key_hash h)
{
	return twice_cascade_test(state, h);
}

static struct twice_filter_sight
on_cascade_record(void *state, struct twice_key_hash h)
{
	return twice_cascade_record(state, h);
}

static void
on_cascade_tick(void *state, int64_t now_s)
{
	twice_cascade_tick(state, now_s);
}

static uint64_t
on_cascade_number(const void *state)
{
	return twice_cascade_number(state);
}

static void
on_cascade_rotate(void *state, int64_t now_s)
{
	twice_cascade_rotate(state, now_s);
}

static bool
on_cascade_try_rotate(void *state, uint64_t number)
{
	return twice_cascade_try_rotate(state, number);
}

static void
on_cascade_stats(const void *state, struct twice_filter_stats *s)
{
	struct twice_pair_stats p;
	twice_cascade_stats(state, &p);
	*s = stats_of(&p);
}

static int
on_cascade_save(const void *state, const struct twice_filter_place *here,
		const struct twice_snapshot_sink *to)
{
	return twice_cascade_save(state, here->seed, here->now_s, to->write, to->ctx);
}

static void *
on_cascade_load(const struct twice_filter_options *o, const struct twice_filter_place *here,
		struct twice_snapshot_source *from)
{
	struct twice_cascade *c = NULL;
	from->why = twice_cascade_load(&c, o, here->seed, here->now_s, from->read, from->ctx);
	return c;
}

/* --- counting and scalable: generations turned by generations.c --- */

static void
on_twin_destroy(void *state)
{
	struct twice_generations *t = state;
	twice_generations_destroy(&t);
}

static struct twice_filter_sight
on_twin_test(const void *state, struct twice_key_hash h)
{
	return twice_generations_test(state, h);
}

static struct twice_filter_sight
on_twin_record(void *state, struct twice_key_hash h)
{
	return twice_generations_record(state, h);
}

static void
on_twin_tick(void *state, int64_t now_s)
{
	twice_generations_tick(state, now_s);
}

static uint64_t
on_twin_number(const void *state)
{
	return twice_generations_number(state);
}

static void
on_twin_rotate(void *state, int64_t now_s)
{
	twice_generations_rotate(state, now_s);
}

static bool
on_twin_try_rotate(void *state, uint64_t number)
{
	return twice_generations_try_rotate(state, number);
}

static void
on_twin_stats(const void *state, struct twice_filter_stats *s)
{
	twice_generations_stats(state, s);
}

static int
on_twin_save(const void *state, const struct twice_filter_place *here,
	     const struct twice_snapshot_sink *to)
{
	return twice_generations_save(state, to, here->now_s);
}

static void *
on_counting_create(const struct twice_filter_options *o, int64_t now_s)
{
	return twice_generations_create(&twice_generations_counting, o, now_s);
}

static void *
on_counting_load(const struct twice_filter_options *o, const struct twice_filter_place *here,
		 struct twice_snapshot_source *from)
{
	return twice_generations_load(&twice_generations_counting, o, from, here->now_s);
}

static void *
on_scalable_create(const struct twice_filter_options *o, int64_t now_s)
{
	return twice_generations_create(&twice_generations_scalable, o, now_s);
}

static void *
on_scalable_load(const struct twice_filter_options *o, const struct twice_filter_place *here,
		 struct twice_snapshot_source *from)
{
	return twice_generations_load(&twice_generations_scalable, o, from, here->now_s);
}

/* --- stable --- */

static void *
on_stable_create(const struct twice_filter_options *o, int64_t now_s)
{
	(void)now_s;
	double recall = o->recall > 0 ? o->recall : 0.95;
	struct twice_stable_shape shape =
		twice_stable_shape_for(o->capacity, recall, o->false_positives);
	return twice_stable_create(&shape, o->seed);
}

static void
on_stable_destroy(void *state)
{
	struct twice_stable *s = state;
	twice_stable_destroy(&s);
}

static struct twice_filter_sight
on_stable_test(const void *state, struct twice_key_hash h)
{
	return once(twice_stable_has(state, h) ? TWICE_SIGHT_CURRENT : TWICE_SIGHT_FIRST);
}

static struct twice_filter_sight
on_stable_record(void *state, struct twice_key_hash h)
{
	return once(twice_stable_add(state, h) ? TWICE_SIGHT_CURRENT : TWICE_SIGHT_FIRST);
}

static void
on_stable_tick(void *state, int64_t now_s)
{
	(void)state; /* it forgets by adds, not by time */
	(void)now_s;
}

static void
on_stable_stats(const void *state, struct twice_filter_stats *s)
{
	struct twice_stable_shape shape = twice_stable_shape_of(state);
	*s = (struct twice_filter_stats){.keys = twice_stable_count(state),
					 .bytes = twice_stable_memory(state),
					 .fill_ratio = 1 - twice_stable_zeros(state),
					 .estimated_fpr = twice_stable_fpr(&shape)};
}

static int
on_stable_save(const void *state, const struct twice_filter_place *here,
	       const struct twice_snapshot_sink *to)
{
	(void)here;
	return twice_stable_save(state, to);
}

static void *
on_stable_load(const struct twice_filter_options *o, const struct twice_filter_place *here,
	       struct twice_snapshot_source *from)
{
	(void)o;
	(void)here;
	return twice_stable_load(from);
}

/* clang-format off */
const struct twice_filter_ops twice_filter_ops[TWICE_FILTER_KIND_COUNT] = {
	[TWICE_FILTER_PAIR]     = { true, on_pair_create, on_pair_destroy, on_pair_test, on_pair_record,
			      on_pair_tick, on_pair_number, on_pair_rotate, on_pair_try_rotate, on_pair_stats,
			      on_pair_save, on_pair_load },
	[TWICE_FILTER_CASCADE] = { true, on_cascade_create, on_cascade_destroy, on_cascade_test, on_cascade_record,
			      on_cascade_tick, on_cascade_number, on_cascade_rotate, on_cascade_try_rotate,
			      on_cascade_stats, on_cascade_save, on_cascade_load },
	[TWICE_FILTER_COUNTING] = { false, on_counting_create, on_twin_destroy, on_twin_test, on_twin_record,
			      on_twin_tick, on_twin_number, on_twin_rotate, on_twin_try_rotate, on_twin_stats,
			      on_twin_save, on_counting_load },
	[TWICE_FILTER_SCALABLE] = { false, on_scalable_create, on_twin_destroy, on_twin_test, on_twin_record,
			      on_twin_tick, on_twin_number, on_twin_rotate, on_twin_try_rotate, on_twin_stats,
			      on_twin_save, on_scalable_load },
	[TWICE_FILTER_STABLE]   = { false, on_stable_create, on_stable_destroy, on_stable_test, on_stable_record,
			      on_stable_tick, NULL, NULL, NULL, on_stable_stats, on_stable_save, on_stable_load },
};
/* clang-format on */
