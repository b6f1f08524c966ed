/* diskio.c - two queues, each with its lock: writes in order on one thread, reads on several. */
#include "proxy/cache/store/diskio.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/page_cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct diskio_job *first, **last;
	bool stopping;
};

/* The device is asked whether it answers. */
struct question {
	struct diskio_job job;
	_Atomic bool under_way;
	_Atomic int64_t until_ms; /* so long the last answer holds */
	const struct diskio_ops *ops;
	int fd;
	uint64_t at;
};

struct diskio {
	struct diskio_options o;
	struct question question;
	struct queue queues[2];
	pthread_t *threads;
	unsigned threads_n;
};

/* ---- the system's disk --------------------------------------------------------------------- */

static ssize_t
system_read_now(int fd, void *p, size_t n, off_t at)
{
	struct iovec v = {p, n};
	return preadv2(fd, &v, 1, at, RWF_NOWAIT);
}

/* The file's old bytes go first, and with them pages still waiting to be written: dead bytes need
 * not wear the device. (Left in memory they would also be counted wrongly when written anew: not at
 * all while dirty, or twice where large folios lie across the ends of batches.) Not
 * posix_fallocate: where the file system cannot, that would write every page. */
static int
system_renew(int fd, off_t bytes)
{
	if (ftruncate(fd, 0) != 0)
		return DISKIO_KEPT;
	if (fallocate(fd, 0, 0, bytes) == 0)
		return 0;
	int error = errno;
	if ((error == EOPNOTSUPP || error == ENOSYS) && ftruncate(fd, bytes) == 0)
		return 0;
	if (ftruncate(fd, 0) == 0)
		errno = error;
	return -1;
}

static int
system_room(int dir_fd, uint64_t *free_bytes, uint64_t *all_bytes)
{
	struct statvfs s;
	if (fstatvfs(dir_fd, &s) != 0)
		return -1;
	*free_bytes = (uint64_t)s.f_bavail * s.f_frsize;
	*all_bytes = (uint64_t)s.f_blocks * s.f_frsize;
	return *all_bytes ? 0 : -1;
}

static uint64_t
system_stamp(int fd)
{
	struct stat s;
	if (fstat(fd, &s) != 0)
		return 0;
	return (uint64_t)s.st_ctim.tv_sec * 1000000000 + (uint64_t)s.st_ctim.tv_nsec;
}

static void *
system_map(int fd, size_t bytes)
{
	void *view = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	return view == MAP_FAILED ? NULL : view;
}

static void
system_unmap(void *view, size_t bytes)
{
	munmap(view, bytes);
}

static int
system_create(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int
system_rename(int dir_fd, const char *from, const char *to)
{
	return renameat(dir_fd, from, dir_fd, to);
}

static int
system_remove(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0);
}

static void
system_let_go(int fd, off_t at, off_t n)
{
	posix_fadvise(fd, at, n, POSIX_FADV_DONTNEED);
}

/* The block of a device has 4 KiB at most, as a rule; where that or O_DIRECT is refused, nothing is known. A file
 * that is opened again is another description: the flag of the first one would hold for all who read it. */
static void
system_touch(int fd, off_t at)
{
	enum { BLOCK = 4096 };
	_Alignas(BLOCK) char block[BLOCK];
	char name[32];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	int direct = open(name, O_RDONLY | O_DIRECT | O_NOATIME | O_CLOEXEC);
	if (direct < 0)
		return;
	(void)!pread(direct, block, sizeof block, at / BLOCK * BLOCK);
	close(direct);
}

const struct diskio_ops diskio_system = {
	.read = pread,
	.read_now = system_read_now,
	.write = pwrite,
	.renew = system_renew,
	.room = system_room,
	.create = system_create,
	.rename = system_rename,
	.remove = system_remove,
	.stamp = system_stamp,
	.map = system_map,
	.unmap = system_unmap,
	.is_cached = page_cache_has,
	.let_go = system_let_go,
	.touch = system_touch,
	.sync = fdatasync,
	.sync_dir = fsync,
};

int
diskio_read_all(const struct diskio_ops *ops, int fd, void *p, size_t n, uint64_t at)
{
	size_t done = 0;
	ssize_t got = 1;
	page_cache_begin_read(fd);
	while (done < n && (got > 0 || (got < 0 && errno == EINTR))) {
		got = ops->read(fd, (char *)p + done, n - done, (off_t)(at + done));
		done += got > 0 ? (size_t)got : 0;
	}
	page_cache_end_read(fd);
	if (done < n && got == 0)
		errno = 0;
	return done < n ? -1 : 0;
}

int
diskio_write_all(const struct diskio_ops *ops, int fd, const void *p, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = ops->write(fd, (const char *)p + done, n - done, (off_t)(at + done));
		if (put < 0 && errno == EINTR)
			continue;
		if (put == 0)
			errno = ENOSPC;
		if (put <= 0)
			return -1;
		done += (size_t)put;
	}
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------- */

static void
queue_init(struct queue *q)
{
	clock_condition_init(&q->filled);
	pthread_mutex_init(&q->lock, NULL);
	q->last = &q->first;
}

/* This must hold under a queue's lock: last is where the next job is hung on. */
static void
check(const struct queue *q)
{
	assert(!*q->last && (q->first != NULL) == (q->last != &q->first));
}

static void
queue_fini(struct queue *q)
{
	assert(q->stopping &&
	       !q->first); /* whoever posts to a queue has ended before its threads */
	pthread_cond_destroy(&q->filled);
	pthread_mutex_destroy(&q->lock);
}

/* Waits for a job, until the deadline when there is one. NULL: time is up or all is over. */
static struct diskio_job *
take(struct queue *q, const struct timespec *until, bool *over)
{
	pthread_mutex_lock(&q->lock);
	int late = 0;
	while (!q->first && !q->stopping && !late)
		late = until ? pthread_cond_timedwait(&q->filled, &q->lock, until)
			     : pthread_cond_wait(&q->filled, &q->lock);
	struct diskio_job *j = q->first;
	if (j && !(q->first = j->next))
		q->last = &q->first;
	*over = !j && q->stopping;
	check(q);
	pthread_mutex_unlock(&q->lock);
	return j;
}

static void *
reader(void *arg)
{
	struct diskio *d = arg;
	struct diskio_job *j;
	for (bool over = false; !over;)
		if ((j = take(&d->queues[DISKIO_READS], NULL, &over)))
			j->run(j);
	return NULL;
}

static void *
writer(void *arg)
{
	struct diskio *d = arg;
	struct diskio_job *j;
	struct timespec next = now_and_ms(d->o.tick_ms);
	for (bool over = false; !over;) {
		if ((j = take(&d->queues[DISKIO_WRITES], &next, &over))) {
			j->run(j);
		} else if (!over) {
			d->o.tick(d->o.ctx);
			next = now_and_ms(d->o.tick_ms);
		}
	}
	return NULL;
}

int
diskio_start(struct diskio **out, const struct diskio_options *o)
{
	struct diskio *d = NEW(struct diskio);
	d->o = *o;
	*out = d; /* before any thread: a tick may post */
	queue_init(&d->queues[DISKIO_READS]);
	queue_init(&d->queues[DISKIO_WRITES]);
	d->threads = mem_zalloc((o->readers + 1) * sizeof *d->threads);
	while (d->threads_n <= o->readers && pthread_create(&d->threads[d->threads_n], NULL,
							    d->threads_n ? reader : writer, d) == 0)
		d->threads_n++;
	if (d->threads_n > o->readers)
		return 0;
	diskio_stop(out);
	return -1;
}

static void
end(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopping = true;
	pthread_cond_broadcast(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

void
diskio_stop(struct diskio **pd)
{
	struct diskio *d = *pd;
	if (!d)
		return;
	/* Readers may still post writes (what they carry over), so they go first. */
	end(&d->queues[DISKIO_READS]);
	for (unsigned i = 1; i < d->threads_n; i++)
		pthread_join(d->threads[i], NULL);
	end(&d->queues[DISKIO_WRITES]);
	if (d->threads_n)
		pthread_join(d->threads[0], NULL);
	queue_fini(&d->queues[DISKIO_READS]);
	queue_fini(&d->queues[DISKIO_WRITES]);
	free(d->threads);
	free(d);
	*pd = NULL; /* only now: what still ran may have posted */
}

void
diskio_post(struct diskio *d, enum diskio_queue which, struct diskio_job *j)
{
	struct queue *q = &d->queues[which];
	j->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = j;
	q->last = &j->next;
	check(q);
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

/* ---- does it answer? ----------------------------------------------------------------------- */

/* An answer holds for DISKIO_ANSWER_MS, and is asked for anew when ASK_AGAIN_MS of that are left. A thread that is
 * late, on a busy machine, is no disk that hangs: until it begins to ask the last answer holds, for a while. */
enum { ASK_AGAIN_MS = 100, BEGIN_MS = 500 };

static void
ask(struct diskio_job *job)
{
	struct question *q = (struct question *)job;
	int64_t until = now_ms() + ASK_AGAIN_MS;
	if (until < atomic_load(&q->until_ms))
		atomic_store(&q->until_ms, until);
	q->ops->touch(q->fd, (off_t)q->at);
	atomic_store(&q->until_ms, now_ms() + DISKIO_ANSWER_MS);
	atomic_store(&q->under_way, false);
}

bool
diskio_answers(struct diskio *d, const struct diskio_ops *ops, int fd, uint64_t at,
	       const _Atomic int64_t **until_ms)
{
	struct question *q = &d->question;
	*until_ms = ops->touch ? &q->until_ms : NULL;
	if (!ops->touch)
		return true;
	int64_t now = now_ms(), until = atomic_load_explicit(&q->until_ms, memory_order_relaxed);
	if (until >= now + ASK_AGAIN_MS ||
	    atomic_load_explicit(&q->under_way, memory_order_relaxed) ||
	    atomic_exchange(&q->under_way, true))
		return now < until;
	q->ops = ops;
	q->fd = fd;
	q->at = at;
	q->job.run = ask;
	if (now < until)
		atomic_store(&q->until_ms, now + BEGIN_MS);
	diskio_post(d, DISKIO_READS, &q->job);
	return now < until;
}
