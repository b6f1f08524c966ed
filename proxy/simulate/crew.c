/* crew.c - a counter of tasks, and two conditions: there is work, it is done. */
#include "proxy/simulate/crew.h"

#include "proxy/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { THREADS_MOST = 64 };

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t begins, ends;
	unsigned round, busy; /* under lock; busy: threads that work on this round */
	bool stops;
	_Atomic unsigned next;
	unsigned tasks;
	crew_task_fn *task;
	void *ctx;
	pthread_t threads[THREADS_MOST];
	unsigned threads_n;
};

static void
work(struct crew *c)
{
	for (unsigned i; (i = atomic_fetch_add(&c->next, 1)) < c->tasks;)
		c->task(c->ctx, i);
}

static void *
run(void *arg)
{
	struct crew *c = arg;
	unsigned seen = 0;
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->round == seen && !c->stops)
			pthread_cond_wait(&c->begins, &c->lock);
		if (c->stops)
			break;
		seen = c->round;
		pthread_mutex_unlock(&c->lock);
		work(c);
		pthread_mutex_lock(&c->lock);
		if (--c->busy == 0)
			pthread_cond_signal(&c->ends);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct crew *
crew_create(unsigned threads)
{
	struct crew *c = NEW(struct crew);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->begins, NULL);
	pthread_cond_init(&c->ends, NULL);
	while (c->threads_n + 1 < threads && c->threads_n < THREADS_MOST &&
	       pthread_create(&c->threads[c->threads_n], NULL, run, c) == 0)
		c->threads_n++;
	return c;
}

void
crew_destroy(struct crew **pc)
{
	struct crew *c = *pc;
	*pc = NULL;
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stops = true;
	pthread_cond_broadcast(&c->begins);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->threads_n; i++)
		pthread_join(c->threads[i], NULL);
	pthread_cond_destroy(&c->begins);
	pthread_cond_destroy(&c->ends);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void
crew_run(struct crew *c, unsigned tasks, crew_task_fn *task, void *ctx)
{
	pthread_mutex_lock(&c->lock);
	c->task = task;
	c->ctx = ctx;
	c->tasks = tasks;
	atomic_store(&c->next, 0);
	c->busy = c->threads_n;
	c->round++;
	pthread_cond_broadcast(&c->begins);
	pthread_mutex_unlock(&c->lock);
	work(c);
	pthread_mutex_lock(&c->lock);
	while (c->busy)
		pthread_cond_wait(&c->ends, &c->lock);
	pthread_mutex_unlock(&c->lock);
}
