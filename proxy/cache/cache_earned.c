/* cache_earned.c - what the segments have earned, over a restart: a file beside the log. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"
#include "proxy/cache/cache_files.h"

#include <errno.h>
#include <unistd.h>

/* More than any directory's: rows of 16 bytes, and head and sum. */
enum { MOST_BYTES = (1 << 16) * 16 + 64 };

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct buf *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

static uint64_t
tag_of(const struct cache *c, unsigned disk)
{
	return twice_seed_fingerprint(&c->seed) ^ (disk ? c->disks[disk].name : 0);
}

static void
save(struct cache *c, unsigned disk)
{
	struct buf bytes = {0};
	char name[CACHE_EARNED_NAME];
	files_earned_name(disk, name);
	store_save_earnings(c->disks[disk].store, tag_of(c, disk), &bytes);
	if (cache_save_file(c, name, fill, &bytes) != 0)
		log_warning("cache %s: the earnings of its segments cannot be saved: %s. After a "
			    "restart the oldest segments are removed first",
			    c->disks[disk].dir, strerror(errno));
	buf_fini(&bytes);
}

void
cache_save_earnings(struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		if (!c->disks[i].store) /* opening failed: nothing was loaded */
			return;
	for (unsigned i = 0; i < c->disks_n; i++)
		save(c, i);
}

static void
load(struct cache *c, unsigned disk)
{
	struct buf bytes = {0};
	const char *why;
	char name[CACHE_EARNED_NAME];
	files_earned_name(disk, name);
	if (c->disks[disk].must_empty || !cache_read_file(c, name, MOST_BYTES, &bytes, &why))
		return;
	if (!why)
		why = store_load_earnings(c->disks[disk].store, tag_of(c, disk), buf_str(&bytes));
	if (why)
		log_warning("cache %s: the file with the earnings of its segments is ignored (%s): "
			    "the oldest segments are removed first",
			    c->disks[disk].dir, why);
	buf_fini(&bytes);
}

void
cache_load_earnings(struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		load(c, i);
}
