#include "filter/family/memory_ops.h"

#include "filter/family/stable.h"
#include "filter/family/twin.h"

/* --- pair --- */

static struct pair_options
pair_options_of(const struct memory_options *o)
{
	return (struct pair_options){.capacity = o->capacity,
				     .false_positives = o->false_positives,
				     .rotate_after_s = o->rotate_after_s};
}

static void *
on_pair_create(const struct memory_options *o, int64_t now_s)
{
	struct pair *p = NULL;
	struct pair_options po = pair_options_of(o);
	return pair_create(&p, &po, now_s) ? NULL : p;
}

static void
on_pair_destroy(void *state)
{
	struct pair *p = state;
	pair_destroy(&p);
}

/* A filter that knows no counts has seen a key once, or not. */
static struct memory_sight
once(enum sight sight)
{
	return (struct memory_sight){sight, sight != SIGHT_FIRST};
}

static struct memory_sight
on_pair_test(const void *state, struct key_hash h)
{
	return once(pair_test(state, h));
}

static struct memory_sight
on_pair_record(void *state, struct key_hash h)
{
	return once(pair_record(state, h));
}

static void
on_pair_tick(void *state, int64_t now_s)
{
	pair_tick(state, now_s);
}

static void
on_pair_stats(const void *state, struct memory_stats *s)
{
	struct pair_stats p;
	pair_stats(state, &p);
	*s = (struct memory_stats){.generation = p.number,
				   .keys = p.keys,
				   .bytes = p.memory_bytes,
				   .fill_ratio = p.fill_ratio,
				   .estimated_fpr = p.estimated_fpr};
}

static int
on_pair_save(const void *state, const struct memory_place *here, const struct seal_sink *to)
{
	return pair_save(state, here->seed, here->now_s, to->write, to->ctx);
}

static void *
on_pair_load(const struct memory_options *o, const struct memory_place *here,
	     struct seal_source *from)
{
	struct pair *p = NULL;
	struct pair_options po = pair_options_of(o);
	from->why = pair_load(&p, &po, here->seed, here->now_s, from->read, from->ctx);
	return p;
}

/* --- counting and scalable: generations turned by twin.c --- */

static void
on_twin_destroy(void *state)
{
	struct twin *t = state;
	twin_destroy(&t);
}

static struct memory_sight
on_twin_test(const void *state, struct key_hash h)
{
	return twin_test(state, h);
}

static struct memory_sight
on_twin_record(void *state, struct key_hash h)
{
	return twin_record(state, h);
}

static void
on_twin_tick(void *state, int64_t now_s)
{
	twin_tick(state, now_s);
}

static void
on_twin_stats(const void *state, struct memory_stats *s)
{
	twin_stats(state, s);
}

static int
on_twin_save(const void *state, const struct memory_place *here, const struct seal_sink *to)
{
	return twin_save(state, to, here->now_s);
}

static void *
on_counting_create(const struct memory_options *o, int64_t now_s)
{
	return twin_create(&twin_counting, o, now_s);
}

static void *
on_counting_load(const struct memory_options *o, const struct memory_place *here,
		 struct seal_source *from)
{
	return twin_load(&twin_counting, o, from, here->now_s);
}

static void *
on_scalable_create(const struct memory_options *o, int64_t now_s)
{
	return twin_create(&twin_scalable, o, now_s);
}

static void *
on_scalable_load(const struct memory_options *o, const struct memory_place *here,
		 struct seal_source *from)
{
	return twin_load(&twin_scalable, o, from, here->now_s);
}

/* --- stable --- */

static void *
on_stable_create(const struct memory_options *o, int64_t now_s)
{
	(void)now_s;
	double recall = o->recall > 0 ? o->recall : 0.95;
	struct stable_shape shape = stable_shape_for(o->capacity, recall, o->false_positives);
	return stable_create(&shape, o->seed);
}

static void
on_stable_destroy(void *state)
{
	struct stable *s = state;
	stable_destroy(&s);
}

static struct memory_sight
on_stable_test(const void *state, struct key_hash h)
{
	return once(stable_has(state, h) ? SIGHT_CURRENT : SIGHT_FIRST);
}

static struct memory_sight
on_stable_record(void *state, struct key_hash h)
{
	return once(stable_add(state, h) ? SIGHT_CURRENT : SIGHT_FIRST);
}

static void
on_stable_tick(void *state, int64_t now_s)
{
	(void)state; /* it forgets by adds, not by time */
	(void)now_s;
}

static void
on_stable_stats(const void *state, struct memory_stats *s)
{
	struct stable_shape shape = stable_shape_of(state);
	*s = (struct memory_stats){.keys = stable_count(state),
				   .bytes = stable_memory(state),
				   .fill_ratio = 1 - stable_zeros(state),
				   .estimated_fpr = stable_fpr(&shape)};
}

static int
on_stable_save(const void *state, const struct memory_place *here, const struct seal_sink *to)
{
	(void)here;
	return stable_save(state, to);
}

static void *
on_stable_load(const struct memory_options *o, const struct memory_place *here,
	       struct seal_source *from)
{
	(void)o;
	(void)here;
	return stable_load(from);
}

/* clang-format off */
const struct memory_ops memory_ops[MEMORY_KIND_COUNT] = {
	[MEMORY_PAIR]     = { true, on_pair_create, on_pair_destroy, on_pair_test, on_pair_record,
			      on_pair_tick, on_pair_stats, on_pair_save, on_pair_load },
	[MEMORY_COUNTING] = { false, on_counting_create, on_twin_destroy, on_twin_test, on_twin_record,
			      on_twin_tick, on_twin_stats, on_twin_save, on_counting_load },
	[MEMORY_SCALABLE] = { false, on_scalable_create, on_twin_destroy, on_twin_test, on_twin_record,
			      on_twin_tick, on_twin_stats, on_twin_save, on_scalable_load },
	[MEMORY_STABLE]   = { false, on_stable_create, on_stable_destroy, on_stable_test, on_stable_record,
			      on_stable_tick, on_stable_stats, on_stable_save, on_stable_load },
};
/* clang-format on */
