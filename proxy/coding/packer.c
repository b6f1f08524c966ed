/* packer.c - a queue that nobody waits for, and the thread behind it. */
#include "proxy/coding/packer.h"

#include "proxy/coding/ration.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct packer {
	pthread_t thread;
	struct pack *pack; /* the thread's */
	sem_t filled;	   /* a job more, or the end */
	_Atomic uint64_t busy;
	_Atomic bool on; /* it has a share */
	pthread_mutex_t lock;
	/* Under the lock. */
	struct packer_job *first, **last;
	size_t jobs, bytes; /* that wait */
	struct ration ration;
	struct packer_counts counts;
	struct packer_job *dropped; /* by the stop */
	bool stopping;
};

static const struct pack_as as_of[STRENGTHS] = {
	[STRENGTH_BEST] = {CODING_BR, PACK_BR_LEVEL},
	[STRENGTH_QUICK] = {CODING_ZSTD, PACK_ZSTD_LEVEL},
};

/* ---- the thread ------------------------------------------------------------------------------ */

static int64_t
own_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* To most of what others want. Not to all, as SCHED_IDLE and nice 19 do: whoever ends this thread waits for it, and on a
 * busy machine that took seconds, which looked like a disk that hangs. Of Linux's threads each has a nice value of its
 * own (0: this one's). */
static void
give_way(void)
{
	setpriority(PRIO_PROCESS, 0, PACKER_NICE);
}

/* The next job; NULL: there is none any more. */
static struct packer_job *
next(struct packer *p)
{
	while (sem_wait(&p->filled) != 0)
		assert(errno == EINTR);
	pthread_mutex_lock(&p->lock);
	struct packer_job *job = p->first;
	if (job) {
		p->first = job->next;
		p->last = p->first ? p->last : &p->first;
		p->jobs--;
		p->bytes -= job->bytes;
	}
	assert(job || p->stopping);
	pthread_mutex_unlock(&p->lock);
	return job;
}

static void
settle(struct packer *p, const struct packer_job *job, size_t out, int64_t used_ns)
{
	enum strength s = (enum strength)job->strength;
	struct packer_counts *c = &p->counts;
	pthread_mutex_lock(&p->lock);
	ration_settle(&p->ration, s, job->bytes, job->paid_ns, used_ns);
	*(s == STRENGTH_BEST ? &c->best : &c->quick) += job->bytes > 0;
	c->packed += out > 0;
	c->bytes_in += out ? job->bytes : 0;
	c->bytes_out += out;
	c->cpu_us = (uint64_t)own_cpu_ns() / 1000;
	pthread_mutex_unlock(&p->lock);
}

static void *
work(void *arg)
{
	struct packer *p = arg;
	struct packer_job *job;
	pthread_setname_np(pthread_self(), "packer");
	give_way();
	int64_t settled_ns = own_cpu_ns();
	while ((job = next(p))) {
		size_t out = job->run(job->ctx, p->pack, as_of[job->strength]);
		/* All since the one before counts: queue, run, and the done of that. */
		int64_t now_ns = own_cpu_ns();
		settle(p, job, out, now_ns - settled_ns);
		settled_ns = now_ns;
		job->done(job->ctx, true);
	}
	while ((job = p->dropped)) { /* constant since the stop */
		p->dropped = job->next;
		job->done(job->ctx, false);
	}
	return NULL;
}

/* ---- its owner ------------------------------------------------------------------------------- */

static void
dispose(struct packer *p)
{
	pack_destroy(&p->pack);
	pthread_mutex_destroy(&p->lock);
	sem_destroy(&p->filled);
	free(p);
}

/* Signals are for other threads. */
static int
begin_thread(struct packer *p)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&p->thread, NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

struct packer *
packer_start(uint32_t share_ppm, int64_t now_us)
{
	struct packer *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->last = &p->first;
	p->pack = pack_create();
	pthread_mutex_init(&p->lock, NULL);
	sem_init(&p->filled, 0, 0);
	ration_init(&p->ration, share_ppm, now_us);
	atomic_init(&p->on, share_ppm > 0);
	if (p->pack && begin_thread(p) == 0)
		return p;
	dispose(p);
	return NULL;
}

void
packer_stop(struct packer **pp, bool drain)
{
	struct packer *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	if (!drain) {
		p->dropped = p->first;
		p->first = NULL;
		p->jobs = p->bytes = 0;
	}
	pthread_mutex_unlock(&p->lock);
	sem_post(&p->filled);
	pthread_join(p->thread, NULL);
	assert(!p->first && !p->dropped && p->jobs == 0 && p->bytes == 0);
	dispose(p);
}

/* ---- everybody ------------------------------------------------------------------------------- */

void
packer_change(struct packer *p, uint32_t share_ppm, int64_t now_us)
{
	pthread_mutex_lock(&p->lock);
	ration_change(&p->ration, share_ppm, now_us);
	pthread_mutex_unlock(&p->lock);
	atomic_store(&p->on, share_ppm > 0);
}

bool
packer_is_on(const struct packer *p)
{
	return p && atomic_load_explicit(&p->on, memory_order_relaxed);
}

/* Under the lock. */
static enum packer_answer
take(struct packer *p, struct packer_job *job, int64_t now_us)
{
	assert(!p->stopping);
	if (p->jobs >= PACKER_JOBS_MOST || job->bytes > PACKER_BYTES_MOST - p->bytes)
		return PACKER_FULL;
	job->strength = ration_take(&p->ration, job->bytes, now_us, &job->paid_ns);
	if (job->strength == STRENGTH_NONE)
		return PACKER_NO_BUDGET;
	job->next = NULL;
	*p->last = job;
	p->last = &job->next;
	p->jobs++;
	p->bytes += job->bytes;
	return PACKER_TAKEN;
}

enum packer_answer
packer_give(struct packer *p, struct packer_job *job, int64_t now_us)
{
	if (pthread_mutex_trylock(&p->lock) != 0) {
		atomic_fetch_add_explicit(&p->busy, 1, memory_order_relaxed);
		return PACKER_BUSY;
	}
	enum packer_answer a = take(p, job, now_us);
	p->counts.answers[a]++;
	pthread_mutex_unlock(&p->lock);
	if (a == PACKER_TAKEN)
		sem_post(&p->filled);
	return a;
}

struct packer_counts
packer_count(struct packer *p)
{
	pthread_mutex_lock(&p->lock);
	struct packer_counts c = p->counts;
	c.waiting = p->jobs;
	pthread_mutex_unlock(&p->lock);
	c.answers[PACKER_BUSY] = atomic_load_explicit(&p->busy, memory_order_relaxed);
	return c;
}
