/* forget_log.c - the thread that makes what was forgotten durable. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { RETRY_MS = 250 };
static const uint64_t FIRST_LOG_BYTES = 64 << 10;

void
forget_pend(struct purge_list *l, const struct purge_entry *e)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 16;
		l->of = mem_realloc(l->of, l->room * sizeof *l->of);
	}
	l->of[l->n++] = *e;
}

void
forget_hurry(struct forget *f)
{
	for (size_t i = 0; i < f->queue.gathered.n; i++)
		forget_pend(&f->queue.pending, &f->queue.gathered.of[i]);
	if (f->queue.gathered.n)
		f->lasting_at = forget_now(f);
	f->queue.gathered.n = 0;
}

static unsigned
retry_ms(const struct forget *f)
{
	return f->o.retry_ms ? f->o.retry_ms : RETRY_MS;
}

static uint64_t
random_id(void)
{
	uint64_t id;
	while (getrandom(&id, sizeof id, 0) != sizeof id)
		continue;
	return id;
}

/* Under the lock: those that waited for what was tried by now go home. */
static void
post_letters(struct forget *f)
{
	struct forget_letter **p = &f->letters;
	while (*p) {
		struct forget_letter *l = *p;
		if (l->at > f->tried) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		l->durable = l->at <= f->durable;
		mailbox_post(l->home, &l->letter);
	}
}

/* The log of one disk is written, or is not. */
static void
set_sound(struct forget_disk *d, bool yes)
{
	int error = errno;
	if (atomic_exchange(&d->sound, yes) == yes)
		return;
	if (yes)
		log_info("cache %s: its purge log is written again; serving from it goes on",
			 d->place.dir);
	else
		log_warning("cache %s: its purge log cannot be written (%s). Purges hold as long "
			    "as this process runs; nothing is served from the directory until they "
			    "are durable",
			    d->place.dir, strerror(error));
}

/* All disks that are not left out have the entries up to then. */
static void
settle(struct forget *f, uint64_t upto)
{
	bool done = false;
	uint64_t written = 0;
	for (unsigned i = 0; i < f->disks_n; i++) {
		done |= atomic_load(&f->disks[i].sound);
		written += f->disks[i].log.written;
	}
	atomic_store(&f->sound, done); /* before anybody is told */
	atomic_store(&f->written, written);
	pthread_mutex_lock(&f->lock);
	if (f->late_at <= upto && atomic_exchange(&f->late, false) && done)
		log_info("cache %s: its purge log is written again; serving from it goes on",
			 f->o.dir);
	f->tried = upto;
	if (done)
		f->durable = upto;
	post_letters(f);
	forget_check(f);
	pthread_cond_broadcast(&f->done);
	pthread_mutex_unlock(&f->lock);
}

/* All that is in force, in order. Of what nobody ordered the newest, if it is too much for the log: then what
 * was stored before them is stale. */
static size_t
list_all(struct forget *f, struct purge_entry **out)
{
	struct purge_entry *list, *unordered;
	size_t n = forget_table_list(f->table, FORGET_CLASS_ORDERED, &list);
	size_t more = forget_table_list(f->table, FORGET_CLASS_UNORDERED, &unordered), from = 0;
	size_t room = (size_t)forget_unordered_room(f);
	if (more > room) {
		qsort(unordered, more, sizeof *unordered, forget_by_time);
		from = more - room / 2 - 1;
		unordered[from] = forget_all_softly(unordered[from].at, (uint32_t)now_s());
	}
	list = mem_realloc(list, (n + more - from + 1) * sizeof *list);
	if (more)
		memcpy(list + n, unordered + from, (more - from) * sizeof *list);
	free(unordered);
	n += more - from;
	qsort(list, n, sizeof *list, forget_by_time);
	*out = list;
	return n;
}

static bool
has_lock(const struct forget *f, const struct forget_disk *d)
{
	bool yes = !f->o.has_lock || f->o.has_lock(f->o.ctx, (unsigned)(d - f->disks));
	if (!yes)
		errno = ESTALE;
	return yes;
}

/* All that is in force, into a new file on one disk. */
static bool
rewrite(struct forget *f, struct forget_disk *d)
{
	struct purge_entry *list;
	if (!has_lock(f, d))
		return false;
	struct purge_head head = {
		.id = random_id(),
		.starts = f->starts,
		.floor = atomic_load(&f->floor),
		.fingerprint = twice_seed_fingerprint(f->o.seed),
		.epoch = f->epoch,
		.disks = f->name,
	};
	size_t n = list_all(f, &list);
	uint64_t bytes = purge_log_bytes(2 * n);
	bytes = bytes < FIRST_LOG_BYTES ? FIRST_LOG_BYTES : bytes;
	if (bytes > f->o.log_bytes)
		bytes = f->o.log_bytes;
	if (bytes < purge_log_bytes(n)) /* more came in than may be: all the same to the disk */
		bytes = purge_log_bytes(n);
	atomic_store(&d->since_ms, now_ms());
	bool done = purge_log_rewrite(&d->log, &head, bytes, list, n) == 0;
	int error = errno;
	atomic_store(&d->since_ms, 0);
	free(list);
	atomic_store(&d->log_bytes, done ? bytes : 0);
	errno = error;
	if (!done)
		purge_log_remove(&d->log);
	return done;
}

/* On all disks that are not left out: how many of those failed. */
static unsigned
rewrite_all(struct forget *f)
{
	unsigned failed = 0;
	for (unsigned i = 0; i < f->disks_n; i++) {
		struct forget_disk *d = &f->disks[i];
		if (!atomic_load(&d->sound) || rewrite(f, d))
			continue;
		set_sound(d, false);
		failed++;
	}
	return failed;
}

static unsigned
count_sound(const struct forget *f)
{
	unsigned n = 0;
	for (unsigned i = 0; i < f->disks_n; i++)
		n += atomic_load(&f->disks[i].sound);
	return n;
}

void
forget_write_anew(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	uint64_t upto = forget_now(f);
	f->queue.pending.n = f->queue.gathered.n = 0; /* in the tables too */
	f->queue.beyond = false;
	pthread_mutex_unlock(&f->lock);
	/* Of a disk that is left out the others' logs know: it may be unable to forget what its own
	 * log says. */
	while (rewrite_all(f) && count_sound(f))
		f->epoch++;
	settle(f, upto);
}

/* Disks that were left out are tried again: they get all there is. */
static void
retry(struct forget *f, bool last)
{
	int64_t now = now_ms();
	if (now < f->retry_ms && !last)
		return;
	f->retry_ms = now + retry_ms(f);
	pthread_mutex_lock(&f->lock);
	uint64_t upto = forget_now(f);
	bool none = count_sound(f) == 0;
	if (none)
		f->queue.pending.n = f->queue.gathered.n = 0;
	pthread_mutex_unlock(&f->lock);
	for (unsigned i = 0; i < f->disks_n; i++) {
		struct forget_disk *d = &f->disks[i];
		if (!atomic_load(&d->sound) && rewrite(f, d))
			set_sound(d, true);
	}
	if (none)
		settle(f, upto);
}

static bool
append(struct forget_disk *d, const struct purge_entry *list, size_t n)
{
	atomic_store(&d->since_ms, now_ms());
	bool done = purge_log_append(&d->log, list, n) == 0 && purge_log_is_there(&d->log);
	int error = errno;
	atomic_store(&d->since_ms, 0);
	errno = error;
	return done;
}

static bool
is_due(const struct forget *f)
{
	return f->queue.gathered.n && now_ms() >= f->queue.gathered_ms;
}

/* Under the lock: the pending ones; behind them the first of what was gathered, if it is time. */
static struct purge_list
take(struct forget *f)
{
	struct purge_list l = f->queue.pending, *g = &f->queue.gathered;
	f->queue.pending = (struct purge_list){NULL, 0, 0};
	if (!is_due(f) && !f->stopping)
		return l;
	size_t n = g->n > FORGET_GATHER_MOST && !f->stopping ? FORGET_GATHER_MOST : g->n;
	for (size_t i = 0; i < n; i++)
		forget_pend(&l, &g->of[i]);
	if (n)
		memmove(g->of, g->of + n, (g->n -= n) * sizeof *g->of);
	f->queue.gathered_ms = now_ms() + FORGET_GATHER_MS;
	return l;
}

static void
write_pending(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	uint64_t upto = forget_now(f);
	if (f->queue.beyond && (is_due(f) || f->stopping)) {
		pthread_mutex_unlock(&f->lock);
		forget_write_anew(f);
		return;
	}
	struct purge_list taken = take(f);
	struct purge_entry *list = taken.of;
	size_t n = taken.n;
	pthread_mutex_unlock(&f->lock);
	bool done = true;
	for (unsigned i = 0; n && done && i < f->disks_n; i++)
		done = !atomic_load(&f->disks[i].sound) || append(&f->disks[i], list, n);
	if (!done)
		forget_write_anew(f);
	else if (n) /* else a disk that is back has them */
		settle(f, upto);
	free(list);
}

static bool
has_work(const struct forget *f)
{
	if (f->stopping || f->anew || f->resting)
		return !f->resting || f->stopping || f->anew;
	bool writes = f->heir || atomic_load(&f->sound);
	return f->crowded || (writes && (f->queue.pending.n || is_due(f)));
}

/* Under the lock: waits for something to do, until a disk is to be tried again; false when all is over and
 * nothing is left. */
static bool
await_work(struct forget *f)
{
	int64_t retry = now_ms() + retry_ms(f), now;
	while (!has_work(f)) {
		bool retries = !f->resting && !f->heir && count_sound(f) < f->disks_n;
		bool gathers = !f->resting && f->queue.gathered.n && atomic_load(&f->sound);
		int64_t until = retries ? retry : INT64_MAX;
		if (gathers && f->queue.gathered_ms < until)
			until = f->queue.gathered_ms;
		if (until == INT64_MAX) {
			pthread_cond_wait(&f->work, &f->lock);
			continue;
		}
		if ((now = now_ms()) < until) {
			struct timespec t = now_and_ms((unsigned)(until - now));
			pthread_cond_timedwait(&f->work, &f->lock, &t);
		}
		if (retries && now_ms() >= retry)
			break;
	}
	return !f->stopping || ((f->queue.pending.n || f->queue.gathered.n) && !f->resting);
}

/* Entries not handed over are first again. Under the lock. */
static void
take_back(struct forget *f, const struct purge_entry *list, size_t n)
{
	struct purge_list behind = f->queue.pending;
	if (!n)
		return;
	f->queue.pending = (struct purge_list){NULL, 0, 0};
	for (size_t i = 0; i < n; i++)
		forget_pend(&f->queue.pending, &list[i]);
	for (size_t i = 0; i < behind.n; i++)
		forget_pend(&f->queue.pending, &behind.of[i]);
	free(behind.of);
}

/* The process that took over the directory makes entries durable. */
static void
hand_on(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	struct purge_entry *list = f->queue.pending.of;
	size_t n = f->queue.pending.n, done = 0;
	uint64_t upto = forget_now(f);
	bool durable = true;
	f->queue.pending = (struct purge_list){NULL, 0, 0};
	pthread_mutex_unlock(&f->lock);
	if (n)
		done = f->heir(f->heir_ctx, list, n, &durable);
	assert(done <= n && (done == n || !durable));
	pthread_mutex_lock(&f->lock);
	take_back(f, list + done, n - done);
	free(list);
	f->tried = upto;
	if (durable)
		f->durable = upto;
	if (f->late_at <= upto)
		atomic_store(&f->late, false);
	post_letters(f);
	forget_check(f);
	pthread_cond_broadcast(&f->done);
	pthread_mutex_unlock(&f->lock);
}

/* This process does what its own logs need. */
static void
work(struct forget *f, bool crowded, bool pending, bool last)
{
	if (crowded)
		forget_shed(f);
	if (count_sound(f) < f->disks_n)
		retry(f, last);
	if (pending && count_sound(f))
		write_pending(f);
}

void *
forget_run(void *arg)
{
	struct forget *f = arg;
	pthread_mutex_lock(&f->lock);
	while (await_work(f)) {
		bool crowded = f->crowded, last = f->stopping;
		bool pending = f->queue.pending.n || is_due(f) || (last && f->queue.gathered.n);
		bool anew = f->anew, hands_on = f->heir != NULL;
		f->crowded = f->anew = false;
		f->writes = true;
		pthread_mutex_unlock(&f->lock);
		if (anew)
			forget_write_anew(f);
		if (hands_on)
			hand_on(f);
		else
			work(f, crowded, pending && !anew, last);
		pthread_mutex_lock(&f->lock);
		f->writes = false;
		pthread_cond_broadcast(&f->done);
		if (last)
			break;
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}
