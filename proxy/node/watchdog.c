/* watchdog.c - looks a few times in the supervisor's interval. */
#include "proxy/node/watchdog.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/notify.h"

#include <assert.h>
#include <stdlib.h>

/* LOOKS: in an interval, so that one late look does no harm. A tick takes TICK_MS. */
enum { LOOKS = 3, LEAST_MS = 3 * TICK_MS };

struct watchdog {
	struct worker *workers;
	unsigned n;
	uint64_t *seen; /* turns of each at the last look */
	int64_t every_ms;
	bool warned;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping; /* under lock */
};

/* The first worker whose loop stands still; n: none. One that has ended needs no turns. */
static unsigned
find_still(struct watchdog *d)
{
	unsigned still = d->n;
	for (unsigned i = 0; i < d->n; i++) {
		uint64_t turns = atomic_load_explicit(&d->workers[i].turns, memory_order_relaxed);
		if (turns == d->seen[i] && turns != WORKER_HAS_ENDED && still == d->n)
			still = i;
		d->seen[i] = turns;
	}
	return still;
}

static void
look(struct watchdog *d)
{
	unsigned still = find_still(d);
	if (still == d->n)
		notify_say("WATCHDOG=1");
	else if (!d->warned)
		log_error("worker %u has been stuck for %lld ms; the supervisor will end this "
			  "process if that goes on",
			  still, (long long)d->every_ms);
	d->warned = still != d->n;
}

static void *
run(void *arg)
{
	struct watchdog *d = arg;
	pthread_mutex_lock(&d->lock);
	while (!d->stopping) {
		struct timespec until = now_and_ms(d->every_ms);
		pthread_cond_timedwait(&d->wake, &d->lock, &until);
		if (d->stopping)
			break;
		pthread_mutex_unlock(&d->lock);
		look(d);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static void
destroy(struct watchdog *d)
{
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	free(d->seen);
	free(d);
}

int
watchdog_start(struct watchdog **out, struct worker *workers, unsigned n)
{
	int64_t interval_ms = notify_watchdog_ms();
	pthread_condattr_t attr;
	assert(!*out && n > 0);
	if (!interval_ms)
		return 0;
	struct watchdog *d = NEW(struct watchdog);
	d->workers = workers;
	d->n = n;
	d->seen = mem_zalloc(n * sizeof *d->seen);
	d->every_ms = interval_ms / LOOKS > LEAST_MS ? interval_ms / LOOKS : LEAST_MS;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&d->thread, NULL, run, d)) {
		destroy(d);
		return -1;
	}
	*out = d;
	return 0;
}

void
watchdog_stop(struct watchdog **pd)
{
	struct watchdog *d = *pd;
	*pd = NULL;
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	destroy(d);
}
