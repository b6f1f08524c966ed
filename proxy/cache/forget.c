/* forget.c - the clock and the tables: asking and forgetting. forget_bound.c says what must hold and
 * keeps them small, forget_log.c makes them durable. */
#include "proxy/cache/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/http/cachekey.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 5000 };

static const uint64_t READ_MOST = 256 << 20, MEMORY_ENTRIES = 1 << 18;
/* A key alone has the same text as its URL, so its hash is turned into another one. */
static const uint64_t KEY_ALONE = 0x6b65792d616c6f6e;

/* ---- asking -------------------------------------------------------------------------------- */

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

/* Of the upper half alone, for the tables of segments know no more of it. */
static struct key_hash
alone(struct key_hash hash)
{
	static const uint64_t spread = 0x9e3779b97f4a7c15;
	return (struct key_hash){(hash.hi ^ KEY_ALONE) * spread, hash.hi};
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

/* Into the tables. */
static void
enter(struct forget *f, const struct purge_entry *e, bool lasting)
{
	if (e->kind == FORGET_ALL) {
		forget_raise_floor(f, e->at);
		return;
	}
	if (e->kind == FORGET_HOST)
		atomic_fetch_add_explicit(&f->hosts, 1, memory_order_relaxed);
	forget_table_put(f->table, e, lasting);
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
	forget_mind_the_bound(f, e.at);
	if (f->pending_n || f->crowded)
		pthread_cond_signal(&f->work);
	forget_check(f);
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

/* ---- life ---------------------------------------------------------------------------------- */

static void
on_kept(void *ctx, const struct purge_entry *e)
{
	struct purge_entry now = *e;
	if (e->kind == FORGET_KEY) /* logs of older versions have the lower half too */
		now.hash = alone(e->hash);
	enter(ctx, &now, true);
}

static bool
is_sane(const struct forget *f, const struct purge_head *head)
{
	return head->fingerprint == filter_seed_fingerprint(f->o.seed) && head->starts > 0 &&
	       head->starts + 1 < FORGET_STARTS_MOST &&
	       atomic_load(&f->floor) >> FORGET_STARTS_SHIFT <= head->starts;
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
	forget_raise_floor(f, head.floor);
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
	f->durable = f->tried = f->starts << FORGET_STARTS_SHIFT;
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
		forget_drop_outlived(f);
		if (forget_is_crowded(f, 3))
			forget_shed(f);
		atomic_store(&f->sound, true); /* so that a failure is told */
		forget_write_anew(f);
	}
	if (pthread_create(&f->thread, NULL, forget_run, f) != 0) {
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

uint64_t
forget_most(const struct forget *f)
{
	return f->max_entries;
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
