/* baseline.c - rings of one writer and one reader each, and the thread that reads them. */
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/ghost/baseline_file.h"
#include "proxy/cache/ghost/baseline_log.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 4096, WAKE_AT = RING / 4, SLEEP_MS = 250, LATER_MOST = 65536, LATER_AT_ONCE = 256 };
static const char FILE_NAME[] = "baseline", WHAT_IF[] = "whatif";

/* head and tail only grow. The writer owns head, the reader (who holds baseline.lock) owns tail. */
struct baseline_ring {
	_Alignas(64) _Atomic uint32_t head;
	_Atomic uint64_t dropped;
	struct baseline *b;
	_Alignas(64) _Atomic uint32_t tail;
	uint32_t until; /* the reader's: head when it began */
	_Alignas(64) struct ghost_event events[RING];
	int64_t noted_us[RING];
};

/* A URL to be forgotten. */
struct later {
	uint64_t url;
	int64_t noted_us;
};

struct baseline {
	struct baseline_options o;
	struct ghost *ghost;	/* under lock, but for ghost_samples */
	struct whatif *what_if; /* likewise; NULL: there is none */
	pthread_mutex_t lock;
	struct baseline_ring *rings; /* owned */
	unsigned rings_n;
	struct cache *cache;
	uint64_t most_bytes;	  /* of a snapshot */
	struct baseline_log *log; /* the keeper's; NULL: there is no directory */

	/* URLs to be forgotten wait here for the lock, in the order of time: a queue in a ring. The
	 * holder of the lock takes from it. */
	pthread_mutex_t later_lock; /* the next lines */
	struct later *later;
	unsigned later_first, later_n;
	bool later_all; /* more than fitted */

	pthread_t thread;
	sem_t wake;
	_Atomic bool stopping;
};

/* ---- the rings ----------------------------------------------------------------------------- */

bool
baseline_wants(const struct baseline_ring *r, struct twice_key_hash key, uint64_t record_bytes)
{
	return ghost_samples(r->b->ghost, key.hi, record_bytes) ||
	       (r->b->what_if && whatif_samples(r->b->what_if, key.hi, record_bytes));
}

void
baseline_note(struct baseline_ring *r, const struct ghost_event *e)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t filled = head - atomic_load_explicit(&r->tail, memory_order_acquire);
	assert(filled <= RING);
	if (filled == RING) {
		atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
		return;
	}
	r->events[head % RING] = *e;
	r->noted_us[head % RING] = now_us();
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	if (filled + 1 == WAKE_AT)
		sem_post(&r->b->wake);
}

/* The ring whose next event is the oldest of all; NULL: no more that were noted by then. One client's
 * requests may come to several workers, and what the ghost makes of them depends on their order. */
static struct baseline_ring *
oldest(struct baseline *b, int64_t by_us)
{
	struct baseline_ring *best = NULL;
	int64_t least = by_us;
	for (unsigned i = 0; i < b->rings_n; i++) {
		struct baseline_ring *r = &b->rings[i];
		uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
		if (tail == r->until || r->noted_us[tail % RING] > least)
			continue;
		least = r->noted_us[tail % RING];
		best = r;
	}
	return best;
}

static void
see(struct baseline *b, const struct ghost_event *e)
{
	struct ghost_did did = ghost_see(b->ghost, e);
	if (!b->what_if)
		return;
	if (!e->joins)
		whatif_earn(b->what_if, did.weight, e->deed == GHOST_HIT ? 0 : did.weight);
	whatif_see(b->what_if, e);
}

static void
forget(struct baseline *b, uint64_t url)
{
	ghost_forget(b->ghost, url);
	if (b->what_if)
		whatif_forget(b->what_if, url);
}

static void
forget_all(struct baseline *b)
{
	ghost_forget_all(b->ghost);
	if (b->what_if)
		whatif_forget_all(b->what_if);
}

/* These URLs are forgotten next. */
struct waiting {
	struct later some[LATER_AT_ONCE];
	unsigned n, at; /* of some: how many, and which is next */
	unsigned left;	/* in the list, of those that were in it at the beginning */
	bool all;	/* in the end, all there is */
};

static void
count_waiting(struct baseline *b, struct waiting *w)
{
	pthread_mutex_lock(&b->later_lock);
	assert(b->later_n <= LATER_MOST && b->later_first < LATER_MOST);
	w->all = b->later_all;
	if (b->later_all)
		b->later_n = 0;
	b->later_all = false;
	w->left = b->later_n;
	pthread_mutex_unlock(&b->later_lock);
}

/* Those that were noted by then. Workers add to the list, so it is not locked for long. */
static void
take_some(struct baseline *b, struct waiting *w, int64_t by_us)
{
	pthread_mutex_lock(&b->later_lock);
	assert(w->left <= b->later_n && b->later_first < LATER_MOST);
	for (w->n = w->at = 0; w->n < LATER_AT_ONCE && w->left; w->left--) {
		const struct later *l = &b->later[b->later_first];
		if (l->noted_us > by_us) {
			w->left = 0;
			break;
		}
		w->some[w->n++] = *l;
		b->later_first = (b->later_first + 1) % LATER_MOST;
		b->later_n--;
	}
	pthread_mutex_unlock(&b->later_lock);
}

/* NULL: no more. */
static const struct later *
next_waiting(struct baseline *b, struct waiting *w, int64_t by_us)
{
	if (w->at == w->n && w->left)
		take_some(b, w, by_us);
	return w->at < w->n ? &w->some[w->at] : NULL;
}

/* Events, and what was forgotten between them, in the order of time. What is noted from now on may come
 * before something that is not seen here yet: it stays. The order of the first three steps matters: what
 * was noted before a URL that waits is seen here, for the lock of the list orders the two, whatever the
 * clocks of two processors say; and what is noted behind one that does not wait yet is of a later time. */
static void
drain(struct baseline *b)
{
	int64_t now = now_us();
	struct waiting w = {.n = 0};
	count_waiting(b, &w);
	for (unsigned i = 0; i < b->rings_n; i++)
		b->rings[i].until = atomic_load_explicit(&b->rings[i].head, memory_order_acquire);
	for (;;) {
		struct baseline_ring *r = oldest(b, now);
		const struct later *l = next_waiting(b, &w, now);
		uint32_t tail = r ? atomic_load_explicit(&r->tail, memory_order_relaxed) : 0;
		if (r && (!l || r->noted_us[tail % RING] <= l->noted_us)) {
			assert(r->until - tail <= RING);
			see(b, &r->events[tail % RING]);
			atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
		} else if (l) {
			forget(b, l->url);
			w.at++;
		} else {
			break;
		}
	}
	if (w.all)
		forget_all(b);
}

/* ---- forgetting ---------------------------------------------------------------------------- */

/* More than fit are forgotten all: the ghost then writes too much rather than keep what is gone. */
static void
forget_later(struct baseline *b, uint64_t url)
{
	pthread_mutex_lock(&b->later_lock);
	if (b->later_n < LATER_MOST && !b->later_all)
		b->later[(b->later_first + b->later_n++) % LATER_MOST] =
			(struct later){url, now_us()};
	else
		b->later_all = true;
	pthread_mutex_unlock(&b->later_lock);
}

void
baseline_forget(struct baseline *b, struct twice_key_hash url)
{
	if (pthread_mutex_trylock(&b->lock) != 0) {
		forget_later(b, url.hi);
		return;
	}
	drain(b);
	forget(b, url.hi);
	pthread_mutex_unlock(&b->lock);
}

void
baseline_forget_host(struct baseline *b, uint32_t host)
{
	pthread_mutex_lock(&b->lock);
	drain(b);
	ghost_forget_host(b->ghost, host);
	if (b->what_if)
		whatif_forget_host(b->what_if, host);
	pthread_mutex_unlock(&b->lock);
}

void
baseline_forget_all(struct baseline *b)
{
	pthread_mutex_lock(&b->lock);
	drain(b);
	forget_all(b);
	pthread_mutex_unlock(&b->lock);
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void *
run(void *arg)
{
	struct baseline *b = arg;
	while (!atomic_load(&b->stopping)) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += SLEEP_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (sem_timedwait(&b->wake, &until) != 0 && errno == EINTR)
			;
		pthread_mutex_lock(&b->lock);
		drain(b);
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

/* ---- snapshot ------------------------------------------------------------------------------ */

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct buf *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

void
baseline_save(struct baseline *b)
{
	struct buf bytes = {0}, rows = {0};
	if (!b->cache || !b->ghost)
		return;
	struct twice_filter_place place = {cache_seed(b->cache), now_s()};
	pthread_mutex_lock(&b->lock);
	drain(b);
	ghost_snapshot_save(b->ghost, twice_seed_fingerprint(place.seed), b->most_bytes, &bytes);
	if (b->what_if)
		whatif_save(b->what_if, &place, baseline_what_if_bytes(b->o.ghost.disk_bytes), &rows);
	ghost_journal_begin(b->ghost); /* of what comes behind the snapshot */
	pthread_mutex_unlock(&b->lock);
	bool saved = cache_save_file(b->cache, FILE_NAME, fill, &bytes) == 0;
	if (saved)
		baseline_log_begin(b->log, buf_str(&bytes));
	else
		baseline_log_stop(b->log);
	if (!saved || (rows.n && cache_save_file(b->cache, WHAT_IF, fill, &rows)))
		log_warning("cache %s: cannot save the simulated ordinary cache: %s; after a "
			    "restart the savings count from an empty disk",
			    cache_directory(b->cache), strerror(errno));
	buf_fini(&bytes);
	buf_fini(&rows);
}

void
baseline_tick(struct baseline *b, int64_t now_ms)
{
	struct buf rows = {0};
	if (!b->log || !*cache_directory(b->cache))
		return;
	pthread_mutex_lock(&b->lock);
	drain(b);
	bool gap = !ghost_journal_take(b->ghost, &rows);
	pthread_mutex_unlock(&b->lock);
	if (gap)
		baseline_log_stop(b->log);
	baseline_log_add(b->log, buf_str(&rows), now_ms);
	if (baseline_log_wants_snapshot(b->log, now_ms))
		baseline_save(b);
	buf_fini(&rows);
}

static void
restore(struct baseline *b)
{
	struct buf bytes = {0}, rows = {0};
	const char *why = NULL;
	if (!b->cache)
		return;
	uint64_t tag = twice_seed_fingerprint(cache_seed(b->cache));
	b->log = baseline_log_create(b->cache, tag, b->most_bytes);
	bool is_there = cache_read_file(b->cache, FILE_NAME, b->most_bytes, &bytes, &why);
	if (is_there && !why)
		why = ghost_snapshot_load(b->ghost, tag, buf_str(&bytes));
	baseline_log_restore(b->log, is_there && !why ? buf_str(&bytes) : STR(""), &rows);
	ghost_journal_replay(b->ghost, buf_str(&rows));
	ghost_journal_begin(b->ghost);
	if (why)
		log_warning("cache %s: the snapshot of the simulated ordinary cache is ignored "
			    "(%s): the savings count from an empty disk",
			    cache_directory(b->cache), why);
	ghost_check(b->ghost); /* foreign bytes have made it */
	buf_fini(&bytes);
	buf_fini(&rows);
}

static void
begin_what_if(struct baseline *b)
{
	struct whatif_options w = b->o.what_if;
	w.ghost = b->o.ghost;
	w.ghost.packs = true; /* as we do; the ordinary cache does not */
	struct buf bytes = {0};
	const char *why;
	if (!b->o.ghost.disk_bytes || !w.memory.capacity)
		return;
	b->what_if = whatif_create(&w);
	if (!b->what_if || !b->cache ||
	    !cache_read_file(b->cache, WHAT_IF, BASELINE_WHAT_IF_MOST, &bytes, &why))
		return;
	struct twice_filter_place place = {cache_seed(b->cache), now_s()};
	if (!why)
		why = whatif_load(b->what_if, &place, buf_str(&bytes));
	if (why) {
		log_warning("cache %s: the snapshot of what-if is ignored (%s): it begins empty",
			    cache_directory(b->cache), why);
		whatif_destroy(&b->what_if);
		b->what_if = whatif_create(&w);
	}
	buf_fini(&bytes);
}

/* ---- life ---------------------------------------------------------------------------------- */

int
baseline_create(struct baseline **out, const struct baseline_options *o)
{
	struct baseline *b = NEW(struct baseline);
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->later_lock, NULL);
	sem_init(&b->wake, 0, 0);
	b->o = *o;
	b->ghost = ghost_create(&o->ghost);
	b->cache = o->ghost.disk_bytes ? o->cache : NULL;
	b->most_bytes = baseline_snapshot_bytes(o->ghost.disk_bytes);
	b->later = mem_alloc(LATER_MOST * sizeof *b->later);
	b->rings_n = o->rings;
	if (posix_memalign((void **)&b->rings, 64, (o->rings + 1) * sizeof *b->rings))
		abort();
	for (unsigned i = 0; i < o->rings; i++) {
		memset(&b->rings[i], 0, offsetof(struct baseline_ring, events));
		b->rings[i].b = b;
	}
	restore(b);
	begin_what_if(b);
	if (pthread_create(&b->thread, NULL, run, b)) {
		atomic_store(&b->stopping, true);
		b->thread = 0;
		baseline_destroy(&b);
		return -1;
	}
	*out = b;
	return 0;
}

void
baseline_destroy(struct baseline **pb)
{
	struct baseline *b = *pb;
	*pb = NULL;
	if (!b)
		return;
	bool runs = !atomic_exchange(&b->stopping, true);
	sem_post(&b->wake);
	if (runs)
		pthread_join(b->thread, NULL);
	baseline_log_destroy(&b->log);
	ghost_destroy(&b->ghost);
	whatif_destroy(&b->what_if);
	sem_destroy(&b->wake);
	pthread_mutex_destroy(&b->later_lock);
	pthread_mutex_destroy(&b->lock);
	free(b->later);
	free(b->rings);
	free(b);
}

void
baseline_what_if(struct baseline *b, void (*use)(struct whatif *w, void *ctx), void *ctx)
{
	pthread_mutex_lock(&b->lock);
	drain(b);
	if (b->what_if)
		use(b->what_if, ctx);
	pthread_mutex_unlock(&b->lock);
}

struct baseline_ring *
baseline_ring(struct baseline *b, unsigned i)
{
	return i < b->rings_n ? &b->rings[i] : NULL;
}

void
baseline_stats(struct baseline *b, struct baseline_stats *out)
{
	pthread_mutex_lock(&b->lock);
	drain(b);
	ghost_stats(b->ghost, &out->ghost);
	out->what_if = (struct whatif_stats){0};
	if (b->what_if)
		whatif_stats(b->what_if, &out->what_if);
	pthread_mutex_unlock(&b->lock);
	out->dropped = 0;
	for (unsigned i = 0; i < b->rings_n; i++)
		out->dropped += atomic_load_explicit(&b->rings[i].dropped, memory_order_relaxed);
}
