/* chronicle.c - a file in, a file out. */
#include "proxy/node/chronicle.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char FILE_NAME[] = "history";

static void
restore(struct history *h, struct cache *c, int fd)
{
	struct buf bytes = {0};
	char part[16384];
	ssize_t n = 0;
	while (bytes.n <= HISTORY_SNAPSHOT_MOST && (n = read(fd, part, sizeof part)) > 0)
		buf_add(&bytes, part, (size_t)n);
	uint64_t tag = filter_seed_fingerprint(cache_seed(c));
	const char *why = n < 0 ? strerror(errno) : history_load(h, tag, buf_str(&bytes));
	if (why)
		log_warning("the history of this node is ignored (%s): its lines and its totals "
			    "begin anew",
			    why);
	buf_fini(&bytes);
}

struct history *
chronicle_open(struct cache *c)
{
	struct history *h = history_create(now_s());
	int fd = cache_open_file(c, FILE_NAME);
	if (fd < 0)
		return h;
	restore(h, c, fd);
	close(fd);
	return h;
}

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct buf *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

void
chronicle_save(struct history *h, struct cache *c)
{
	struct buf bytes = {0};
	if (history_save(h, filter_seed_fingerprint(cache_seed(c)), &bytes) &&
	    cache_save_file(c, FILE_NAME, fill, &bytes) && errno != ENOTDIR) /* RAM alone */
		log_warning("cannot save the history of this node: %s; after a restart its lines "
			    "and totals end where they were saved last",
			    strerror(errno));
	buf_fini(&bytes);
}
