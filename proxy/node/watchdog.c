/* watchdog.c - looks a few times in the supervisor's interval. */
#include "proxy/node/watchdog.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/node/notify.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* LOOKS: in the supervisor's interval, so that one late look does no harm, but not more often than LEAST_MS: a
 * tick takes TICK_MS. At least each MOST_MS. STALLED_MS: of looks without a tick, and as many looks as LOOKS. */
enum { LOOKS = 3, LEAST_MS = 3 * TICK_MS, MOST_MS = 1000, STALLED_MS = 3000 };
/* For what small requests take between a look at the memory and the next one. */
enum { MEMORY_RESERVE = 4 << 20 };

struct watched {
	uint64_t ticks; /* at the last look */
	unsigned still; /* looks in a row at which it was the same */
};

struct watchdog {
	struct cache *cache;
	struct worker *workers;
	unsigned n;
	struct watched *seen; /* of each worker */
	int64_t every_ms;
	bool tells; /* a supervisor asks for it */
	bool warned;
	_Atomic unsigned stalled;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping; /* under lock */
};

/* The first worker whose loop stands still; n: none. One that has ended needs no ticks. */
static unsigned
find_still(struct watchdog *d)
{
	unsigned still = d->n, stalled = 0;
	for (unsigned i = 0; i < d->n; i++) {
		uint64_t ticks = atomic_load_explicit(&d->workers[i].ticks, memory_order_relaxed);
		struct watched *w = &d->seen[i];
		bool stands = ticks == w->ticks && ticks != WORKER_HAS_ENDED;
		w->still = stands ? w->still + 1 : 0;
		w->ticks = ticks;
		if (stands && still == d->n)
			still = i;
		stalled += w->still >= LOOKS && w->still * d->every_ms >= STALLED_MS;
	}
	atomic_store(&d->stalled, stalled);
	return still;
}

static void
look(struct watchdog *d)
{
	unsigned still = find_still(d);
	bool tells = d->tells || atomic_load(&d->stalled);
	if (still == d->n && d->tells)
		notify_say("WATCHDOG=1");
	else if (still < d->n && !d->warned && tells)
		log_error("worker %u has been stuck for %lld ms: a disk that hangs, or a defect of "
			  "this program (cat /proc/%d/task/*/stack, as root)%s",
			  still, (long long)(d->seen[still].still * d->every_ms), (int)getpid(),
			  d->tells ? "; the supervisor ends this process if that goes on" : "");
	d->warned = still != d->n && (d->warned || tells);
	cache_mind_memory(d->cache);
}

static void *
run(void *arg)
{
	struct watchdog *d = arg;
	pthread_mutex_lock(&d->lock);
	while (!d->stopping) {
		clock_condition_wait(&d->wake, &d->lock, d->every_ms);
		if (d->stopping)
			break;
		pthread_mutex_unlock(&d->lock);
		look(d);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

struct watchdog *
watchdog_create(void)
{
	struct watchdog *d = NEW(struct watchdog);
	pthread_mutex_init(&d->lock, NULL);
	clock_condition_init(&d->wake);
	return d;
}

int
watchdog_start(struct watchdog *d, struct worker *workers, unsigned n, struct cache *cache)
{
	int64_t interval_ms = notify_watchdog_ms();
	assert(!d->runs && n > 0);
	d->cache = cache;
	d->workers = workers;
	d->n = n;
	d->seen = mem_zalloc(n * sizeof *d->seen);
	d->tells = interval_ms > 0;
	d->every_ms = d->tells && interval_ms / LOOKS < MOST_MS ? interval_ms / LOOKS : MOST_MS;
	if (d->every_ms < LEAST_MS)
		d->every_ms = LEAST_MS;
	mem_reserve(MEMORY_RESERVE);
	d->runs = pthread_create(&d->thread, NULL, run, d) == 0;
	return d->runs ? 0 : -1;
}

void
watchdog_stop(struct watchdog *d)
{
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	if (d->runs)
		pthread_join(d->thread, NULL);
	d->runs = false;
	atomic_store(&d->stalled, 0);
}

void
watchdog_destroy(struct watchdog **pd)
{
	struct watchdog *d = *pd;
	*pd = NULL;
	watchdog_stop(d);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	free(d->seen);
	free(d);
}

unsigned
watchdog_stalled(const struct watchdog *d)
{
	return atomic_load(&d->stalled);
}
