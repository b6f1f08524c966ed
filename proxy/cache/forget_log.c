/* forget_log.c - the thread that makes what was forgotten durable. */
#include "proxy/cache/forget_inside.h"

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

/* What was forgotten up to then is on all disks that are not left out. */
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

/* All that is in force, into a new file on one disk. */
static bool
rewrite(struct forget *f, struct forget_disk *d)
{
	struct purge_entry *list;
	struct purge_head head = {
		.id = random_id(),
		.starts = f->starts,
		.floor = atomic_load(&f->floor),
		.fingerprint = twice_seed_fingerprint(f->o.seed),
		.epoch = f->epoch,
		.disks = f->name,
	};
	size_t n = forget_table_list(f->table, true, &list);
	if (n)
		qsort(list, n, sizeof *list, forget_by_time);
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
	f->pending_n = 0; /* in the tables too */
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
		f->pending_n = 0;
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
	bool done = purge_log_append(&d->log, list, n) == 0;
	int error = errno;
	atomic_store(&d->since_ms, 0);
	errno = error;
	return done;
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
	bool done = true;
	for (unsigned i = 0; n && done && i < f->disks_n; i++)
		done = !atomic_load(&f->disks[i].sound) || append(&f->disks[i], list, n);
	if (!done)
		forget_write_anew(f);
	else if (n) /* else a disk that is back has them */
		settle(f, upto);
	free(list);
}

/* Under the lock: waits for something to do; false when all is over and nothing is left. */
static bool
await_work(struct forget *f)
{
	struct timespec until = now_and_ms(retry_ms(f));
	int late = 0;
	while (!f->stopping && !f->anew &&
	       (f->resting || (!f->crowded && !late &&
			       (f->pending_n == 0 || (!f->heir && !atomic_load(&f->sound)))))) {
		if (f->resting || f->heir || count_sound(f) == f->disks_n)
			pthread_cond_wait(&f->work, &f->lock);
		else
			late = pthread_cond_timedwait(&f->work, &f->lock, &until);
	}
	return !f->stopping || (f->pending_n && !f->resting);
}

/* What could not be handed over is first again. Under the lock. */
static void
take_back(struct forget *f, const struct purge_entry *list, size_t n)
{
	size_t all = f->pending_n + n;
	if (!n)
		return;
	struct purge_entry *both = mem_alloc(all * sizeof *both);
	memcpy(both, list, n * sizeof *both);
	if (f->pending_n)
		memcpy(both + n, f->pending, f->pending_n * sizeof *both);
	free(f->pending);
	f->pending = both;
	f->pending_n = f->pending_room = all;
}

/* Who took the directory over makes it durable. */
static void
hand_on(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	struct purge_entry *list = f->pending;
	size_t n = f->pending_n, done = 0;
	uint64_t upto = forget_now(f);
	bool durable = true;
	f->pending = NULL;
	f->pending_n = f->pending_room = 0;
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

/* What there is to do, in the logs of this process. */
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
		bool crowded = f->crowded, pending = f->pending_n, last = f->stopping;
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
