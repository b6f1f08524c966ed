/* cache_earned.c - what the segments have earned, over a restart: a file beside the log. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"

#include <errno.h>
#include <unistd.h>

/* More than any directory's: rows of 16 bytes, and head and sum. */
enum { MOST_BYTES = (1 << 16) * 16 + 64, PART = 16384 };

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct buf *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

void
cache_save_earnings(struct cache *c)
{
	struct buf bytes = {0};
	if (!c->store)
		return;
	store_save_earnings(c->store, filter_seed_fingerprint(&c->seed), &bytes);
	if (cache_save_file(c, CACHE_EARNED, fill, &bytes) != 0)
		log_warning("cache %s: what its segments have earned cannot be saved: %s. After a "
			    "restart the oldest go first",
			    c->dir, strerror(errno));
	buf_fini(&bytes);
}

void
cache_load_earnings(struct cache *c)
{
	struct buf bytes = {0};
	ssize_t n = 0;
	int fd = c->must_empty ? -1 : cache_open_file(c, CACHE_EARNED);
	if (fd < 0)
		return;
	while (bytes.n <= MOST_BYTES && (n = read(fd, buf_room(&bytes, PART), PART)) > 0)
		buf_added(&bytes, (size_t)n);
	close(fd);
	uint64_t tag = filter_seed_fingerprint(&c->seed);
	const char *why =
		n < 0 ? strerror(errno) : store_load_earnings(c->store, tag, buf_str(&bytes));
	if (why)
		log_warning("cache %s: the file of what its segments have earned is ignored (%s): "
			    "the oldest go first",
			    c->dir, why);
	buf_fini(&bytes);
}
