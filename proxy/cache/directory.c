/* directory.c - one cache directory is made, opened and locked; where a disk may hang, by a thread.
 *
 * That thread does all that opening a cache asks of the disk: it makes and opens the directory, takes the lock,
 * reads what will be read and waits until a write has reached the device. If it comes back, the disk answers; if it
 * does not, nobody else touches the directory.
 */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/aside.h"
#include "proxy/base/mem.h"
#include "proxy/cache/forget/purge_log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int
open_directory(struct visit *v)
{
	struct disk *d = &v->d;
	struct stat s;
	if (stat(d->dir, &s) != 0 && (v->again || make_directories(d->dir) != 0)) {
		v->error = errno;
		snprintf(v->err, sizeof v->err, "cannot make cache directory %s: %s", d->dir,
			 strerror(v->error));
		return -1;
	}
	d->dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir_fd >= 0 && faccessat(d->dir_fd, ".", R_OK | W_OK | X_OK, 0) == 0)
		return 0;
	v->error = errno;
	snprintf(v->err, sizeof v->err, "cannot use cache directory %s: %s", d->dir,
		 strerror(v->error));
	return -1;
}

/* ---- the lock ------------------------------------------------------------------------------- */

/* A lock that another process has sent for this file: it is that one's until both have closed it. */
static int
sent_lock(const struct visit *v, int fd)
{
	struct stat is, sent;
	for (unsigned i = 0; i < v->locks_n && fstat(fd, &is) == 0; i++)
		if (fstat(v->locks[i], &sent) == 0 && sent.st_dev == is.st_dev &&
		    sent.st_ino == is.st_ino)
			return fcntl(v->locks[i], F_DUPFD_CLOEXEC, 0);
	return -1;
}

/* It has called exit, or was killed, and a disk holds a thread of it. What it has open is closed only then. */
static bool
is_dying(const char *pid)
{
	char name[64], line[256], state = 0;
	unsigned long long kills = 0, mask;
	snprintf(name, sizeof name, "/proc/%.15s/status", pid);
	FILE *f = *pid ? fopen(name, "re") : NULL;
	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "State: %c", &state);
		if (sscanf(line, "SigPnd: %llx", &mask) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &mask) == 1)
			kills |= mask;
	}
	if (f)
		fclose(f);
	return state == 'Z' || state == 'X' || kills >> (SIGKILL - 1) & 1;
}

/* -2: somebody else has it. */
static int
take_lock(struct visit *v)
{
	struct disk *d = &v->d;
	d->lock_fd = openat(d->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		v->error = errno;
		snprintf(v->err, sizeof v->err, "cannot write to cache directory %s: %s", d->dir,
			 strerror(v->error));
		return -1;
	}
	int sent = sent_lock(v, d->lock_fd);
	if (sent >= 0) {
		close(d->lock_fd);
		d->lock_fd = sent;
		v->inherits = true;
	}
	char pid[32] = {0};
	bool locked = flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0;
	v->error = errno;
	if (!locked && errno != EWOULDBLOCK) { /* a disk that fails, a file system without locks */
		snprintf(v->err, sizeof v->err,
			 "cannot lock cache directory %s: %s; give the cache a directory on a "
			 "local disk",
			 d->dir, strerror(v->error));
		return -1;
	}
	if (!locked) {
		ssize_t n = pread(d->lock_fd, pid, sizeof pid - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
		if (is_dying(pid)) {
			v->error = ETIMEDOUT;
			snprintf(
				v->err, sizeof v->err,
				"cache directory %s does not answer (the disk hangs): process %s, which "
				"has ended, still waits for it",
				d->dir, pid);
			return -1;
		}
		snprintf(v->err, sizeof v->err,
			 "cache directory %s is in use by process %s: stop it, or use another "
			 "directory",
			 d->dir, *pid ? pid : "(unknown)");
		return -2;
	}
	int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
	if (ftruncate(d->lock_fd, 0) != 0 || pwrite(d->lock_fd, pid, (size_t)n, 0) != n) {
		v->error = errno;
		snprintf(v->err, sizeof v->err, "cannot write to cache directory %s: %s", d->dir,
			 strerror(v->error));
		return -1;
	}
	return 0;
}

bool
directory_lock_again(struct disk *d)
{
	struct visit v = {
		.d = {.cache = d->cache, .dir = d->dir, .dir_fd = d->dir_fd, .lock_fd = -1}};
	bool yes = take_lock(&v) == 0 && dup3(v.d.lock_fd, d->lock_fd, O_CLOEXEC) >= 0;
	if (v.d.lock_fd >= 0)
		close(v.d.lock_fd);
	return yes;
}

void
directory_close(struct disk *d)
{
	if (d->lock_fd >= 0)
		close(d->lock_fd); /* and the lock with it */
	if (d->dir_fd >= 0)
		close(d->dir_fd);
	free(d->dir);
	*d = (struct disk){.dir_fd = -1, .lock_fd = -1};
}

/* ---- does the disk answer? ------------------------------------------------------------------ */

/* The ends of a segment are what a start reads of it at least; of others all. */
static void
read_file(int dir_fd, const char *name)
{
	static const off_t WHOLE = 1 << 20;
	char page[4096];
	struct stat st;
	int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		off_t step = st.st_size <= WHOLE ? (off_t)sizeof page : st.st_size;
		for (off_t at = 0; at < st.st_size; at += step)
			if (pread(fd, page, sizeof page, at) <= 0)
				break;
		if (st.st_size > WHOLE)
			(void)!pread(fd, page, sizeof page, st.st_size - (off_t)sizeof page);
	}
	if (fd >= 0)
		close(fd);
}

/* Errors are found by whoever reads in earnest; here it counts that each call returns. */
static void
read_files(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; all && (e = readdir(all));)
		read_file(dir_fd, e->d_name);
	if (all)
		closedir(all);
	else if (fd >= 0)
		close(fd);
}

bool
directory_has_seed(const struct disk *d)
{
	return faccessat(d->dir_fd, "seed", F_OK, 0) == 0 ||
	       faccessat(d->dir_fd, "seed.copy", F_OK, 0) == 0;
}

bool
directory_is_at_root(const struct disk *d)
{
	struct stat root, here;
	return stat("/", &root) == 0 && fstat(d->dir_fd, &here) == 0 && root.st_dev == here.st_dev;
}

/* ---- a visit -------------------------------------------------------------------------------- */

/* The disk may be unmounted by now: an empty directory is where it was. */
static bool
is_foreign(struct visit *v)
{
	bool yes = v->again && !directory_has_seed(&v->d) && directory_is_at_root(&v->d);
	if (yes)
		snprintf(v->err, sizeof v->err, "%s is no cache directory", v->d.dir);
	return yes;
}

static void
make_visit(struct visit *v)
{
	v->result = open_directory(v);
	if (v->result == 0 && is_foreign(v))
		v->result = -1;
	if (v->result == 0)
		v->result = take_lock(v);
	if (v->result != 0) /* what is not used may be unmounted */
		directory_close(&v->d);
}

static void
run(void *ctx)
{
	struct visit *v = ctx;
	make_visit(v);
	if (v->result == 0 && !v->again)
		read_files(v->d.dir_fd);
	if (v->result == 0)
		(void)fdatasync(v->d.lock_fd);
}

static void
drop(void *ctx)
{
	struct visit *v = ctx;
	directory_close(&v->d);
	free(v);
}

struct visit *
directory_visit_begin(struct cache *c, const struct cache_disk *to, bool again)
{
	struct visit *v = NEW(struct visit);
	v->d = (struct disk){.cache = c,
			     .dir = mem_strdup(to->dir),
			     .dir_fd = -1,
			     .lock_fd = -1,
			     .bytes = to->bytes,
			     .name = segment_checksum(to->dir, strlen(to->dir))};
	v->again = again;
	assert(c->o.locks_n <= CACHE_DISKS_MOST);
	for (unsigned i = 0; i < c->o.locks_n; i++)
		v->locks[v->locks_n++] = c->o.locks[i];
	v->aside = c->o.still_ms ? aside_begin(run, v) : NULL;
	if (!v->aside)
		make_visit(v);
	return v;
}

bool
directory_visit_is_over(const struct visit *v)
{
	return !v->aside || aside_is_done(v->aside);
}

bool
directory_visit_wait(const struct visit *v, int64_t still_ms)
{
	return !v->aside || aside_wait(v->aside, still_ms);
}

void
directory_visit_end(struct visit **pv)
{
	struct visit *v = *pv;
	*pv = NULL;
	if (v && (!v->aside || aside_end(&v->aside, drop)))
		drop(v);
}
