/* cache_watch.c - are the directories still there, and ours? Are those back that were left out?
 *
 * Whoever deletes the files of a running cache (rm -rf) deletes the lock as well: another process may have the
 * directory from then on. So no object is written to it any more, and nothing is read that only this process can
 * still see. If no other process was faster the lock is taken again, and purges go to a new log; as the seed is
 * gone too, the next start is empty.
 */
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/heritage.h"

#include "proxy/base/log.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { REST_MS = 3000 };

static void
leave(struct cache *c, unsigned disk)
{
	uint32_t bit = UINT32_C(1) << disk;
	struct disk *d = &c->disks[disk];
	atomic_fetch_or(&c->lost.deleted, bit);
	atomic_fetch_or(&c->lost.hangs, bit);
	log_error(
		"cache %s: its files were deleted while this process uses them. Serving goes on without the "
		"directory until a restart%s; to empty a cache, twice purge --all",
		d->dir,
		directory_lock_again(d)
			? ""
			: ", and purges are not durable, for another process has it or it is gone");
	store_set_duty(d->store, STORE_RESTS, REST_MS);
	store_give_back(d->store);
}

/* The place may be another directory's: one was moved, or a file system mounted or unmounted there. */
static void
look_at_place(struct disk *d)
{
	struct stat is, was;
	bool moved = fstat(d->dir_fd, &was) == 0 &&
		     (stat(d->dir, &is) != 0 || is.st_ino != was.st_ino || is.st_dev != was.st_dev);
	if (moved && !d->moved)
		log_warning(
			"cache %s: it is another directory than at the start: it was moved, or a file system was "
			"mounted or unmounted there. This process goes on in the directory that it has; a "
			"restart takes the one that is there then",
			d->dir);
	d->moved = moved;
}

/* ---- left out ------------------------------------------------------------------------------- */

bool
cache_is_as_it_was(const struct cache *c)
{
	return c->disks_n == 0 && forget_now(c->forget) == c->lost.begun_at;
}

unsigned
cache_waits(const struct cache *c)
{
	return cache_is_as_it_was(c) ? atomic_load(&c->lost.waiting) : 0;
}

static void
welcome(struct cache *c, struct away *a, struct disk *d)
{
	if (cache_is_as_it_was(c) && directory_has_seed(d)) {
		log_info(
			"cache %s: the directory can be used again, and nothing was purged meanwhile",
			a->dir);
		a->waits = true;
		return;
	}
	if (!cache_join(c, d))
		return;
	*d = (struct disk){.dir_fd = -1, .lock_fd = -1};
	free(a->dir);
	a->dir = NULL;
}

/* One visit at a time: the thread of one that hangs waits for the disk, and so does all that comes after it. */
static void
look_again(struct cache *c, struct away *a)
{
	if (!a->dir || (a->visit && !directory_visit_is_over(a->visit)) ||
	    (a->waits && cache_is_as_it_was(c)))
		return;
	a->waits = false;
	if (a->visit && a->visit->result == 0)
		welcome(c, a, &a->visit->d);
	directory_visit_end(&a->visit);
	if (a->dir && !a->waits)
		a->visit = directory_visit_begin(c, &(struct cache_disk){a->dir, a->bytes}, true);
}

void
cache_watch(struct cache *c)
{
	unsigned waiting = 0;
	for (unsigned i = 0; i < c->lost.away_n && !cache_rests(c); i++) {
		look_again(c, &c->lost.away[i]);
		waiting += c->lost.away[i].waits;
	}
	if (!cache_rests(c))
		atomic_store(&c->lost.waiting, waiting);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (atomic_load(&c->lost.deleted) >> i & 1)
			continue;
		else if (cache_has_lock(c, i))
			look_at_place(&c->disks[i]);
		else
			leave(c, i);
}
