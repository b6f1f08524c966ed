/* keeper.c - once a second, and now and then. */
#include "proxy/node/keeper.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/seen.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SNAPSHOT_EVERY_S = 900 };

struct keeper {
	struct shelves *shelves;
	struct chronicle *chronicle;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping; /* under lock */
};

void
keeper_save(struct shelves *sh, struct chronicle *ch)
{
	if (ch)
		chronicle_save(ch);
	if (sh->seen)
		seen_save(sh->seen, now_s());
	if (sh->baseline)
		baseline_save(sh->baseline);
	if (sh->cache)
		cache_save_earnings(sh->cache);
}

static void
keep(struct keeper *k)
{
	struct cache_stats stats;
	cache_stats(k->shelves->cache, &stats);
	seen_tick(k->shelves->seen, now_s(), now_ms(), &stats);
	chronicle_tick(k->chronicle);
}

static void *
run(void *arg)
{
	struct keeper *k = arg;
	unsigned seconds = 0;
	pthread_mutex_lock(&k->lock);
	while (!k->stopping) {
		pthread_mutex_unlock(&k->lock);
		keep(k);
		if (++seconds % SNAPSHOT_EVERY_S == 0)
			keeper_save(k->shelves, k->chronicle);
		pthread_mutex_lock(&k->lock);
		struct timespec until = now_and_ms(1000);
		if (!k->stopping)
			pthread_cond_timedwait(&k->wake, &k->lock, &until);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

int
keeper_start(struct keeper **out, struct shelves *sh, struct chronicle *ch)
{
	struct keeper *k = NEW(struct keeper);
	pthread_condattr_t attr;
	k->shelves = sh;
	k->chronicle = ch;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&k->thread, NULL, run, k) == 0) {
		*out = k;
		return 0;
	}
	free(k);
	return -1;
}

void
keeper_stop(struct keeper **pk)
{
	struct keeper *k = *pk;
	assert(k && !k->stopping);
	*pk = NULL;
	pthread_mutex_lock(&k->lock);
	k->stopping = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	pthread_cond_destroy(&k->wake);
	pthread_mutex_destroy(&k->lock);
	free(k);
}
