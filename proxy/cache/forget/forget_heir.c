/* forget_heir.c - the directory, and what is forgotten, go over to another process.
 *
 *	forget_rest      the logs are whole, and nobody writes them
 *	forget_waiting   what was forgotten since; the successor enters it before it serves
 *	forget_bequeath  what is forgotten here from now on, there
 *	forget_work      or: the successor is no more, and all is as it was
 */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <string.h>

bool
forget_rest(struct forget *f)
{
	struct timespec until = now_and_ms(FORGET_LIMIT_MS);
	int late = 0;
	pthread_mutex_lock(&f->lock);
	forget_hurry(f);
	pthread_cond_signal(&f->work);
	uint64_t lasting_at = f->lasting_at; /* nobody writes what is forgotten in memory alone */
	pthread_mutex_unlock(&f->lock);
	if (f->disks_n && forget_wait(f, lasting_at) != 0)
		return false;
	pthread_mutex_lock(&f->lock);
	forget_check(f);
	forget_hurry(f);
	f->resting = true;
	/* A log to be written anew (forget_work) is written though all rests: that first. */
	while ((f->writes || f->anew) && !late)
		late = pthread_cond_timedwait(&f->done, &f->lock, &until);
	bool sound = !f->writes && !f->anew && atomic_load(&f->sound);
	if (!sound) {
		f->resting = false;
		pthread_cond_signal(&f->work);
	}
	pthread_mutex_unlock(&f->lock);
	return sound;
}

/* Another process may have begun to write, with the start behind this one, and its records may be found
 * one day: what is forgotten from now on, or waits to be written, is later than all of them. */
static void
begin_behind_heir(struct forget *f)
{
	uint64_t at = (f->starts += 2) << FORGET_STARTS_SHIFT;
	for (size_t i = 0; i < f->queue.pending.n; i++) {
		struct purge_entry *e = &f->queue.pending.of[i];
		e->at = at + 1;
		at += e->kind != FORGET_PREFIX_HOST;
		forget_enter(f, e, e->flags & FORGET_SOFT ? 0 : e->host, true);
		f->lasting_at = e->at;
	}
	assert(at > forget_now(f) && f->starts < FORGET_STARTS_MOST);
	atomic_store_explicit(&f->newest, at, memory_order_release);
}

void
forget_work(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	assert(!f->heir);
	if (f->disks_n)
		begin_behind_heir(f);
	else
		f->queue.pending.n = 0; /* what is kept in memory alone is not written */
	f->resting = false;
	f->works_ms = now_ms();
	f->anew = f->disks_n > 0;
	forget_check(f);
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
}

size_t
forget_waiting(struct forget *f, struct purge_entry **out)
{
	pthread_mutex_lock(&f->lock);
	size_t n = f->queue.pending.n;
	*out = mem_zalloc((n + 1) * sizeof **out);
	if (n)
		memcpy(*out, f->queue.pending.of, n * sizeof **out);
	pthread_mutex_unlock(&f->lock);
	return n;
}

void
forget_bequeath(struct forget *f, forget_heir *heir, void *ctx)
{
	pthread_mutex_lock(&f->lock);
	/* The last of what this process writes is written, and it has one heir. */
	assert(f->resting && !f->writes && !f->anew && !f->heir);
	f->heir = heir;
	f->heir_ctx = ctx;
	f->resting = false;
	forget_check(f);
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
}
