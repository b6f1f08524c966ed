#include "filter/family/filter.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "filter/family/cascade.h"
#include "filter/family/filter_ops.h"

/* Smaller filters are one stripe: exact, and quick anyway. In large ones a stripe is so small that
 * to copy or to replace it under its lock takes less than a millisecond. */
#define STRIPED_FROM (UINT64_C(1) << 16)
#define STRIPE_KEYS  (UINT64_C(1) << 18)
enum { STRIPE_BITS_LEAST = 4, STRIPE_BITS_MOST = 14, SAVE_ROOM = 1 << 14, SAVE_TRIES = 6 };
#define CAPACITY_MOST (UINT64_C(1) << 40)

static const struct {
	const char *word;
	unsigned sightings_most;
} facts[] = {
#define X(name, word, sightings) {word, sightings},
	TWICE_FILTER_KINDS(X)
#undef X
};

/* --- options --- */

const char *
twice_filter_word(enum twice_filter_kind kind)
{
	return kind < TWICE_FILTER_KIND_COUNT ? facts[kind].word : "unknown";
}

int
twice_filter_kind_of(const char *word, enum twice_filter_kind *kind)
{
	for (unsigned k = 0; k < TWICE_FILTER_KIND_COUNT; k++)
		if (!strcmp(word, facts[k].word)) {
			*kind = (enum twice_filter_kind)k;
			return 0;
		}
	return -1;
}

enum twice_filter_kind
twice_filter_kind_for(const struct twice_filter_options *o)
{
	if (o->kind != TWICE_FILTER_PAIR && o->kind != TWICE_FILTER_CASCADE)
		return o->kind;
	return o->sightings > 2 ? TWICE_FILTER_CASCADE : TWICE_FILTER_PAIR;
}

static bool
is_of_pairs(enum twice_filter_kind kind)
{
	return kind == TWICE_FILTER_PAIR || kind == TWICE_FILTER_CASCADE;
}

static bool
pair_may(const struct twice_filter_options *o)
{
	return o->capacity <= UINT64_C(1) << 30 && o->false_positives >= 1e-6 &&
	       o->false_positives <= 0.5;
}

const char *
twice_filter_may(const struct twice_filter_options *o)
{
	if (o->kind >= TWICE_FILTER_KIND_COUNT)
		return "the filter must be pair, counting, stable, scalable or cascade";
	if (o->sightings < 1 || o->sightings > TWICE_FILTER_SIGHTINGS_MOST)
		return "sightings must be 1 to 15";
	if (o->sightings > facts[twice_filter_kind_for(o)].sightings_most)
		return "more than 2 sightings need the filter pair or counting";
	if (o->capacity < 1 || o->capacity > CAPACITY_MOST)
		return "capacity must be 1 to 2^40 keys";
	if (!(o->false_positives > 0) || !(o->false_positives < 1))
		return "false positives must be above 0% and below 100%";
	if (is_of_pairs(twice_filter_kind_for(o)) && !pair_may(o))
		return "a pair needs a capacity up to 2^30 keys and 0.0001% to 50% false positives";
	if (!(o->recall >= 0) || !(o->recall < 1))
		return "recall must be below 100%";
	return NULL;
}

/* --- stripes --- */

struct stripe {
	_Alignas(64) pthread_mutex_t lock;
	void *state; /* owned; under the lock, where the kind needs one */
};

struct twice_filter {
	struct twice_filter_options o;
	const struct twice_filter_ops *ops;
	unsigned n, bits;	/* 2^bits stripes */
	struct stripe *stripes; /* owned */
};

/* Keys do not fall evenly: a stripe holds four standard errors more than its share, so that
 * none forgets before the whole has seen capacity keys. */
static struct twice_filter_options
options_of_stripe(const struct twice_filter *m)
{
	struct twice_filter_options o = m->o;
	if (m->n > 1) {
		double share = (double)o.capacity / m->n;
		o.capacity = (uint64_t)ceil(share + 4 * sqrt(share));
	}
	return o;
}

static unsigned
stripe_bits(uint64_t capacity)
{
	unsigned bits = STRIPE_BITS_LEAST;
	if (capacity < STRIPED_FROM)
		return 0;
	while (bits < STRIPE_BITS_MOST && capacity >> bits > STRIPE_KEYS)
		bits++;
	return bits;
}

/* A filter with its locks, and no states yet. */
static struct twice_filter *
frame(const struct twice_filter_options *o)
{
	struct twice_filter *m = twice_filter_may(o) ? NULL : calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->o = *o;
	m->o.kind = twice_filter_kind_for(o);
	m->ops = &twice_filter_ops[m->o.kind];
	m->bits = m->ops->is_lock_free ? 0 : stripe_bits(o->capacity);
	unsigned n = 1u << m->bits;
	m->stripes = aligned_alloc(_Alignof(struct stripe), n * sizeof(*m->stripes));
	if (!m->stripes) {
		twice_filter_destroy(&m);
		return NULL;
	}
	memset(m->stripes, 0, n * sizeof(*m->stripes));
	for (; m->n < n; m->n++)
		pthread_mutex_init(&m->stripes[m->n].lock, NULL);
	return m;
}

struct twice_filter *
twice_filter_create(const struct twice_filter_options *o, int64_t now_s)
{
	struct twice_filter *m = frame(o);
	for (unsigned i = 0; m && i < m->n; i++) {
		struct twice_filter_options part = options_of_stripe(m);
		part.seed += i;
		m->stripes[i].state = m->ops->create(&part, now_s);
		if (!m->stripes[i].state)
			twice_filter_destroy(&m);
	}
	return m;
}

void
twice_filter_destroy(struct twice_filter **m)
{
	for (unsigned i = 0; *m && i < (*m)->n; i++) {
		struct stripe *s = &(*m)->stripes[i];
		if (s->state)
			(*m)->ops->destroy(s->state);
		pthread_mutex_destroy(&s->lock);
	}
	if (*m)
		free((*m)->stripes);
	free(*m);
	*m = NULL;
}

/* --- the calls: find the stripe, hold it, ask its state --- */

static struct stripe *
hold(const struct twice_filter *m, unsigned i)
{
	if (!m->ops->is_lock_free)
		pthread_mutex_lock(&m->stripes[i].lock);
	return &m->stripes[i];
}

static void
let_go(const struct twice_filter *m, struct stripe *s)
{
	if (!m->ops->is_lock_free)
		pthread_mutex_unlock(&s->lock);
}

/* The bits that chose the stripe go to the end: inside it all keys have the same. */
static unsigned
stripe_of(const struct twice_filter *m, struct twice_key_hash *h)
{
	if (m->bits == 0)
		return 0;
	unsigned i = (unsigned)(h->hi >> (64 - m->bits));
	h->hi = h->hi << m->bits | i;
	return i;
}

struct twice_filter_sight
twice_filter_test(const struct twice_filter *m, struct twice_key_hash h)
{
	struct stripe *s = hold(m, stripe_of(m, &h));
	struct twice_filter_sight known = m->ops->test(s->state, h);
	let_go(m, s);
	return known;
}

struct twice_filter_sight
twice_filter_record(struct twice_filter *m, struct twice_key_hash h)
{
	if (m->ops->is_lock_free) /* one state, which needs no lock */
		return m->ops->record(m->stripes[0].state, h);
	struct stripe *s = hold(m, stripe_of(m, &h));
	struct twice_filter_sight known = m->ops->record(s->state, h);
	let_go(m, s);
	return known;
}

struct twice_pair *
twice_filter_pair(const struct twice_filter *m)
{
	return m->o.kind == TWICE_FILTER_PAIR ? m->stripes[0].state : NULL;
}

struct twice_cascade *
twice_filter_cascade(const struct twice_filter *m)
{
	return m->o.kind == TWICE_FILTER_CASCADE ? m->stripes[0].state : NULL;
}

/* Only pairs are quick enough for a missing line to matter. */
void
twice_filter_prefetch(const struct twice_filter *m, struct twice_key_hash h)
{
	if (twice_filter_pair(m))
		twice_pair_prefetch(twice_filter_pair(m), h);
	else if (twice_filter_cascade(m))
		twice_cascade_prefetch(twice_filter_cascade(m), h);
}

void
twice_filter_tick(struct twice_filter *m, int64_t now_s)
{
	for (unsigned i = 0; i < m->n; i++) {
		struct stripe *s = hold(m, i);
		m->ops->tick(s->state, now_s);
		let_go(m, s);
	}
}

bool
twice_filter_has_generations(const struct twice_filter *m)
{
	return m->ops->number != NULL;
}

bool
twice_filter_is_lock_free(const struct twice_filter *m)
{
	return m->ops->is_lock_free;
}

/* Stripes are full at different times: what the whole has ended is what the last of them has. */
uint64_t
twice_filter_number(const struct twice_filter *m)
{
	uint64_t least = UINT64_MAX;
	if (!m->ops->number)
		return 0;
	for (unsigned i = 0; i < m->n; i++) {
		struct stripe *s = hold(m, i);
		uint64_t number = m->ops->number(s->state);
		let_go(m, s);
		least = number < least ? number : least;
	}
	return least;
}

void
twice_filter_rotate(struct twice_filter *m, int64_t now_s)
{
	for (unsigned i = 0; m->ops->rotate && i < m->n; i++) {
		struct stripe *s = hold(m, i);
		m->ops->rotate(s->state, now_s);
		let_go(m, s);
	}
}

bool
twice_filter_try_rotate(struct twice_filter *m, uint64_t number)
{
	bool any = false;
	for (unsigned i = 0; m->ops->try_rotate && i < m->n; i++) {
		struct stripe *s = hold(m, i);
		any |= m->ops->try_rotate(s->state, number);
		let_go(m, s);
	}
	return any;
}

/* Sums of the stripes; of the shares the average, of the generations the oldest. */
void
twice_filter_stats(const struct twice_filter *m, struct twice_filter_stats *out)
{
	*out = (struct twice_filter_stats){
		.generation = UINT64_MAX, .bytes = sizeof(*m), .born_s = INT64_MAX};
	for (unsigned i = 0; i < m->n; i++) {
		struct twice_filter_stats part;
		struct stripe *s = hold(m, i);
		m->ops->stats(s->state, &part);
		let_go(m, s);
		out->generation =
			part.generation < out->generation ? part.generation : out->generation;
		out->born_s = part.born_s < out->born_s ? part.born_s : out->born_s;
		out->keys += part.keys;
		out->bytes += part.bytes;
		out->fill_ratio += part.fill_ratio / m->n;
		out->estimated_fpr += part.estimated_fpr / m->n;
	}
}

/* --- snapshots: a head that says for which options, then each stripe's state --- */

enum { PARAM_KIND, PARAM_SIGHTINGS, PARAM_CAPACITY, PARAM_FPR, PARAM_RECALL };

static void
params_of(const struct twice_filter *m, uint64_t params[TWICE_SNAPSHOT_PARAMS])
{
	memset(params, 0, TWICE_SNAPSHOT_PARAMS * sizeof(*params));
	params[PARAM_KIND] = m->o.kind;
	params[PARAM_SIGHTINGS] = m->o.sightings;
	params[PARAM_CAPACITY] = m->o.capacity;
	params[PARAM_FPR] = twice_snapshot_from_double(m->o.false_positives);
	params[PARAM_RECALL] = twice_snapshot_from_double(m->o.recall);
}

/* A stripe is copied under its lock and written afterwards: what is written to may be a disk, and
 * nobody who records waits for one. The room is made, and touched, before the lock is taken; it
 * is too small when the stripe has grown since. */
static int
save_copy(const struct twice_filter *m, unsigned i, const struct twice_filter_place *here,
	  const struct twice_snapshot_sink *to, size_t room)
{
	struct twice_snapshot_buffer copy = {.bytes = malloc(room), .size = room};
	const struct twice_snapshot_sink sink = {twice_snapshot_buffer_write, &copy, to->tag};
	if (!copy.bytes)
		return -1;
	memset(copy.bytes, 0, room);
	struct stripe *s = hold(m, i);
	int r = m->ops->save(s->state, here, &sink);
	let_go(m, s);
	r = r ? 1 : to->write(to->ctx, copy.bytes, copy.used) ? -1 : 0;
	free(copy.bytes);
	return r;
}

static int
save_stripe(const struct twice_filter *m, unsigned i, const struct twice_filter_place *here,
	    const struct twice_snapshot_sink *to)
{
	if (m->ops->is_lock_free)
		return m->ops->save(m->stripes[i].state, here, to);
	struct twice_filter_stats stats;
	struct stripe *s = hold(m, i);
	m->ops->stats(s->state, &stats);
	let_go(m, s);
	size_t room = (size_t)stats.bytes + SAVE_ROOM;
	int r = 1;
	for (int tries = 0; r == 1 && tries < SAVE_TRIES; tries++, room *= 2)
		r = save_copy(m, i, here, to, room);
	return r ? -1 : 0;
}

int
twice_filter_save(const struct twice_filter *m, const struct twice_filter_place *here,
		  struct twice_snapshot_sink to)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS];
	params_of(m, params);
	to.tag = twice_seed_fingerprint(here->seed);
	int r = twice_snapshot_write(&to, TWICE_SNAPSHOT_MEMORY, params, NULL, 0);
	for (unsigned i = 0; !r && i < m->n; i++)
		r = save_stripe(m, i, here, &to);
	return r;
}

static int
load(struct twice_filter *m, const struct twice_filter_place *here,
     struct twice_snapshot_source *from)
{
	uint64_t saved[TWICE_SNAPSHOT_PARAMS], ours[TWICE_SNAPSHOT_PARAMS];
	struct twice_filter_options part = options_of_stripe(m);
	params_of(m, ours);
	if (twice_snapshot_read(from, TWICE_SNAPSHOT_MEMORY, saved))
		return -1;
	if (memcmp(saved, ours, sizeof(ours)) != 0)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_FOREIGN);
	for (unsigned i = 0; i < m->n; i++)
		if (!(m->stripes[i].state = m->ops->load(&part, here, from)))
			return -1;
	return 0;
}

const char *
twice_filter_load(struct twice_filter **out, const struct twice_filter_options *o,
		  const struct twice_filter_place *here, struct twice_snapshot_source from)
{
	struct twice_filter *m = frame(o);
	if (!m)
		return twice_filter_may(o) ? twice_filter_may(o)
					   : twice_snapshot_word(TWICE_SNAPSHOT_NO_MEMORY);
	from.tag = twice_seed_fingerprint(here->seed);
	if (load(m, here, &from)) {
		twice_filter_destroy(&m);
		return from.why;
	}
	*out = m;
	return NULL;
}

bool
twice_filter_saved_options(const void *head, const struct twice_seed *seed,
			   struct twice_filter_options *out)
{
	struct twice_snapshot_head h;
	struct twice_snapshot_buffer bytes = {.bytes = (unsigned char *)(uintptr_t)head,
					      .size = sizeof(h)};
	struct twice_snapshot_source from = {.read = twice_snapshot_buffer_read,
					     .ctx = &bytes,
					     .tag = twice_seed_fingerprint(seed),
					     .limit = sizeof(h)};
	_Static_assert(sizeof(h) == TWICE_FILTER_HEAD, "a head is as long as filter.h says");
	if (twice_snapshot_open(&from, TWICE_SNAPSHOT_MEMORY, &h))
		return false;
	struct twice_filter_options o = {
		.kind = (enum twice_filter_kind)h.params[PARAM_KIND],
		.sightings = (unsigned)h.params[PARAM_SIGHTINGS],
		.capacity = h.params[PARAM_CAPACITY],
		.false_positives = twice_snapshot_to_double(h.params[PARAM_FPR]),
		.recall = twice_snapshot_to_double(h.params[PARAM_RECALL]),
	};
	if (h.params[PARAM_KIND] >= TWICE_FILTER_KIND_COUNT || twice_filter_may(&o))
		return false;
	*out = o;
	return true;
}
