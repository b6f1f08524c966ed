/* logfile.c - one writer thread drains the lanes in turn, each to a line's end. */
#include "proxy/base/logfile.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/nowait.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* GATHER_MS: how long the writer lets lines gather, so that busy workers seldom wake it.
 * REST_MS: how long it waits for a reader before it looks for other news.
 * CALM_MS: without a dropped line, after which it says that all is well again. */
enum { GATHER_MS = 20, REST_MS = 50, CALM_MS = 10000 };

struct lane {
	/* The adding thread's line: positions only grow, the ring is addressed modulo its size. */
	_Alignas(64) _Atomic uint64_t added;
	uint64_t taken_seen; /* taken, as last read */
	_Atomic uint64_t dropped;
	char *ring;
	/* The writer's line. */
	_Alignas(64) _Atomic uint64_t taken;
};

struct logfile {
	char *path;
	size_t lane_bytes;
	unsigned lane_count;
	struct lane *lanes;
	pthread_t writer;
	int wake; /* eventfd */
	_Atomic bool asleep, stopping, reopen;
	_Atomic int64_t stop_by_ms;
	_Atomic uint64_t lost; /* lines that were taken from a lane and not written */
	/* The writer's own. */
	int fd;		     /* -1: could not be opened */
	char *batch;	     /* lane_bytes: whole lines on their way to the file */
	bool is_broken_line; /* the file ends within a line */
	bool is_failing;     /* the last write was refused */
	bool is_behind;	     /* lines were dropped, and the log says so */
	uint64_t dropped_seen;
	int64_t dropped_ms; /* when dropped_seen last grew */
};

/* ---- adding -------------------------------------------------------------------------------- */

static void
wake(struct logfile *l)
{
	uint64_t one = 1;
	ssize_t n = write(l->wake, &one, sizeof one);
	(void)n; /* full: it is awake */
}

static size_t
room(const struct logfile *l, struct lane *lane, uint64_t added, size_t wanted)
{
	size_t left = l->lane_bytes - (size_t)(added - lane->taken_seen);
	if (left >= wanted)
		return left;
	lane->taken_seen = atomic_load_explicit(&lane->taken, memory_order_acquire);
	return l->lane_bytes - (size_t)(added - lane->taken_seen);
}

bool
logfile_add(struct logfile *l, unsigned index, const char *line, size_t n)
{
	assert(index < l->lane_count && n > 0 && line[n - 1] == '\n');
	struct lane *lane = &l->lanes[index];
	uint64_t added = atomic_load_explicit(&lane->added, memory_order_relaxed);
	if (room(l, lane, added, n) < n) {
		atomic_fetch_add_explicit(&lane->dropped, 1, memory_order_relaxed);
		return false;
	}
	size_t at = (size_t)(added & (l->lane_bytes - 1)), to_end = l->lane_bytes - at;
	size_t first = n < to_end ? n : to_end;
	memcpy(lane->ring + at, line, first);
	memcpy(lane->ring, line + first, n - first);
	/* Sequentially consistent with the writer's store to asleep: one of us sees the other. */
	atomic_store(&lane->added, added + n);
	if (atomic_load(&l->asleep) && atomic_exchange(&l->asleep, false))
		wake(l);
	return true;
}

uint64_t
logfile_dropped(const struct logfile *l)
{
	uint64_t n = atomic_load_explicit(&l->lost, memory_order_relaxed);
	for (unsigned i = 0; i < l->lane_count; i++)
		n += atomic_load_explicit(&l->lanes[i].dropped, memory_order_relaxed);
	return n;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int
open_path(const char *path)
{
	if (strcmp(path, "-") == 0)
		return nowait_dup(STDOUT_FILENO);
	/* Without O_NONBLOCK, a named pipe that has no reader yet would hold us here. */
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
}

static void
open_file(struct logfile *l)
{
	int fd = open_path(l->path);
	if (fd < 0) {
		log_error("cannot open the access log %s: %s; %s", l->path, strerror(errno),
			  l->fd < 0 ? "requests are not logged until SIGUSR1 finds it"
				    : "writing goes on in the old file");
		return;
	}
	if (l->fd >= 0)
		close(l->fd);
	l->fd = fd;
	l->is_broken_line = false;
}

static void
say_failing(struct logfile *l)
{
	if (!l->is_failing)
		log_error("cannot write the access log %s: %s; lines are lost until it works again",
			  l->path, strerror(errno));
	l->is_failing = true;
}

static void
say_dropped(struct logfile *l)
{
	uint64_t dropped = logfile_dropped(l);
	if (dropped != l->dropped_seen) {
		if (!l->is_behind && !l->is_failing && l->fd >= 0)
			log_warning("the access log %s takes lines more slowly than requests come; "
				    "lines are dropped, and counted in /stats",
				    l->path);
		l->is_behind = true;
		l->dropped_seen = dropped;
		l->dropped_ms = now_exact_ms();
	} else if (l->is_behind && now_exact_ms() - l->dropped_ms > CALM_MS) {
		log_info("the access log %s is complete again; %llu lines were dropped since the "
			 "start",
			 l->path, (unsigned long long)dropped);
		l->is_behind = false;
	}
}

/* Waits for a reader; false when the wait was long enough. */
static bool
may_wait(struct logfile *l)
{
	if (atomic_load(&l->stopping) && now_exact_ms() >= atomic_load(&l->stop_by_ms))
		return false;
	if (atomic_load(&l->reopen))
		return false;
	struct pollfd ready = {.fd = l->fd, .events = POLLOUT};
	poll(&ready, 1, REST_MS);
	say_dropped(l);
	return true;
}

static uint64_t
count_lines(const char *p, size_t n)
{
	uint64_t lines = 0;
	for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
		lines++;
	return lines;
}

/* As much of p as the file takes; what it does not take is lost, and counted. */
static void
write_lines(struct logfile *l, const char *p, size_t n)
{
	const char *begin = p, *end = p + n;
	while (p < end && l->fd >= 0) {
		/* A line that a full disk cut ends before the next one begins. */
		bool mend = l->is_broken_line;
		ssize_t done = nowait_write(l->fd, mend ? "\n" : p, mend ? 1 : (size_t)(end - p));
		if (done > 0 && mend) {
			l->is_broken_line = false;
		} else if (done > 0) {
			p += done;
			l->is_failing = false;
		} else if (done < 0 && errno != EAGAIN && errno != EINTR) {
			say_failing(l);
			break;
		} else if (!may_wait(l)) {
			break;
		}
	}
	if (p < end)
		atomic_fetch_add_explicit(&l->lost, count_lines(p, (size_t)(end - p)),
					  memory_order_relaxed);
	l->is_broken_line |= p > begin && p < end && p[-1] != '\n';
}

/* ---- the writer ---------------------------------------------------------------------------- */

/* Takes all lines of a lane; returns their bytes, now in the batch. */
static size_t
take_lines(struct logfile *l, struct lane *lane)
{
	uint64_t taken = atomic_load_explicit(&lane->taken, memory_order_relaxed);
	uint64_t added = atomic_load(&lane->added);
	size_t n = (size_t)(added - taken), at = (size_t)(taken & (l->lane_bytes - 1));
	size_t to_end = l->lane_bytes - at, first = n < to_end ? n : to_end;
	assert(n <= l->lane_bytes);
	memcpy(l->batch, lane->ring + at, first);
	memcpy(l->batch + first, lane->ring, n - first);
	atomic_store_explicit(&lane->taken, added, memory_order_release);
	return n;
}

static bool
drain(struct logfile *l)
{
	bool any = false;
	for (unsigned i = 0; i < l->lane_count; i++) {
		size_t n = take_lines(l, &l->lanes[i]);
		if (n)
			write_lines(l, l->batch, n);
		any |= n > 0;
	}
	return any;
}

static bool
is_empty(const struct logfile *l)
{
	for (unsigned i = 0; i < l->lane_count; i++)
		if (atomic_load(&l->lanes[i].added) != atomic_load(&l->lanes[i].taken))
			return false;
	return true;
}

static void
sleep_until_woken(struct logfile *l)
{
	uint64_t n;
	atomic_store(&l->asleep, true);
	if (!is_empty(l) || atomic_load(&l->stopping) || atomic_load(&l->reopen))
		atomic_store(&l->asleep, false);
	else if (read(l->wake, &n, sizeof n) < 0)
		assert(errno == EINTR);
	atomic_store(&l->asleep, false);
}

static void *
writer_run(void *arg)
{
	struct logfile *l = arg;
	struct timespec gather = {.tv_nsec = GATHER_MS * 1000000L};
	open_file(l); /* whose disk may hang */
	for (;;) {
		bool stopping = atomic_load(&l->stopping), reopen = atomic_load(&l->reopen);
		bool any = drain(l);
		say_dropped(l);
		if (reopen) {
			atomic_store(&l->reopen, false);
			open_file(l);
		} else if (stopping) {
			break;
		} else if (any || l->is_behind) {
			nanosleep(&gather, NULL);
		} else {
			sleep_until_woken(l);
		}
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
discard(struct logfile *l)
{
	for (unsigned i = 0; i < l->lane_count; i++)
		free(l->lanes[i].ring);
	if (l->fd >= 0)
		close(l->fd);
	if (l->wake >= 0)
		close(l->wake);
	free(l->lanes);
	free(l->batch);
	free(l->path);
	free(l);
}

int
logfile_start(struct logfile **out, const char *path, unsigned lanes, size_t lane_bytes)
{
	assert(lanes && lane_bytes && (lane_bytes & (lane_bytes - 1)) == 0);
	struct logfile *l = NEW(struct logfile);
	l->path = mem_strdup(path);
	l->lane_bytes = lane_bytes;
	l->batch = mem_alloc(lane_bytes);
	l->fd = -1;
	l->wake = eventfd(0, EFD_CLOEXEC);
	if (posix_memalign((void **)&l->lanes, 64, lanes * sizeof *l->lanes))
		abort();
	memset(l->lanes, 0, lanes * sizeof *l->lanes);
	for (; l->lane_count < lanes; l->lane_count++)
		l->lanes[l->lane_count].ring = mem_alloc(lane_bytes);
	int failed = l->wake < 0 ? errno : pthread_create(&l->writer, NULL, writer_run, l);
	if (failed) {
		discard(l);
		errno = failed;
		return -1;
	}
	*out = l;
	return 0;
}

void
logfile_reopen(struct logfile *l)
{
	if (strcmp(l->path, "-") == 0)
		return;
	atomic_store(&l->reopen, true);
	wake(l);
}

void
logfile_stop(struct logfile **lp, int64_t within_ms)
{
	struct logfile *l = *lp;
	*lp = NULL;
	if (!l)
		return;
	uint64_t before = logfile_dropped(l);
	atomic_store(&l->stop_by_ms, now_exact_ms() + within_ms);
	atomic_store(&l->stopping, true);
	wake(l);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += within_ms / 1000 + 1;
	if (pthread_timedjoin_np(l->writer, NULL, &until)) {
		/* A write that the system itself holds (a dead network file system): the process
		 * ends without it. */
		log_error("the access log %s cannot be finished: a write to it hangs", l->path);
		pthread_detach(l->writer);
		return;
	}
	if (logfile_dropped(l) > before)
		log_warning(
			"the access log %s ends early: its last %llu lines could not be written",
			l->path, (unsigned long long)(logfile_dropped(l) - before));
	discard(l);
}
