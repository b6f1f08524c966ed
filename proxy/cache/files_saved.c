/* files_saved.c - the small files kept beside the log of segments, which others fill. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/buf.h"
#include "proxy/cache/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAVE_CHUNK = 256 << 10 };

struct saving {
	struct cache *c;
	int fd;
	uint64_t bytes; /* given so far */
	uint64_t most;	/* what the other files leave of the room for all */
	struct buf chunk;
};

static int
flush_chunk(struct saving *s)
{
	if (s->chunk.n == 0)
		return 0;
	uint64_t at = s->bytes - s->chunk.n;
	int r = diskio_write_all(&diskio_system, s->fd, s->chunk.p, s->chunk.n, at);
	atomic_fetch_add(&s->c->files_written, round_up(s->chunk.n, SEGMENT_PAGE));
	s->chunk.n = 0;
	return r;
}

/* Whole chunks go out: each page is written once. */
static int
save_more(void *to, const void *p, size_t n)
{
	struct saving *s = to;
	const char *from = p;
	if (s->bytes + n > s->most) {
		errno = ENOSPC;
		return -1;
	}
	while (n) {
		size_t part = SAVE_CHUNK - s->chunk.n;
		part = part < n ? part : n;
		buf_add(&s->chunk, from, part);
		s->bytes += part;
		from += part;
		n -= part;
		if (s->chunk.n == SAVE_CHUNK && flush_chunk(s) != 0)
			return -1;
	}
	return 0;
}

void
files_earned_name(unsigned disk, char to[CACHE_EARNED_NAME])
{
	snprintf(to, CACHE_EARNED_NAME, disk ? CACHE_EARNED ".%u" : CACHE_EARNED, disk);
}

/* The saved files but this one take so much. */
static uint64_t
others_bytes(const struct cache *c, const char *name)
{
	static const char *const names[] = {"filter",	"filter.old",	"sightings",
					    "baseline", "baseline.log", "whatif",
					    "history",	CACHE_EARNED};
	uint64_t sum = 0;
	struct stat st;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i], name) != 0 && fstatat(c->dir_fd, names[i], &st, 0) == 0)
			sum += (uint64_t)st.st_size;
	for (unsigned i = 1; i < c->disks_n; i++) {
		char earned[CACHE_EARNED_NAME];
		files_earned_name(i, earned);
		if (strcmp(earned, name) != 0 && fstatat(c->dir_fd, earned, &st, 0) == 0)
			sum += (uint64_t)st.st_size;
	}
	return sum;
}

/* False: errno. */
static bool
may_write(const struct cache *c)
{
	if (!c->dir)
		errno = ENOTDIR;
	else if (atomic_load(&c->bequeathed))
		errno = EBUSY;
	else if (!cache_has_lock(c, 0))
		errno = ESTALE;
	else
		return true;
	return false;
}

/* The room that all saved files may take together, without this one. */
static uint64_t
room_beside(const struct cache *c, uint64_t others)
{
	uint64_t half = c->reserve_bytes / 2;
	return others < half ? half - others : 0;
}

int
cache_save_file(struct cache *c, const char *name,
		int (*fill)(int (*write)(void *, const void *, size_t), void *to, void *ctx),
		void *ctx)
{
	if (!may_write(c))
		return -1;
	char temporary[256];
	snprintf(temporary, sizeof temporary, "%s.new", name);
	pthread_mutex_lock(&c->files_lock);
	uint64_t others = others_bytes(c, name);
	struct saving s = {
		.c = c,
		.most = room_beside(c, others),
		.fd = openat(c->dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
	int r = s.fd < 0 ? -1 : fill(save_more, &s, ctx);
	if (r == 0)
		r = flush_chunk(&s);
	if (r == 0)
		r = fsync(s.fd);
	int error = errno;
	if (s.fd >= 0 && close(s.fd) != 0 && r == 0)
		r = -1;
	if (r == 0 && (r = renameat(c->dir_fd, temporary, c->dir_fd, name)) != 0)
		error = errno;
	if (r == 0)
		atomic_store(&c->files_bytes, s.bytes + others);
	else
		unlinkat(c->dir_fd, temporary, 0);
	buf_fini(&s.chunk);
	pthread_mutex_unlock(&c->files_lock);
	errno = error;
	return r == 0 ? 0 : -1;
}

/* Whole pages are written, the first of them perhaps again. */
static int
append(struct cache *c, int fd, uint64_t at, struct str bytes)
{
	struct stat is;
	if (fstat(fd, &is) != 0)
		return -1;
	if ((uint64_t)is.st_size < at) {
		errno = ENOENT;
		return -1;
	}
	if ((uint64_t)is.st_size > at && ftruncate(fd, (off_t)at) != 0)
		return -1;
	uint64_t from = at / SEGMENT_PAGE * SEGMENT_PAGE;
	atomic_fetch_add(&c->files_written, round_up(at + bytes.n, SEGMENT_PAGE) - from);
	if (diskio_write_all(&diskio_system, fd, bytes.p, bytes.n, at) != 0)
		return -1;
	return fdatasync(fd);
}

int
cache_append_file(struct cache *c, const char *name, uint64_t at, struct str bytes)
{
	if (!may_write(c))
		return -1;
	uint64_t others = others_bytes(c, name);
	if (at + bytes.n > room_beside(c, others)) {
		errno = ENOSPC;
		return -1;
	}
	int fd = openat(c->dir_fd, name, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : append(c, fd, at, bytes), error = errno;
	if (fd >= 0)
		close(fd);
	if (r == 0)
		atomic_store(&c->files_bytes, others + at + bytes.n);
	errno = error;
	return r;
}

void
cache_remove_file(struct cache *c, const char *name)
{
	if (may_write(c))
		unlinkat(c->dir_fd, name, 0);
}

void
cache_post(struct cache *c, struct diskio_job *j)
{
	store_post(c->disks[0].store, j);
}

int
cache_open_file(struct cache *c, const char *name)
{
	if (!c->dir) {
		errno = ENOENT;
		return -1;
	}
	return openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC);
}

bool
cache_read_file(struct cache *c, const char *name, uint64_t most, struct buf *to, const char **why)
{
	enum { PART = 16384 };
	ssize_t n = 0;
	int fd = cache_open_file(c, name);
	*why = fd < 0 && errno != ENOENT ? strerror(errno) : NULL;
	if (fd < 0)
		return *why;
	while (to->n <= most && (n = read(fd, buf_room(to, PART), PART)) > 0)
		buf_added(to, (size_t)n);
	if (n < 0)
		*why = strerror(errno);
	close(fd);
	return true;
}
