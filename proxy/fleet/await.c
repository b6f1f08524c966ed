/* await.c - a lock, a condition, and a count of two. */
#include "proxy/fleet/await.h"

#include "proxy/base/clock.h"

#include <stdlib.h>

static void
leave(struct await *a)
{
	pthread_mutex_lock(&a->lock);
	unsigned left = --a->users;
	pthread_mutex_unlock(&a->lock);
	if (left)
		return;
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void
await_post(struct await *a, void (*open)(struct letter *l), struct mailbox *to)
{
	a->letter.open = open;
	a->users = 2;
	pthread_mutex_init(&a->lock, NULL);
	clock_condition_init(&a->change);
	mailbox_post(to, &a->letter);
}

void
await_for(struct await *a, unsigned limit_ms, void (*take)(struct await *a, void *ctx), void *ctx)
{
	struct timespec until = now_and_ms(limit_ms);
	pthread_mutex_lock(&a->lock);
	while (!a->done && pthread_cond_timedwait(&a->change, &a->lock, &until) == 0)
		continue;
	take(a, ctx);
	a->alone = true;
	pthread_mutex_unlock(&a->lock);
	leave(a);
}

bool
await_look(struct await *a, bool (*look)(struct await *a, void *ctx), void *ctx)
{
	pthread_mutex_lock(&a->lock);
	bool done = look(a, ctx);
	if (done) {
		a->done = true;
		pthread_cond_signal(&a->change);
	}
	pthread_mutex_unlock(&a->lock);
	if (done)
		leave(a);
	return done;
}
