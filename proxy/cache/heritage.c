/* heritage.c - a cache rests, works again, or has an heir. */
#include "proxy/cache/heritage.h"

#include "proxy/cache/cache_inside.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

bool
cache_rests(const struct cache *c)
{
	return atomic_load_explicit(&c->rests, memory_order_relaxed);
}

void
cache_answers(const struct cache *c)
{
	char pid[32];
	int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
	for (unsigned i = 0; i < c->disks_n; i++)
		if (pwrite(c->disks[i].lock_fd, pid, (size_t)n, 0) == n)
			(void)fdatasync(c->disks[i].lock_fd);
}

bool
cache_rest(struct cache *c, int64_t limit_ms)
{
	assert(!atomic_load(&c->bequeathed));
	ram_tell_unwritten(c->ram);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (!store_set_duty(c->disks[i].store, STORE_RESTS, limit_ms))
			return false;
	/* The last of the stores' jobs may have forgotten something. */
	if (!forget_rest(c->forget))
		return false;
	atomic_store(&c->rests, true);
	return true;
}

void
cache_work(struct cache *c)
{
	assert(!atomic_load(&c->bequeathed));
	if (atomic_load(&c->rests) && !c->o.rests)
		forget_work(c->forget);
	c->o.rests = false;
	for (unsigned i = 0; i < c->disks_n; i++)
		store_set_duty(c->disks[i].store, STORE_KEEPS, 0);
	atomic_store(&c->rests, false);
}

void
cache_release(struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		store_release(c->disks[i].store);
}

unsigned
cache_locks(const struct cache *c, int out[CACHE_DISKS_MOST])
{
	for (unsigned i = 0; i < c->disks_n; i++)
		out[i] = c->disks[i].lock_fd;
	return c->disks_n;
}

size_t
cache_waiting(struct cache *c, struct purge_entry **out)
{
	assert(cache_rests(c)); /* else what comes after it is known to nobody */
	return forget_waiting(c->forget, out);
}

void
cache_bequeath(struct cache *c, forget_heir *heir, void *ctx)
{
	assert(cache_rests(c) && !atomic_load(&c->bequeathed));
	atomic_store(&c->bequeathed, true);
	forget_bequeath(c->forget, heir, ctx);
	ram_empty(c->ram);
}

bool
cache_inherit(struct cache *c, const struct purge_entry *list, size_t n)
{
	return !n || forget_wait(c->forget, forget_inherit(c->forget, list, n)) == 0;
}
