/* keeper.c - once a second, and now and then. */
#include "proxy/node/keeper.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/heritage.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/node/membership.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SNAPSHOT_EVERY_S = 900, SLICE_MS = 50 };

struct keeper {
	struct shelves *shelves;
	struct chronicle *chronicle;
	struct membership *membership;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	/* Under lock. */
	bool stopping, rests;
	bool begun; /* the order, which is no longer to be taken back */
	void (*order)(struct keeper *k);
	keeper_look_fn *look;
	void *look_ctx;
};

void
keeper_save(struct shelves *sh, struct chronicle *ch, struct membership *m)
{
	if (sh->cache && !*cache_directory(sh->cache)) /* RAM only, or not there now */
		return;
	if (ch)
		chronicle_save(ch);
	if (m)
		membership_save(m);
	if (sh->seen)
		seen_save(sh->seen, now_s());
	if (sh->baseline)
		baseline_save(sh->baseline);
	if (sh->cache)
		cache_save_earnings(sh->cache);
}

/* `sightings: auto`: what-if says what a generation would have been with other sightings, and rows that are as now
 * follow the choice. */
struct choosing {
	struct choice_period period;
	bool is_known, used;
	struct sighting_settings now;
};

static void
look_back(struct whatif *w, void *ctx)
{
	struct choosing *c = ctx;
	c->is_known = whatif_period(w, false, &c->period);
}

static void
go_on(struct whatif *w, void *ctx)
{
	struct choosing *c = ctx;
	if (c->used)
		whatif_period(w, true, &c->period);
	whatif_settle(w, c->now.sightings, c->now.large_sightings);
}

static void
choose(struct shelves *sh)
{
	struct choosing c = {.is_known = false};
	if (seen_choice_is_due(sh->seen)) {
		baseline_what_if(sh->baseline, look_back, &c);
		c.used = seen_choose(sh->seen, c.is_known ? &c.period : NULL, now_s());
	}
	c.now = seen_settings(sh->seen);
	baseline_what_if(sh->baseline, go_on, &c);
}

static void
keep(struct keeper *k)
{
	struct shelves *sh = k->shelves;
	struct cache_stats stats;
	cache_stats(sh->cache, &stats);
	seen_tick(sh->seen, now_s(), now_ms(), &stats);
	choose(sh);
	baseline_tick(sh->baseline, now_ms());
	chronicle_tick(k->chronicle);
	membership_save(k->membership);
	membership_tell_disk(k->membership);
	cache_watch(k->shelves->cache);
}

static void
save_at_length(struct keeper *k)
{
	cache_answers(k->shelves->cache);
	if (!*cache_directory(k->shelves->cache))
		return;
	baseline_save(k->shelves->baseline);
	cache_save_earnings(k->shelves->cache);
}

static void
save_last(struct keeper *k)
{
	if (!*cache_directory(k->shelves->cache))
		return;
	seen_save(k->shelves->seen, now_s());
	chronicle_save(k->chronicle);
	membership_save(k->membership);
}

/* Under the lock, which is let go meanwhile. */
static void
obey(struct keeper *k)
{
	k->begun = true;
	pthread_mutex_unlock(&k->lock);
	k->order(k);
	pthread_mutex_lock(&k->lock);
	k->begun = false;
	k->order = NULL;
	pthread_cond_signal(&k->done);
}

static void
work(struct keeper *k, unsigned seconds)
{
	pthread_mutex_unlock(&k->lock);
	keep(k);
	if (seconds % SNAPSHOT_EVERY_S == 0)
		keeper_save(k->shelves, k->chronicle, k->membership);
	pthread_mutex_lock(&k->lock);
}

/* Under the lock, which is let go meanwhile. */
static void
look(struct keeper *k)
{
	keeper_look_fn *deed = k->look;
	void *ctx = k->look_ctx;
	if (!deed)
		return;
	pthread_mutex_unlock(&k->lock);
	bool over = deed(ctx);
	pthread_mutex_lock(&k->lock);
	if (!over)
		return;
	free(ctx);
	k->look = NULL;
	k->look_ctx = NULL;
}

static void *
run(void *arg)
{
	struct keeper *k = arg;
	unsigned seconds = 0;
	pthread_mutex_lock(&k->lock);
	while (!k->stopping) {
		look(k);
		if (!k->rests)
			work(k, ++seconds);
		if (!k->stopping && !k->order)
			clock_condition_wait(&k->wake, &k->lock, 1000);
		if (k->order)
			obey(k);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* Under the lock. An order that was not done in time is taken back, or ends when it may. */
static bool
give_order(struct keeper *k, void (*order)(struct keeper *k), const struct keeper_patience *p)
{
	int64_t until_ms = now_ms() + p->limit_ms;
	if (k->order)
		return false; /* the one before has not come back */
	k->order = order;
	pthread_cond_signal(&k->wake);
	while (k->order && now_ms() < until_ms && !(p->is_over && p->is_over(p->ctx))) {
		clock_condition_wait(&k->done, &k->lock, SLICE_MS);
	}
	bool done = !k->order;
	if (!done && !k->begun)
		k->order = NULL;
	return done;
}

bool
keeper_rest(struct keeper *k, const struct keeper_patience *p)
{
	pthread_mutex_lock(&k->lock);
	assert(!k->rests);
	k->rests = true;
	bool done = give_order(k, save_at_length, p);
	k->rests = done;
	pthread_mutex_unlock(&k->lock);
	return done;
}

bool
keeper_save_last(struct keeper *k, const struct keeper_patience *p)
{
	pthread_mutex_lock(&k->lock);
	assert(k->rests);
	bool done = give_order(k, save_last, p);
	pthread_mutex_unlock(&k->lock);
	return done;
}

void
keeper_work(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	k->rests = false;
	pthread_mutex_unlock(&k->lock);
}

void
keeper_look(struct keeper *k, keeper_look_fn *deed, void *ctx)
{
	pthread_mutex_lock(&k->lock);
	assert(!k->look);
	k->look = deed;
	k->look_ctx = ctx;
	pthread_mutex_unlock(&k->lock);
}

bool
keeper_looks(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	bool yes = k->look != NULL;
	pthread_mutex_unlock(&k->lock);
	return yes;
}

int
keeper_start(struct keeper **out, struct shelves *sh, struct chronicle *ch, struct membership *m)
{
	struct keeper *k = NEW(struct keeper);
	k->shelves = sh;
	k->chronicle = ch;
	k->membership = m;
	pthread_mutex_init(&k->lock, NULL);
	clock_condition_init(&k->wake);
	clock_condition_init(&k->done);
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
	pthread_cond_destroy(&k->done);
	pthread_mutex_destroy(&k->lock);
	free(k->look_ctx);
	free(k);
}
