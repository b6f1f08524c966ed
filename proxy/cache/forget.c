/* forget.c - the clock, the tables, and the thread that makes them durable. */
#include "proxy/cache/forget.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/forget_table.h"
#include "proxy/http/cachekey.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STARTS_SHIFT = 40, WAIT_MS = 5000, RETRY_MS = 250 };

static const uint64_t MAX_STARTS = 1 << 24, FIRST_LOG_BYTES = 64 << 10, READ_MOST = 256 << 20,
		      MEMORY_ENTRIES = 1 << 18, PASSING_ENTRIES = 1 << 16;
/* A key alone has the same text as its URL, so its hash is turned into another one. */
static const uint64_t KEY_ALONE = 0x6b65792d616c6f6e;

struct forget {
	_Alignas(64) _Atomic uint64_t newest;
	/* Everything that is not clean as of floor is forgotten; fetches: as of fetch_floor. */
	_Atomic uint64_t floor, fetch_floor;
	_Atomic uint64_t hosts; /* entries of hosts that were ever made */
	_Atomic bool sound;
	_Atomic uint64_t shed, written, log_bytes;

	_Alignas(64) struct forget_options o;
	struct forget_table *table;
	uint64_t starts, max_entries;
	uint64_t (*oldest)(void *ctx);
	void *oldest_ctx;
	struct purge_log log; /* the thread's, once it runs */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* everything below, and the order of newest */
	pthread_cond_t work, done;
	struct purge_entry *pending; /* lasting ones not written yet */
	size_t pending_n, pending_room;
	uint64_t durable, tried; /* all up to here is on the device; was tried to be */
	uint64_t recent;	 /* things forgotten since everything was */
	bool crowded, stopping;
};

/* ---- asking -------------------------------------------------------------------------------- */

uint64_t
forget_now(const struct forget *f)
{
	return atomic_load_explicit(&f->newest, memory_order_acquire);
}

/* host[:port] of a URL's key. */
static struct str
host_of(struct str url)
{
	size_t at = str_starts(url, STR("https://")) ? 8 : 7, end = at;
	if (at > url.n)
		return (struct str){NULL, 0};
	while (end < url.n && url.p[end] != '/' && url.p[end] != '?')
		end++;
	return (struct str){url.p + at, end - at};
}

static struct key_hash
hash_text(const struct forget *f, struct str text)
{
	return key_hash_of(f->o.seed, text.p, text.n);
}

static struct key_hash
alone(struct key_hash hash)
{
	return (struct key_hash){hash.lo ^ KEY_ALONE, hash.hi};
}

static bool
covers(struct forget *f, struct key_hash hash, struct str key, uint64_t since, uint64_t *now,
       const _Atomic uint64_t *floor)
{
	*now = forget_now(f);
	if (*now <= since)
		return false;
	if (since < atomic_load(floor))
		return true;
	struct str url = cachekey_url(key);
	if (forget_table_find(f->table, hash_text(f, url)) > since ||
	    forget_table_find(f->table, alone(hash)) > since)
		return true;
	return atomic_load_explicit(&f->hosts, memory_order_relaxed) &&
	       forget_table_find(f->table, hash_text(f, host_of(url))) > since;
}

bool
forget_covers(struct forget *f, struct key_hash hash, struct str key, uint64_t since, uint64_t *now)
{
	return covers(f, hash, key, since, now, &f->floor);
}

bool
forget_covers_fetch(struct forget *f, struct key_hash hash, struct str key, uint64_t since,
		    uint64_t *now)
{
	return covers(f, hash, key, since, now, &f->fetch_floor);
}

/* ---- forgetting ---------------------------------------------------------------------------- */

static void
raise_to(_Atomic uint64_t *p, uint64_t to)
{
	uint64_t was = atomic_load(p);
	while (was < to && !atomic_compare_exchange_weak(p, &was, to))
		continue;
}

static void
raise_floor(struct forget *f, uint64_t to)
{
	raise_to(&f->fetch_floor, to);
	raise_to(&f->floor, to);
}

/* Into the tables. */
static void
enter(struct forget *f, const struct purge_entry *e, bool lasting)
{
	if (e->kind == FORGET_ALL) {
		raise_floor(f, e->at);
		return;
	}
	if (e->kind == FORGET_HOST)
		atomic_fetch_add_explicit(&f->hosts, 1, memory_order_relaxed);
	forget_table_put(f->table, e, lasting);
}

/* The entries that are there, and how many there may be: those of the log by its size; those that
 * are only for fetches under way apart, so that many of them (requests that change something) shed
 * no purge, and a small log does not shed the fetches. */
struct crowd {
	uint64_t n, most;
};

static struct crowd
crowd_of(const struct forget *f, bool lasting)
{
	uint64_t kept, passing;
	forget_table_count(f->table, &kept, &passing);
	return lasting ? (struct crowd){kept, f->max_entries}
		       : (struct crowd){passing, PASSING_ENTRIES};
}

static bool
is_beyond(struct crowd c, unsigned quarters)
{
	return c.n >= c.most / 4 * quarters;
}

static bool
is_crowded(const struct forget *f, unsigned quarters)
{
	return is_beyond(crowd_of(f, true), quarters) || is_beyond(crowd_of(f, false), quarters);
}

/* Under the lock: work for the thread, when there are too many entries; if it does not keep up,
 * everything is forgotten at once. */
static void
mind_the_bound(struct forget *f, uint64_t now)
{
	struct crowd lasting = crowd_of(f, true), passing = crowd_of(f, false);
	f->recent++;
	if (is_beyond(lasting, 4) && f->recent >= lasting.most / 2) {
		raise_floor(f, now);
		atomic_fetch_add(&f->shed, lasting.n);
		f->recent = 0;
	} else if (is_beyond(passing, 4) && f->recent >= passing.most / 2) {
		raise_to(&f->fetch_floor, now);
		f->recent = 0;
	}
	if (is_crowded(f, 3))
		f->crowded = true;
}

static void
pend(struct forget *f, const struct purge_entry *e)
{
	if (f->pending_n == f->pending_room) {
		f->pending_room = f->pending_room ? 2 * f->pending_room : 16;
		f->pending = mem_realloc(f->pending, f->pending_room * sizeof *f->pending);
	}
	f->pending[f->pending_n++] = *e;
}

uint64_t
forget_add_own(struct forget *f, enum forget_kind kind, struct key_hash hash, struct str key,
	       bool lasting, uint64_t since, bool *was_clean)
{
	struct purge_entry e = {.kind = (uint8_t)kind};
	uint64_t now;
	if (kind == FORGET_URL)
		e.hash = hash_text(f, cachekey_url(key));
	else if (kind == FORGET_HOST)
		e.hash = hash_text(f, key);
	else if (kind == FORGET_KEY)
		e.hash = alone(hash);
	pthread_mutex_lock(&f->lock);
	*was_clean = !forget_covers_fetch(f, hash, key, since, &now);
	e.at = forget_now(f) + 1;
	enter(f, &e, lasting);
	if (lasting && f->o.dir_fd >= 0)
		pend(f, &e);
	atomic_store_explicit(&f->newest, e.at, memory_order_release);
	mind_the_bound(f, e.at);
	if (f->pending_n || f->crowded)
		pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
	return e.at;
}

uint64_t
forget_add(struct forget *f, enum forget_kind kind, struct key_hash hash, struct str key,
	   bool lasting)
{
	bool ignored;
	return forget_add_own(f, kind, hash, key, lasting, UINT64_MAX, &ignored);
}

/* ---- the bound ----------------------------------------------------------------------------- */

static int
by_time(const void *pa, const void *pb)
{
	const struct purge_entry *a = pa, *b = pb;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The time of the middle one of so many entries. */
static uint64_t
median(struct purge_entry *list, size_t n)
{
	qsort(list, n, sizeof *list, by_time);
	return n ? list[n / 2].at : 0;
}

/* What no record on disk is older than need not be kept. What sits in RAM since then without being
 * asked for is lost with it: that is why this waits until room is needed. */
static void
drop_outlived(struct forget *f)
{
	uint64_t oldest = f->oldest ? f->oldest(f->oldest_ctx) : forget_now(f), now = forget_now(f);
	oldest = oldest < now ? oldest : now;
	if (oldest <= atomic_load(&f->floor))
		return;
	raise_floor(f, oldest);
	forget_table_drop(f->table, oldest, oldest);
}

/* The older half goes: of the passing ones while these are many, else of the lasting ones. */
static void
shed(struct forget *f)
{
	struct purge_entry *list;
	if (is_beyond(crowd_of(f, true), 2)) /* else what was forgotten lately is for fetches */
		drop_outlived(f);
	forget_table_drop(f->table, atomic_load(&f->floor), atomic_load(&f->fetch_floor));
	if (!is_crowded(f, 2))
		return;
	bool drop_lasting = !is_beyond(crowd_of(f, false), 2);
	size_t n = forget_table_list(f->table, drop_lasting, &list);
	uint64_t upto = median(list, n);
	free(list);
	raise_to(&f->fetch_floor, upto);
	if (drop_lasting) {
		raise_floor(f, upto);
		atomic_fetch_add(&f->shed, n / 2);
		log_warning("cache %s: more purges than are kept apart: what was stored before the "
			    "newest %zu of them is fetched anew",
			    f->o.dir ? f->o.dir : "in memory", n - n / 2);
	}
	forget_table_drop(f->table, drop_lasting ? upto : 0, upto);
}

/* ---- the log ------------------------------------------------------------------------------- */

static uint64_t
random_id(void)
{
	uint64_t id;
	while (getrandom(&id, sizeof id, 0) != sizeof id)
		continue;
	return id;
}

static void
settle(struct forget *f, uint64_t upto, bool done)
{
	int error = errno;
	bool was = atomic_exchange(&f->sound, done); /* before anybody is told */
	atomic_store(&f->written, f->log.written);
	pthread_mutex_lock(&f->lock);
	f->tried = upto;
	if (done)
		f->durable = upto;
	pthread_cond_broadcast(&f->done);
	pthread_mutex_unlock(&f->lock);
	if (was == done)
		return;
	if (done)
		log_info("cache %s: its purge log is written again; serving from it goes on",
			 f->o.dir);
	else
		log_warning("cache %s: its purge log cannot be written (%s). Purges hold as long "
			    "as this process runs; nothing is served from the directory until they "
			    "are durable",
			    f->o.dir, strerror(error));
}

/* All that is in force, into a new file. */
static void
write_anew(struct forget *f)
{
	struct purge_entry *list;
	pthread_mutex_lock(&f->lock);
	uint64_t upto = forget_now(f);
	f->pending_n = 0; /* in the tables too */
	pthread_mutex_unlock(&f->lock);
	struct purge_head head = {
		.id = random_id(),
		.starts = f->starts,
		.floor = atomic_load(&f->floor),
		.fingerprint = filter_seed_fingerprint(f->o.seed),
	};
	size_t n = forget_table_list(f->table, true, &list);
	if (n)
		qsort(list, n, sizeof *list, by_time);
	uint64_t bytes = purge_log_bytes(2 * n);
	bytes = bytes < FIRST_LOG_BYTES ? FIRST_LOG_BYTES : bytes;
	if (bytes > f->o.log_bytes)
		bytes = f->o.log_bytes;
	if (bytes < purge_log_bytes(n)) /* more came in than may be: all the same to the disk */
		bytes = purge_log_bytes(n);
	bool done = purge_log_rewrite(&f->log, &head, bytes, list, n) == 0;
	int error = errno;
	free(list);
	atomic_store(&f->log_bytes, done ? bytes : 0);
	errno = error;
	if (!done)
		purge_log_remove(&f->log);
	settle(f, upto, done);
}

static void
write_pending(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	struct purge_entry *list = f->pending;
	size_t n = f->pending_n;
	uint64_t upto = forget_now(f);
	f->pending = NULL;
	f->pending_n = f->pending_room = 0;
	pthread_mutex_unlock(&f->lock);
	if (purge_log_append(&f->log, list, n) == 0)
		settle(f, upto, true);
	else
		write_anew(f);
	free(list);
}

/* Under the lock: waits for something to do; false when all is over and nothing is left. */
static bool
await_work(struct forget *f)
{
	struct timespec until = now_and_ms(RETRY_MS);
	int late = 0;
	while (!f->stopping && !f->crowded && !late &&
	       (f->pending_n == 0 || !atomic_load(&f->sound))) {
		if (atomic_load(&f->sound))
			pthread_cond_wait(&f->work, &f->lock);
		else
			late = pthread_cond_timedwait(&f->work, &f->lock, &until);
	}
	return !f->stopping || f->pending_n;
}

static void *
run(void *arg)
{
	struct forget *f = arg;
	pthread_mutex_lock(&f->lock);
	while (await_work(f)) {
		bool crowded = f->crowded, pending = f->pending_n, last = f->stopping;
		f->crowded = false;
		pthread_mutex_unlock(&f->lock);
		if (crowded)
			shed(f);
		if (f->o.dir_fd >= 0 && !atomic_load(&f->sound))
			write_anew(f);
		else if (pending)
			write_pending(f);
		pthread_mutex_lock(&f->lock);
		if (last)
			break;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
on_kept(void *ctx, const struct purge_entry *e)
{
	enter(ctx, e, true);
}

static bool
is_sane(const struct forget *f, const struct purge_head *head)
{
	return head->fingerprint == filter_seed_fingerprint(f->o.seed) && head->starts > 0 &&
	       head->starts + 1 < MAX_STARTS &&
	       atomic_load(&f->floor) >> STARTS_SHIFT <= head->starts;
}

static enum forget_found
read_log(struct forget *f)
{
	struct stat s;
	struct purge_head head;
	int fd = openat(f->o.dir_fd, "purges", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? FORGET_MISSING : FORGET_LOST;
	char *p = NULL;
	bool right = fstat(fd, &s) == 0 && (uint64_t)s.st_size < READ_MOST &&
		     (p = malloc((size_t)s.st_size + 1)) &&
		     diskio_read_all(f->o.ops, fd, p, (size_t)s.st_size, 0) == 0 &&
		     purge_log_parse(p, (size_t)s.st_size, &head, on_kept, f) && is_sane(f, &head);
	free(p);
	close(fd);
	if (!right)
		return FORGET_LOST;
	raise_floor(f, head.floor);
	f->starts = head.starts;
	return FORGET_KEPT;
}

enum forget_found
forget_open(struct forget **out, const struct forget_options *o)
{
	struct forget *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
	if (!f)
		abort();
	memset(f, 0, sizeof *f);
	f->o = *o;
	if (!f->o.ops)
		f->o.ops = &diskio_system;
	f->max_entries = MEMORY_ENTRIES;
	if (o->dir_fd >= 0)
		f->max_entries = o->log_bytes / (2 * PURGE_PAGE) * PURGE_PER_PAGE / 4 * 3;
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&f->work, &a);
	pthread_cond_init(&f->done, &a);
	pthread_condattr_destroy(&a);
	pthread_mutex_init(&f->lock, NULL);
	forget_table_create(&f->table);
	f->log = (struct purge_log){.ops = f->o.ops, .dir_fd = o->dir_fd, .fd = -1};
	enum forget_found found = o->dir_fd >= 0 ? read_log(f) : FORGET_KEPT;
	if (found != FORGET_KEPT) { /* what was half read says nothing */
		forget_table_destroy(&f->table);
		forget_table_create(&f->table);
		atomic_store(&f->floor, 0);
		atomic_store(&f->fetch_floor, 0);
		f->starts = 0;
	}
	f->starts++;
	f->durable = f->tried = f->starts << STARTS_SHIFT;
	atomic_store(&f->newest, f->durable);
	atomic_store(&f->sound, o->dir_fd < 0);
	*out = f;
	return found;
}

void
forget_begin(struct forget *f, uint64_t (*oldest)(void *ctx), void *ctx)
{
	f->oldest = oldest;
	f->oldest_ctx = ctx;
	if (f->o.dir_fd >= 0) {
		drop_outlived(f);
		if (is_crowded(f, 3))
			shed(f);
		atomic_store(&f->sound, true); /* so that a failure is told */
		write_anew(f);
	}
	if (pthread_create(&f->thread, NULL, run, f) != 0) {
		log_error("cannot start a thread: raise the limit on threads");
		abort();
	}
	f->has_thread = true;
}

void
forget_stop(struct forget *f)
{
	if (!f || !f->has_thread)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_broadcast(&f->work);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	f->has_thread = false;
}

void
forget_close(struct forget **pf)
{
	struct forget *f = *pf;
	*pf = NULL;
	if (!f)
		return;
	forget_stop(f);
	purge_log_close(&f->log);
	forget_table_destroy(&f->table);
	pthread_cond_destroy(&f->work);
	pthread_cond_destroy(&f->done);
	pthread_mutex_destroy(&f->lock);
	free(f->pending);
	free(f);
}

int
forget_wait(struct forget *f, uint64_t at)
{
	struct timespec until = now_and_ms(WAIT_MS);
	if (f->o.dir_fd < 0)
		return 0;
	pthread_mutex_lock(&f->lock);
	int late = 0;
	while (f->durable < at && f->tried < at && !late)
		late = pthread_cond_timedwait(&f->done, &f->lock, &until);
	bool durable = f->durable >= at;
	pthread_mutex_unlock(&f->lock);
	return durable ? 0 : -1;
}

bool
forget_is_sound(const struct forget *f)
{
	return atomic_load_explicit(&f->sound, memory_order_relaxed);
}

void
forget_stats(struct forget *f, struct forget_stats *out)
{
	*out = (struct forget_stats){
		.now = forget_now(f),
		.shed = atomic_load(&f->shed),
		.log_bytes = atomic_load(&f->log_bytes),
		.written_bytes = atomic_load(&f->written),
		.sound = atomic_load(&f->sound),
	};
	forget_table_count(f->table, &out->lasting, &out->passing);
}
