#include "filter/family/twin.h"

#include <stdlib.h>

#include "filter/family/bloom.h"
#include "filter/family/counting.h"
#include "filter/family/scalable.h"

/* A scalable generation may grow to so many times its capacity before it is closed:
 * strangers choose URLs, and memory must have an end. */
#define GROWTH_MOST 16

struct twin {
	const struct twin_ops *ops;
	struct memory_options o;
	void *current, *previous; /* owned; previous may be NULL */
	uint64_t generation;
	int64_t born_s, now_s; /* of the current one; the last tick */
};

struct twin *
twin_create(const struct twin_ops *ops, const struct memory_options *o, int64_t now_s)
{
	struct twin *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct twin){.ops = ops, .o = *o, .born_s = now_s, .now_s = now_s};
	t->current = ops->create(o);
	if (!t->current)
		twin_destroy(&t);
	return t;
}

void
twin_destroy(struct twin **t)
{
	if (*t) {
		(*t)->ops->destroy((*t)->current);
		(*t)->ops->destroy((*t)->previous);
	}
	free(*t);
	*t = NULL;
}

static void
rotate(struct twin *t)
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

struct memory_sight
twin_test(const struct twin *t, struct key_hash h)
{
	unsigned now = t->ops->times(t->current, h);
	unsigned before = t->previous ? t->ops->times(t->previous, h) : 0;
	return (struct memory_sight){.sight = now      ? SIGHT_CURRENT
					      : before ? SIGHT_PREVIOUS
						       : SIGHT_FIRST,
				     .times = now > before ? now : before};
}

struct memory_sight
twin_record(struct twin *t, struct key_hash h)
{
	struct memory_sight known = twin_test(t, h);
	if (known.sight != SIGHT_CURRENT && t->ops->is_full(t->current, &t->o))
		rotate(t);
	t->ops->raise(t->current, h, known.times + 1);
	return known;
}

/* A clock that went back makes no generation old. */
static uint64_t
age_s(const struct twin *t, int64_t now_s)
{
	return now_s > t->born_s ? (uint64_t)now_s - (uint64_t)t->born_s : 0;
}

void
twin_tick(struct twin *t, int64_t now_s)
{
	t->now_s = now_s;
	if (t->o.rotate_after_s && age_s(t, now_s) >= t->o.rotate_after_s)
		rotate(t);
}

/* Two chances to be wrong: both must miss for the memory to be right. */
static double
either(double a, double b)
{
	return a + b - a * b;
}

void
twin_stats(const struct twin *t, struct memory_stats *s)
{
	struct memory_stats old = {0};
	*s = (struct memory_stats){.generation = t->generation};
	t->ops->stats(t->current, s);
	if (t->previous)
		t->ops->stats(t->previous, &old);
	s->bytes += old.bytes + sizeof(*t);
	s->estimated_fpr = either(s->estimated_fpr, old.estimated_fpr);
}

enum { PARAM_GENERATION, PARAM_HAS_PREVIOUS, PARAM_AGE };

int
twin_save(const struct twin *t, const struct seal_sink *to, int64_t now_s)
{
	uint64_t params[SEAL_PARAMS] = {[PARAM_GENERATION] = t->generation,
					[PARAM_HAS_PREVIOUS] = t->previous != NULL,
					[PARAM_AGE] = age_s(t, now_s)};
	if (seal_write(to, SEAL_TWIN, params, NULL, 0) || t->ops->save(t->current, to))
		return -1;
	return t->previous ? t->ops->save(t->previous, to) : 0;
}

static int
load(struct twin *t, struct seal_source *from, int64_t now_s)
{
	uint64_t params[SEAL_PARAMS];
	if (seal_read(from, SEAL_TWIN, params))
		return -1;
	if (params[PARAM_HAS_PREVIOUS] > 1 || params[PARAM_AGE] > INT64_MAX / 2)
		return seal_refuse(from, SEAL_ABSURD);
	t->now_s = now_s;
	t->born_s = (int64_t)((uint64_t)now_s - params[PARAM_AGE]);
	t->generation = params[PARAM_GENERATION];
	t->current = t->ops->load(from);
	if (t->current && params[PARAM_HAS_PREVIOUS])
		t->previous = t->ops->load(from);
	return from->fault == SEAL_NONE ? 0 : -1;
}

struct twin *
twin_load(const struct twin_ops *ops, const struct memory_options *o, struct seal_source *from,
	  int64_t now_s)
{
	struct twin *t = seal_room(from, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct twin){.ops = ops, .o = *o};
	if (load(t, from, now_s))
		twin_destroy(&t);
	return t;
}

/* --- the filters it turns --- */

/* What differs between kinds only in the name of the kind. */
#define TWIN_OF(kind)                                                           \
	static void kind##_drop(void *filter)                                   \
	{                                                                       \
		struct kind *f = filter;                                        \
		kind##_destroy(&f);                                             \
	}                                                                       \
	static void kind##_tell(const void *filter, struct memory_stats *s)     \
	{                                                                       \
		s->keys = kind##_count(filter);                                 \
		s->bytes = kind##_memory(filter);                               \
		s->fill_ratio = kind##_fill(filter);                            \
		s->estimated_fpr = kind##_fpr(filter);                          \
	}                                                                       \
	static int kind##_write(const void *filter, const struct seal_sink *to) \
	{                                                                       \
		return kind##_save(filter, to);                                 \
	}                                                                       \
	static void *kind##_read(struct seal_source *from)                      \
	{                                                                       \
		return kind##_load(from);                                       \
	}

TWIN_OF(counting)
TWIN_OF(chain)

static void *
counting_new(const struct memory_options *o)
{
	struct probe shape = bloom_shape(o->capacity, o->false_positives / 2);
	return counting_create(&shape, COUNTING_CONSERVATIVE);
}

static unsigned
counting_know(const void *filter, struct key_hash h)
{
	return counting_times(filter, h);
}

static void
counting_lift(void *filter, struct key_hash h, unsigned times)
{
	counting_raise(filter, h, times);
}

static bool
counting_is_full(const void *filter, const struct memory_options *o)
{
	/* The rate is only a guard, at twice what a full generation has: a window is a promise. */
	return counting_count(filter) >= o->capacity || counting_fpr(filter) >= o->false_positives;
}

static void *
chain_new(const struct memory_options *o)
{
	struct scalable_options first = {.keys = o->capacity, .fpr = o->false_positives / 2};
	return scalable_create(&first);
}

static unsigned
chain_know(const void *filter, struct key_hash h)
{
	return chain_has(filter, h);
}

static void
chain_lift(void *filter, struct key_hash h, unsigned times)
{
	(void)times;
	chain_add(filter, h);
}

static bool
chain_is_full(const void *filter, const struct memory_options *o)
{
	return chain_count(filter) / GROWTH_MOST >= o->capacity;
}

const struct twin_ops twin_counting = {counting_new,   counting_drop,	 counting_know,
				       counting_lift,  counting_is_full, counting_tell,
				       counting_write, counting_read};

const struct twin_ops twin_scalable = {chain_new,     chain_drop, chain_know,  chain_lift,
				       chain_is_full, chain_tell, chain_write, chain_read};
