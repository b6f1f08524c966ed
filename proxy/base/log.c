/* log.c - formats a line on the stack and writes it whole, so lines of threads never mix.
 *
 * Nobody waits here for a reader: a line that stderr does not take at once is dropped, and the next one that
 * gets through says how many were. Where stderr is a file its disk may hang; the lines of a thread that must not wait
 * for one go by a thread of their own.
 */
#include "proxy/base/log.h"

#include "proxy/base/nowait.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, QUEUE_BYTES = 128 << 10 };

static _Atomic int least_level = LOG_INFO;
static _Atomic unsigned dropped;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int to = STDERR_FILENO; /* constant once opened, as the next */
static bool is_journal;

static _Thread_local bool waits_never;
/* Their lines. Under lock: bytes that wait, and that are being written. */
static struct {
	pthread_once_t once;
	pthread_mutex_t lock;
	pthread_cond_t filled, empty;
	bool runs; /* constant once begun */
	size_t n, writes;
} queue = {.once = PTHREAD_ONCE_INIT,
	   .lock = PTHREAD_MUTEX_INITIALIZER,
	   .filled = PTHREAD_COND_INITIALIZER,
	   .empty = PTHREAD_COND_INITIALIZER};
static char queued[QUEUE_BYTES];

void
log_set_level(enum log_level least)
{
	least_level = (int)least;
}

/* The variable is inherited by those whose stderr was sent elsewhere: it names the one that is meant. */
static bool
leads_to_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
	       st.st_dev == device && st.st_ino == inode;
}

static void
open_own(void)
{
	is_journal = leads_to_journal(STDERR_FILENO);
	int own = nowait_dup(STDERR_FILENO);
	if (own >= 0)
		to = own;
}

const char *
log_priority(enum log_level level)
{
	static const char *const priorities[] = {[LOG_DEBUG] = "<7>",
						 [LOG_INFO] = "<6>",
						 [LOG_WARNING] = "<4>",
						 [LOG_ERROR] = "<3>"};
	pthread_once(&once, open_own);
	return is_journal ? priorities[level] : "";
}

static void
add_to_queue(const char *line, size_t n)
{
	pthread_mutex_lock(&queue.lock);
	bool fits = queue.n + n <= sizeof queued;
	if (fits) {
		memcpy(queued + queue.n, line, n);
		queue.n += n;
		pthread_cond_signal(&queue.filled);
	} else {
		atomic_fetch_add(&dropped, 1);
	}
	pthread_mutex_unlock(&queue.lock);
}

static void
write_line(const char *line, size_t n)
{
	char note[64];
	pthread_once(&once, open_own);
	if (waits_never && queue.runs) {
		add_to_queue(line, n);
		return;
	}
	unsigned before = atomic_exchange(&dropped, 0);
	if (before) {
		int length = snprintf(note, sizeof note, "%s(%u lines were dropped here)\n",
				      log_priority(LOG_WARNING), before);
		if (nowait_write(to, note, (size_t)length) < 0) {
			atomic_fetch_add(&dropped, before + 1);
			return;
		}
	}
	if (nowait_write(to, line, n) < 0 && errno == EAGAIN)
		atomic_fetch_add(&dropped, 1);
}

bool
log_is_due(_Atomic int64_t *said_ms, int64_t now_ms)
{
	enum { MINUTE_MS = 60 * 1000 };
	int64_t last = atomic_load(said_ms);
	return (!last || now_ms - last >= MINUTE_MS) &&
	       atomic_compare_exchange_strong(said_ms, &last, now_ms);
}

/* ---- threads that must not wait for a file --------------------------------------------------- */

static void *
run_queue(void *arg)
{
	static char lines[QUEUE_BYTES];
	(void)arg;
	pthread_setname_np(pthread_self(), "log");
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		while (!queue.n) {
			pthread_cond_broadcast(&queue.empty);
			pthread_cond_wait(&queue.filled, &queue.lock);
		}
		size_t n = queue.writes = queue.n;
		memcpy(lines, queued, n);
		queue.n = 0;
		pthread_mutex_unlock(&queue.lock);
		write_line(lines, n);
		pthread_mutex_lock(&queue.lock);
		queue.writes = 0;
	}
	return NULL;
}

static void
begin_queue(void)
{
	struct stat st;
	pthread_t thread;
	pthread_once(&once, open_own);
	if (fstat(to, &st) || !S_ISREG(st.st_mode))
		return;
	queue.runs = pthread_create(&thread, NULL, run_queue, NULL) == 0;
	if (queue.runs)
		pthread_detach(thread);
}

void
log_never_wait(void)
{
	pthread_once(&queue.once, begin_queue);
	waits_never = true;
}

void
log_finish(unsigned limit_ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += limit_ms / 1000;
	until.tv_nsec += (long)(limit_ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&queue.lock);
	while (queue.runs && queue.n + queue.writes &&
	       pthread_cond_timedwait(&queue.empty, &queue.lock, &until) != ETIMEDOUT)
		continue;
	pthread_mutex_unlock(&queue.lock);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Appends to the n bytes of a line; returns its bytes with the end. */
__attribute__((format(printf, 3, 0))) static size_t
finish_line(char line[LINE_BYTES], size_t n, const char *fmt, va_list ap)
{
	int more = vsnprintf(line + n, LINE_BYTES - n - 1, fmt, ap);
	n += more < 0 ? 0 : (size_t)more;
	if (n > LINE_BYTES - 2)
		n = LINE_BYTES - 2;
	line[n++] = '\n';
	return n;
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const words[] = {"debug", "info", "warning", "error"};
	if ((int)level < least_level)
		return;
	char line[LINE_BYTES];
	struct tm tm;
	time_t now = time(NULL);
	gmtime_r(&now, &tm);
	size_t n = (size_t)snprintf(line, sizeof line, "%s", log_priority(level));
	n += strftime(line + n, sizeof line - n, "%Y-%m-%dT%H:%M:%SZ ", &tm);
	n += (size_t)snprintf(line + n, sizeof line - n, "%s: ", words[level]);
	va_list ap;
	va_start(ap, fmt);
	n = finish_line(line, n, fmt, ap);
	va_end(ap);
	write_line(line, n);
}

void
log_say(const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list ap;
	size_t n = (size_t)snprintf(line, sizeof line, "%s", log_priority(LOG_INFO));
	va_start(ap, fmt);
	n = finish_line(line, n, fmt, ap);
	va_end(ap);
	write_line(line, n);
}
