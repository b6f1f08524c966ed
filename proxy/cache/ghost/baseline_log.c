/* baseline_log.c - rows are gathered, and a job that waits for the disk appends them. */
#include "proxy/cache/ghost/baseline_log.h"
#include "proxy/cache/ghost/baseline_file.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/store/diskio.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "baseline.log";

enum {
	ENOUGH_BYTES = 16 << 10,
	MOST_BYTES = 1 << 20, /* gathered, while the disk does not take them; of a block */
	DUE_MS = 10000,
	RETRY_MS = 10000
};

struct baseline_log {
	struct cache *cache;
	struct baseline_file file;
	uint64_t most_bytes;
	struct buf now; /* gathered */
	int64_t since_ms, again_ms, wanted_ms;
	bool stopped;

	pthread_mutex_t lock; /* what is below */
	pthread_cond_t idle;
	bool busy; /* then all but this is the job's */
	bool failing;
	struct diskio_job job;
	struct buf out; /* rows, behind the room for their block's head */
	uint64_t end;	/* of the file; 0: it is to be made */
};

/* ---- writing ------------------------------------------------------------------------------- */

static int
fill_file(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct baseline_log *l = ctx;
	char head[BASELINE_FILE_HEAD];
	baseline_file_format(&l->file, head);
	if (write(to, head, sizeof head) != 0)
		return -1;
	return l->out.n ? write(to, l->out.p, l->out.n) : 0;
}

/* Without the lock: out and end are the caller's. What cannot be written is a gap, but for a file that is
 * made: that is tried again. */
static void
write_out(struct baseline_log *l)
{
	uint64_t at = l->end ? l->end : BASELINE_FILE_HEAD;
	if (l->out.n)
		baseline_block_format(&l->file, at, l->out.p, l->out.n);
	bool right = l->end ? cache_append_file(l->cache, NAME, l->end, buf_str(&l->out)) == 0
			    : cache_save_file(l->cache, NAME, fill_file, l) == 0;
	if (!right && !l->failing)
		log_warning(
			"cache %s: cannot write the log of the simulated ordinary cache: %s; after a "
			"crash it would lack what it got since its last snapshot",
			cache_directory(l->cache), strerror(errno));
	if (!right && errno == ENOENT)
		l->end = 0;
	l->failing = !right;
	if (!right)
		return;
	l->end = at + l->out.n;
	l->out.n = 0;
}

static void
run(struct diskio_job *j)
{
	struct baseline_log *l =
		(struct baseline_log *)((char *)j - offsetof(struct baseline_log, job));
	write_out(l);
	pthread_mutex_lock(&l->lock);
	l->busy = false;
	pthread_cond_signal(&l->idle);
	pthread_mutex_unlock(&l->lock);
}

static void
hand_out(struct baseline_log *l)
{
	buf_room(&l->out, BASELINE_BLOCK_HEAD);
	buf_added(&l->out, BASELINE_BLOCK_HEAD);
	buf_add_str(&l->out, buf_str(&l->now));
	l->now.n = 0;
}

void
baseline_log_add(struct baseline_log *l, struct str rows, int64_t now_ms)
{
	if (l->stopped || l->now.n + rows.n > MOST_BYTES) {
		baseline_log_stop(l);
		return;
	}
	if (!l->now.n)
		l->since_ms = now_ms;
	buf_add_str(&l->now, rows);
	bool due = l->now.n >= ENOUGH_BYTES || (l->now.n && now_ms - l->since_ms >= DUE_MS);
	pthread_mutex_lock(&l->lock);
	if (!l->busy && !l->out.n && due)
		hand_out(l);
	bool posts = !l->busy && l->out.n && now_ms >= l->again_ms && *cache_directory(l->cache);
	l->busy = l->busy || posts;
	bool failing = !l->busy && l->failing;
	pthread_mutex_unlock(&l->lock);
	if (!posts)
		return;
	l->again_ms = now_ms + (failing ? RETRY_MS : 0);
	cache_post(l->cache, &l->job);
}

static void
await_idle(struct baseline_log *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->busy)
		pthread_cond_wait(&l->idle, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

bool
baseline_log_wants_snapshot(struct baseline_log *l, int64_t now_ms)
{
	pthread_mutex_lock(&l->lock);
	bool wants = l->stopped || (!l->busy && l->end >= l->most_bytes);
	pthread_mutex_unlock(&l->lock);
	if (!wants || now_ms < l->wanted_ms)
		return false;
	l->wanted_ms = now_ms + RETRY_MS;
	return true;
}

/* It ends in the checksum of all before. */
static uint64_t
sum_of_snapshot(struct str snapshot)
{
	uint64_t sum = 0;
	if (snapshot.n >= sizeof sum)
		memcpy(&sum, snapshot.p + snapshot.n - sizeof sum, sizeof sum);
	return sum;
}

void
baseline_log_begin(struct baseline_log *l, struct str snapshot)
{
	await_idle(l);
	l->file.snapshot = sum_of_snapshot(snapshot);
	l->now.n = l->out.n = l->end = 0;
	l->stopped = false;
	write_out(l);
}

void
baseline_log_stop(struct baseline_log *l)
{
	l->stopped = true;
	l->now.n = 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct baseline_log *
baseline_log_create(struct cache *cache, uint64_t tag, uint64_t most_bytes)
{
	struct baseline_log *l = NEW(struct baseline_log);
	l->cache = cache;
	l->file.tag = tag;
	l->most_bytes = most_bytes < MOST_BYTES ? most_bytes : MOST_BYTES;
	l->job.run = run;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->idle, NULL);
	return l;
}

void
baseline_log_destroy(struct baseline_log **pl)
{
	struct baseline_log *l = *pl;
	*pl = NULL;
	if (!l)
		return;
	await_idle(l);
	buf_fini(&l->now);
	buf_fini(&l->out);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->idle);
	free(l);
}

void
baseline_log_restore(struct baseline_log *l, struct str snapshot, struct buf *rows)
{
	struct buf file = {0};
	const char *why;
	l->file.snapshot = sum_of_snapshot(snapshot);
	/* One block may have come when it was nearly full. */
	if (!cache_read_file(l->cache, NAME, l->most_bytes + 2 * MOST_BYTES, &file, &why))
		return;
	l->end = why ? 0 : baseline_file_parse(&l->file, buf_str(&file), rows);
	if (!why && l->end && l->end < file.n)
		why = "torn or damaged";
	if (why)
		log_warning(
			"cache %s: the log of the simulated ordinary cache counts up to byte %llu "
			"(%s): it lacks what it got behind that",
			cache_directory(l->cache), (unsigned long long)l->end, why);
	buf_fini(&file);
}
