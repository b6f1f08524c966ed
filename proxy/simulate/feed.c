/* feed.c - a ring of batches between the thread that reads and the one that asks. */
#include "proxy/simulate/feed.h"

#include "proxy/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { RING = 4, AHEAD = 8 };

struct feed {
	struct merge *merge;
	struct screen *screen;
	struct catalogue *catalogue;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	unsigned made, taken, given; /* under lock, but that `given` is the reader's own */
	bool ended, failed, stops;   /* under lock */
	int64_t last_us;
	uint64_t most;
	_Atomic uint64_t entries;
	struct feed_batch ring[RING];
	struct catalogue_news news[FEED_BATCH];
};

/* Time never goes back for the policies. */
static void
straighten(struct feed *f, struct entry *e)
{
	if (e->time_us < f->last_us)
		e->time_us = f->last_us;
	f->last_us = e->time_us;
}

/* False: the log has ended, or there are more entries than are wanted: so that what is behind the last one
 * is counted too. */
static bool
make(struct feed *f, struct feed_batch *b, bool *failed)
{
	struct entry e;
	enum source_step step = SOURCE_ENTRY;
	uint64_t entries = 0, left = f->most - feed_entries(f);
	bool over = false;
	b->n = 0;
	while (b->n < FEED_BATCH && entries < 16 * FEED_BATCH &&
	       (step = merge_next(f->merge, &e)) == SOURCE_ENTRY && !(over = entries == left)) {
		entries++;
		straighten(f, &e);
		b->n += screen_entry(f->screen, &e, &b->visits[b->n], &f->news[b->n]) ==
			SCREENING_TAKEN;
	}
	for (size_t i = 0; i < b->n; i++) {
		if (i + AHEAD < b->n)
			catalogue_prefetch(f->catalogue, b->visits[i + AHEAD].key.hi);
		catalogue_see(f->catalogue, &b->visits[i], &f->news[i]);
	}
	b->sample = catalogue_sample(f->catalogue);
	atomic_fetch_add_explicit(&f->entries, entries, memory_order_relaxed);
	*failed = step == SOURCE_FAILED;
	return step == SOURCE_ENTRY && !over;
}

static void *
run(void *arg)
{
	struct feed *f = arg;
	bool more = true;
	while (more) {
		pthread_mutex_lock(&f->lock);
		while (f->made - f->taken == RING && !f->stops)
			pthread_cond_wait(&f->moved, &f->lock);
		bool stops = f->stops;
		pthread_mutex_unlock(&f->lock);
		if (stops)
			break;
		bool failed;
		more = make(f, &f->ring[f->made % RING], &failed);
		pthread_mutex_lock(&f->lock);
		f->made++;
		f->failed = failed;
		f->ended = !more;
		pthread_cond_broadcast(&f->moved);
		pthread_mutex_unlock(&f->lock);
	}
	return NULL;
}

struct feed *
feed_open(struct merge *m, struct screen *s, struct catalogue *c, uint64_t most)
{
	struct feed *f = NEW(struct feed);
	f->merge = m;
	f->screen = s;
	f->catalogue = c;
	f->last_us = INT64_MIN;
	f->most = most;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->moved, NULL);
	if (pthread_create(&f->thread, NULL, run, f) == 0)
		return f;
	free(f);
	return NULL;
}

uint64_t
feed_close(struct feed **pf)
{
	struct feed *f = *pf;
	*pf = NULL;
	if (!f)
		return 0;
	pthread_mutex_lock(&f->lock);
	f->stops = true;
	pthread_cond_broadcast(&f->moved);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->moved);
	pthread_mutex_destroy(&f->lock);
	uint64_t entries = feed_entries(f);
	free(f);
	return entries;
}

const struct feed_batch *
feed_next(struct feed *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->given) { /* the one before is not looked at any more */
		f->given = 0;
		f->taken++;
		pthread_cond_broadcast(&f->moved);
	}
	while (f->made == f->taken && !f->ended)
		pthread_cond_wait(&f->moved, &f->lock);
	const struct feed_batch *b = NULL;
	if (f->made != f->taken) {
		b = &f->ring[f->taken % RING];
		f->given = 1;
	}
	pthread_mutex_unlock(&f->lock);
	return b;
}

bool
feed_failed(const struct feed *f)
{
	return f->failed; /* asked when feed_next said the end */
}

uint64_t
feed_entries(const struct feed *f)
{
	return atomic_load_explicit(&f->entries, memory_order_relaxed);
}
