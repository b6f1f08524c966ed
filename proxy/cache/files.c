/* files.c - the cache directory: made, locked, its seed,
 * and the small files kept beside the log. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/buf.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/doubled.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED_RANDOM = 256, SAVE_CHUNK = 256 << 10 };

/* ---- the directory ------------------------------------------------------------------------- */

static int
make_directories(const char *dir)
{
	char *path = mem_strdup(dir);
	int r = 0;
	for (char *p = path + 1; r == 0; p++) {
		if (*p != '/' && *p != 0)
			continue;
		char was = *p;
		*p = 0;
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			r = -1;
		*p = was;
		if (!was)
			break;
	}
	free(path);
	return r;
}

/* -2: somebody else has it. */
static int
open_directory(struct disk *d, char *err, size_t err_bytes)
{
	struct stat s;
	if (stat(d->dir, &s) != 0 && make_directories(d->dir) != 0) {
		snprintf(err, err_bytes, "cannot make cache directory %s: %s", d->dir,
			 strerror(errno));
		return -1;
	}
	d->dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir_fd >= 0 && faccessat(d->dir_fd, ".", R_OK | W_OK | X_OK, 0) == 0)
		return 0;
	snprintf(err, err_bytes, "cannot use cache directory %s: %s", d->dir, strerror(errno));
	return -1;
}

/* A lock that another process has sent for this file: it is that one's until both have closed it. */
static int
sent_lock(const struct cache *c, int fd)
{
	struct stat is, sent;
	for (unsigned i = 0; i < c->o.locks_n && fstat(fd, &is) == 0; i++)
		if (fstat(c->o.locks[i], &sent) == 0 && sent.st_dev == is.st_dev &&
		    sent.st_ino == is.st_ino)
			return fcntl(c->o.locks[i], F_DUPFD_CLOEXEC, 0);
	return -1;
}

static int
take_lock(const struct cache *c, struct disk *d, char *err, size_t err_bytes)
{
	d->lock_fd = openat(d->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		snprintf(err, err_bytes, "cannot write to cache directory %s: %s", d->dir,
			 strerror(errno));
		return -1;
	}
	int sent = sent_lock(c, d->lock_fd);
	if (sent >= 0) {
		close(d->lock_fd);
		d->lock_fd = sent;
	}
	char pid[32] = {0};
	bool locked = flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0;
	if (!locked && errno != EWOULDBLOCK) { /* a disk that fails, a file system without locks */
		snprintf(err, err_bytes,
			 "cannot lock cache directory %s: %s; give the cache a directory on a "
			 "local disk",
			 d->dir, strerror(errno));
		return -1;
	}
	if (!locked) {
		ssize_t n = pread(d->lock_fd, pid, sizeof pid - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
		snprintf(err, err_bytes,
			 "cache directory %s is in use by process %s: stop it, or use another "
			 "directory",
			 d->dir, *pid ? pid : "(unknown)");
		return -2;
	}
	int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
	if (ftruncate(d->lock_fd, 0) != 0 || pwrite(d->lock_fd, pid, (size_t)n, 0) != n) {
		snprintf(err, err_bytes, "cannot write to cache directory %s: %s", d->dir,
			 strerror(errno));
		return -1;
	}
	return 0;
}

/* ---- the seed ------------------------------------------------------------------------------ */

static void
fill_random(char *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = getrandom(p + done, n - done, 0);
		if (got > 0)
			done += (size_t)got;
	}
}

static bool
read_seed(const struct disk *d, char *random)
{
	int mended;
	ssize_t n = doubled_read(d->dir_fd, "seed", random, SEED_RANDOM, &mended);
	if (n == SEED_RANDOM && mended)
		log_warning("cache %s: a copy of its seed was damaged and is mended", d->dir);
	else if (n != SEED_RANDOM && (n >= 0 || errno != ENOENT))
		log_warning("cache %s: its seed is damaged; what was kept cannot be found again",
			    d->dir);
	return n == SEED_RANDOM;
}

/* With another seed all hashes are other ones: the log from before is of no use. */
static int
write_seed(struct disk *d, const char *random, char *err, size_t err_bytes)
{
	d->fresh = true;
	if (doubled_write(d->dir_fd, "seed", random, SEED_RANDOM) == 0)
		return 0;
	snprintf(err, err_bytes, "cannot write to cache directory %s: %s", d->dir, strerror(errno));
	return -1;
}

/* ---- the disks ----------------------------------------------------------------------------- */

static void
close_disk(struct disk *d)
{
	if (d->lock_fd >= 0)
		close(d->lock_fd); /* and the lock with it */
	if (d->dir_fd >= 0)
		close(d->dir_fd);
	free(d->dir);
	*d = (struct disk){.dir_fd = -1, .lock_fd = -1};
}

/* One of several that cannot be used is left out, but for one that somebody else uses. */
static int
add_disk(struct cache *c, const char *dir, uint64_t bytes, char *err, size_t err_bytes)
{
	assert(c->disks_n < CACHE_DISKS_MOST);
	struct disk *d = &c->disks[c->disks_n];
	*d = (struct disk){.cache = c,
			   .dir = mem_strdup(dir),
			   .dir_fd = -1,
			   .lock_fd = -1,
			   .bytes = bytes,
			   .name = segment_checksum(dir, strlen(dir))};
	int r = open_directory(d, err, err_bytes);
	if (r == 0)
		r = take_lock(c, d, err, err_bytes);
	if (r == 0) {
		c->disks_n++;
		return 0;
	}
	close_disk(d);
	if (r == -2 || !c->o.more_n)
		return -1;
	log_warning("%s. The other disks are used without it", err);
	c->left_out++;
	return 0;
}

/* All disks have the seed of the first one that has any. */
static int
share_seed(struct cache *c, char *random, char *err, size_t err_bytes)
{
	char own[SEED_RANDOM];
	bool has[CACHE_DISKS_MOST], any = false;
	for (unsigned i = 0; i < c->disks_n; i++) {
		has[i] = read_seed(&c->disks[i], own);
		if (has[i] && any && memcmp(own, random, sizeof own) != 0) {
			log_warning("cache %s: it belonged to another cache: starting empty",
				    c->disks[i].dir);
			has[i] = false;
		}
		if (has[i] && !any)
			memcpy(random, own, sizeof own);
		any |= has[i];
	}
	if (!any)
		fill_random(random, SEED_RANDOM);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (!has[i] && write_seed(&c->disks[i], random, err, err_bytes) != 0)
			return -1;
	return 0;
}

int
files_open(struct cache *c, char *err, size_t err_bytes)
{
	char random[SEED_RANDOM];
	const struct cache_options *o = &c->o;
	if (!o->dir) {
		fill_random(random, sizeof random);
		twice_seed_init(&c->seed, random, sizeof random);
		return 0;
	}
	if (add_disk(c, o->dir, o->disk_bytes, err, err_bytes) != 0)
		return -1;
	for (unsigned i = 0; i < o->more_n; i++)
		if (add_disk(c, o->more[i].dir, o->more[i].bytes, err, err_bytes) != 0)
			return -1;
	if (c->disks_n == 0)
		return -1; /* err speaks of the last one */
	c->dir = c->disks[0].dir;
	c->dir_fd = c->disks[0].dir_fd;
	if (share_seed(c, random, err, err_bytes) != 0)
		return -1;
	twice_seed_init(&c->seed, random, sizeof random);
	return 0;
}

void
files_close(struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		close_disk(&c->disks[i]);
}

/* ---- saved files --------------------------------------------------------------------------- */

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

/* What the saved files take, but for this one. */
static uint64_t
others_bytes(const struct cache *c, const char *name)
{
	static const char *const names[] = {"filter", "baseline", "whatif", "history",
					    CACHE_EARNED};
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

int
cache_save_file(struct cache *c, const char *name,
		int (*fill)(int (*write)(void *, const void *, size_t), void *to, void *ctx),
		void *ctx)
{
	if (!c->dir) {
		errno = ENOTDIR;
		return -1;
	}
	if (atomic_load(&c->bequeathed)) {
		errno = EBUSY;
		return -1;
	}
	char temporary[256];
	snprintf(temporary, sizeof temporary, "%s.new", name);
	pthread_mutex_lock(&c->files_lock);
	uint64_t others = others_bytes(c, name), half = c->reserve_bytes / 2;
	struct saving s = {
		.c = c,
		.most = others < half ? half - others : 0,
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
