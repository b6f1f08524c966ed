/* reads.c - a small table of what is being read. */
#include "proxy/cache/reads.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SHARDS = 64 };

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct read_job *first;
	unsigned waiting;
};

struct reads {
	struct shard shards[SHARDS];
};

struct reads *
reads_create(void)
{
	struct reads *r = aligned_alloc(64, sizeof *r);
	if (!r)
		abort();
	memset(r, 0, sizeof *r);
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&r->shards[i].lock, NULL);
	return r;
}

void
reads_destroy(struct reads **pr)
{
	struct reads *r = *pr;
	*pr = NULL;
	for (unsigned i = 0; r && i < SHARDS; i++) {
		assert(!r->shards[i].first && !r->shards[i].waiting);
		pthread_mutex_destroy(&r->shards[i].lock);
	}
	free(r);
}

static struct shard *
shard_of(struct reads *r, const struct locator *at)
{
	return &r->shards[(at->offset ^ at->offset >> 8 ^ at->segment) % SHARDS];
}

static bool
is_same(const struct read_job *a, const struct read_job *b)
{
	return locator_equal(&a->at, &b->at) && a->at.bytes == b->at.bytes && a->disk == b->disk &&
	       a->part == b->part;
}

bool
reads_join(struct reads *r, struct read_job *j)
{
	struct shard *s = shard_of(r, &j->at);
	assert(!j->waiting && !j->given_up && j->disk < 32); /* reads_give_up has a bit for each */
	j->since_ms = now_ms();
	pthread_mutex_lock(&s->lock);
	struct read_job *under_way = s->first;
	while (under_way && !(is_same(under_way, j) && under_way->waiting_n < READS_MOST))
		under_way = under_way->next;
	if (under_way) {
		j->next = under_way->waiting;
		under_way->waiting = j;
		under_way->waiting_n++;
		s->waiting++;
	} else {
		j->next = s->first;
		s->first = j;
	}
	pthread_mutex_unlock(&s->lock);
	return under_way;
}

struct read_job *
reads_end(struct reads *r, struct read_job *j)
{
	struct shard *s = shard_of(r, &j->at);
	pthread_mutex_lock(&s->lock);
	struct read_job **link = &s->first;
	while (*link != j)
		link = &(*link)->next;
	*link = j->next;
	assert(s->waiting >= j->waiting_n && (j->waiting != NULL) == (j->waiting_n > 0));
	s->waiting -= j->waiting_n;
	pthread_mutex_unlock(&s->lock);
	return j->waiting;
}

/* Under the shard's lock: so long it is in the table, and its asker is told once. */
static uint32_t
give_up(struct read_job *j, int64_t before_ms)
{
	if (j->since_ms >= before_ms)
		return 0;
	if (!j->given_up) {
		j->given_up = true;
		j->give_up(j);
	}
	return UINT32_C(1) << j->disk;
}

uint32_t
reads_give_up(struct reads *r, int64_t before_ms)
{
	uint32_t any = 0;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &r->shards[i];
		pthread_mutex_lock(&s->lock);
		for (struct read_job *j = s->first; j; j = j->next) {
			any |= give_up(j, before_ms);
			for (struct read_job *w = j->waiting; w; w = w->next)
				any |= give_up(w, before_ms);
		}
		pthread_mutex_unlock(&s->lock);
	}
	return any;
}
