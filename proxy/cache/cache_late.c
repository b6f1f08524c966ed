/* cache_late.c - a disk that hangs: who waits for a read for too long is told that there is nothing,
 * who waits for a purge, that it is not durable; and as long as it has not come back the directory is
 * not used.
 */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

#include <stdlib.h>

enum { READ_LIMIT_MS = 3000, LOOKS = 4 /* within the limit */ };

static unsigned
limit_ms(const struct cache *c)
{
	return c->o.read_limit_ms ? c->o.read_limit_ms : READ_LIMIT_MS;
}

static void
tell(const struct cache *c, const struct disk *d, bool hangs)
{
	if (hangs)
		log_warning(
			"cache %s: a read from the disk has taken more than %u ms. Serving goes "
			"on without the disk until it comes back; check the disk (dmesg, "
			"smartctl)",
			d->dir, limit_ms(c));
	else
		log_info("cache %s: the disk answers again", d->dir);
}

static void
look(struct cache *c)
{
	uint32_t hangs = reads_give_up(c->reads, now_ms() - limit_ms(c));
	forget_give_up(c->forget, now_ms() - FORGET_LIMIT_MS);
	uint32_t deleted = atomic_load(&c->lost.deleted);
	uint32_t changed = (atomic_exchange(&c->lost.hangs, hangs | deleted) ^ hangs) & ~deleted;
	for (unsigned i = 0; i < c->disks_n; i++)
		if (changed >> i & 1)
			tell(c, &c->disks[i], hangs >> i & 1);
}

static void *
run(void *arg)
{
	struct cache *c = arg;
	pthread_mutex_lock(&c->late.lock);
	while (!c->late.ends) {
		clock_condition_wait(&c->late.wake, &c->late.lock, limit_ms(c) / LOOKS + 1);
		look(c);
	}
	pthread_mutex_unlock(&c->late.lock);
	return NULL;
}

int
cache_late_start(struct cache *c)
{
	clock_condition_init(&c->late.wake);
	pthread_mutex_init(&c->late.lock, NULL);
	c->late.runs = pthread_create(&c->late.thread, NULL, run, c) == 0;
	return c->late.runs ? 0 : -1;
}

void
cache_late_stop(struct cache *c)
{
	if (!c->late.runs)
		return;
	c->late.runs = false;
	pthread_mutex_lock(&c->late.lock);
	c->late.ends = true;
	pthread_cond_signal(&c->late.wake);
	pthread_mutex_unlock(&c->late.lock);
	pthread_join(c->late.thread, NULL);
	pthread_cond_destroy(&c->late.wake);
	pthread_mutex_destroy(&c->late.lock);
}
