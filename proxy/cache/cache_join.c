/* cache_join.c - a directory that was left out at the start is taken back while the cache is used: empty.
 *
 * Nobody knows what was forgotten while it was away: what was not stored on the other disks was not even kept
 * (passing, forget.h). So its log of segments begins anew, and its purge log is written before anything is.
 */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"

#include <assert.h>

bool
cache_join(struct cache *c, struct disk *from)
{
	char err[DIRECTORY_TEXT];
	unsigned n = c->disks_n;
	struct disk *d = &c->disks[n];
	assert(n < CACHE_DISKS_MOST && !c->o.rests);
	*d = *from;
	if (files_join(c, d) != 0)
		return false;
	if (cache_open_store(c, d, err, sizeof err) != 0) {
		log_warning("%s", err);
		return false;
	}
	files_joined(c);			/* nobody sees the disk before all of it is there */
	atomic_fetch_sub(&c->lost.left_out, 1); /* before: whoever sees it finds none left out */
	forget_join(c->forget, &(struct forget_place){d->dir_fd, d->dir});
	atomic_store(&c->disks_n, n + 1);
	log_info(
		"cache %s: the directory answers again and is taken back, empty: nobody can say what was "
		"purged of it meanwhile",
		d->dir);
	return true;
}
