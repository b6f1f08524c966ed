#include "filter/family/generations.h"

#include <stdlib.h>

#include "filter/family/bloom.h"
#include "filter/family/counting.h"
#include "filter/family/scalable.h"

/* A scalable generation may grow to so many times its capacity before it is closed:
 * strangers choose URLs, and memory must have an end. */
#define GROWTH_MOST 16

struct twice_generations {
	const struct twice_generations_ops *ops;
	struct twice_filter_options o;
	void *current, *previous; /* owned; previous may be NULL */
	uint64_t generation;
	int64_t born_s, now_s; /* of the current one; the last tick */
};

struct twice_generations *
twice_generations_create(const struct twice_generations_ops *ops,
			 const struct twice_filter_options *o, int64_t now_s)
{
	struct twice_generations *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct twice_generations){.ops = ops, .o = *o, .born_s = now_s, .now_s = now_s};
	t->current = ops->create(o);
	if (!t->current)
		twice_generations_destroy(&t);
	return t;
}

void
twice_generations_destroy(struct twice_generations **t)
{
	if (*t) {
		(*t)->ops->destroy((*t)->current);
		(*t)->ops->destroy((*t)->previous);
	}
	free(*t);
	*t = NULL;
}

static void
rotate(struct twice_generations *t)
{
	void *fresh = t->ops->create(&t->o);
	if (!fresh)
		return;
	t->ops->destroy(t->previous);
	t->previous = t->current;
	t->current = fresh;
	t->born_s = t->now_s;
	t->generation++;
}

struct twice_filter_sight
twice_generations_test(const struct twice_generations *t, struct twice_key_hash h)
{
	unsigned now = t->ops->times(t->current, h);
	unsigned before = t->previous ? t->ops->times(t->previous, h) : 0;
	return (struct twice_filter_sight){.sight = now	     ? TWICE_SIGHT_CURRENT
						    : before ? TWICE_SIGHT_PREVIOUS
							     : TWICE_SIGHT_FIRST,
					   .times = now > before ? now : before};
}

struct twice_filter_sight
twice_generations_record(struct twice_generations *t, struct twice_key_hash h)
{
	struct twice_filter_sight known = twice_generations_test(t, h);
	if (known.sight != TWICE_SIGHT_CURRENT && t->ops->is_full(t->current, &t->o))
		rotate(t);
	t->ops->raise(t->current, h, known.times + 1);
	return known;
}

static uint64_t
age_s(const struct twice_generations *t, int64_t now_s)
{
	return now_s > t->born_s ? (uint64_t)now_s - (uint64_t)t->born_s : 0;
}

static void
go_on(struct twice_generations *t, int64_t now_s)
{
	/* A clock that was set back changes no age. */
	if (now_s < t->now_s)
		t->born_s = now_s - (int64_t)age_s(t, t->now_s);
	t->now_s = now_s;
}

uint64_t
twice_generations_number(const struct twice_generations *t)
{
	return t->generation;
}

void
twice_generations_rotate(struct twice_generations *t, int64_t now_s)
{
	go_on(t, now_s);
	rotate(t);
}

bool
twice_generations_try_rotate(struct twice_generations *t, uint64_t number)
{
	if (t->generation != number)
		return false;
	rotate(t);
	return t->generation != number;
}

void
twice_generations_tick(struct twice_generations *t, int64_t now_s)
{
	go_on(t, now_s);
	if (t->o.rotate_after_s && age_s(t, now_s) >= t->o.rotate_after_s)
		rotate(t);
}

/* Two chances to be wrong: both must miss for the answer to be right. */
static double
either(double a, double b)
{
	return a + b - a * b;
}

void
twice_generations_stats(const struct twice_generations *t, struct twice_filter_stats *s)
{
	struct twice_filter_stats old = {0};
	*s = (struct twice_filter_stats){.generation = t->generation, .born_s = t->born_s};
	t->ops->stats(t->current, s);
	if (t->previous)
		t->ops->stats(t->previous, &old);
	s->bytes += old.bytes + sizeof(*t);
	s->estimated_fpr = either(s->estimated_fpr, old.estimated_fpr);
}

enum { PARAM_GENERATION, PARAM_HAS_PREVIOUS, PARAM_AGE };

int
twice_generations_save(const struct twice_generations *t, const struct twice_snapshot_sink *to,
		       int64_t now_s)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {[PARAM_GENERATION] = t->generation,
						  [PARAM_HAS_PREVIOUS] = t->previous != NULL,
						  [PARAM_AGE] = age_s(t, now_s)};
	if (twice_snapshot_write(to, TWICE_SNAPSHOT_TWIN, params, NULL, 0) ||
	    t->ops->save(t->current, to))
		return -1;
	return t->previous ? t->ops->save(t->previous, to) : 0;
}

static int
load(struct twice_generations *t, struct twice_snapshot_source *from, int64_t now_s)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS];
	if (twice_snapshot_read(from, TWICE_SNAPSHOT_TWIN, params))
		return -1;
	if (params[PARAM_HAS_PREVIOUS] > 1 || params[PARAM_AGE] > INT64_MAX / 2)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	t->now_s = now_s;
	t->born_s = (int64_t)((uint64_t)now_s - params[PARAM_AGE]);
	t->generation = params[PARAM_GENERATION];
	t->current = t->ops->load(from);
	if (t->current && params[PARAM_HAS_PREVIOUS])
		t->previous = t->ops->load(from);
	return from->fault == TWICE_SNAPSHOT_NONE ? 0 : -1;
}

struct twice_generations *
twice_generations_load(const struct twice_generations_ops *ops,
		       const struct twice_filter_options *o, struct twice_snapshot_source *from,
		       int64_t now_s)
{
	struct twice_generations *t = twice_snapshot_room(from, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct twice_generations){.ops = ops, .o = *o};
	if (load(t, from, now_s))
		twice_generations_destroy(&t);
	return t;
}

/* --- the filters it turns --- */

/* These differ between kinds only in the kind's name. */
#define TWIN_OF(kind)                                                                     \
	static void kind##_drop(void *filter)                                             \
	{                                                                                 \
		struct twice_##kind *f = filter;                                          \
		twice_##kind##_destroy(&f);                                               \
	}                                                                                 \
	static void kind##_tell(const void *filter, struct twice_filter_stats *s)         \
	{                                                                                 \
		s->keys = twice_##kind##_count(filter);                                   \
		s->bytes = twice_##kind##_memory(filter);                                 \
		s->fill_ratio = twice_##kind##_fill(filter);                              \
		s->estimated_fpr = twice_##kind##_fpr(filter);                            \
	}                                                                                 \
	static int kind##_write(const void *filter, const struct twice_snapshot_sink *to) \
	{                                                                                 \
		return twice_##kind##_save(filter, to);                                   \
	}                                                                                 \
	static void *kind##_read(struct twice_snapshot_source *from)                      \
	{                                                                                 \
		return twice_##kind##_load(from);                                         \
	}

TWIN_OF(counting)
TWIN_OF(chain)

static void *
counting_new(const struct twice_filter_options *o)
{
	struct twice_probe shape = twice_bloom_shape(o->capacity, o->false_positives / 2);
	return twice_counting_create(&shape, TWICE_COUNTING_CONSERVATIVE);
}

static unsigned
counting_know(const void *filter, struct twice_key_hash h)
{
	return twice_counting_times(filter, h);
}

static void
counting_lift(void *filter, struct twice_key_hash h, unsigned times)
{
	twice_counting_raise(filter, h, times);
}

static bool
counting_is_full(const void *filter, const struct twice_filter_options *o)
{
	/* The rate is only a guard, at twice what a full generation has: a window is a promise. */
	return twice_counting_count(filter) >= o->capacity ||
	       twice_counting_fpr(filter) >= o->false_positives;
}

static void *
chain_new(const struct twice_filter_options *o)
{
	struct twice_scalable_options first = {
		.keys = o->capacity, .fpr = o->false_positives / 2, .ratio = 0.5};
	return twice_scalable_create(&first);
}

static unsigned
chain_know(const void *filter, struct twice_key_hash h)
{
	return twice_chain_has(filter, h);
}

static void
chain_lift(void *filter, struct twice_key_hash h, unsigned times)
{
	(void)times;
	twice_chain_add(filter, h);
}

static bool
chain_is_full(const void *filter, const struct twice_filter_options *o)
{
	return twice_chain_count(filter) / GROWTH_MOST >= o->capacity;
}

const struct twice_generations_ops twice_generations_counting = {
	counting_new,	  counting_drop, counting_know,	 counting_lift,
	counting_is_full, counting_tell, counting_write, counting_read};

const struct twice_generations_ops twice_generations_scalable = {
	chain_new,     chain_drop, chain_know,	chain_lift,
	chain_is_full, chain_tell, chain_write, chain_read};
