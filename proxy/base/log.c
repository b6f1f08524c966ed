/* log.c - formats a line on the stack and writes it whole, so lines of threads never mix.
 *
 * Nobody waits here: a line that stderr does not take at once is dropped, and the next one that
 * gets through says how many were.
 */
#include "proxy/base/log.h"

#include "proxy/base/nowait.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 2048 };

static _Atomic int least_level = LOG_INFO;
static _Atomic unsigned dropped;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int to = STDERR_FILENO; /* constant once opened */

void
log_set_level(enum log_level least)
{
	least_level = (int)least;
}

static void
open_own(void)
{
	int own = nowait_dup(STDERR_FILENO);
	if (own >= 0)
		to = own;
}

static void
write_line(const char *line, size_t n)
{
	char note[64];
	pthread_once(&once, open_own);
	unsigned before = atomic_exchange(&dropped, 0);
	if (before) {
		int length = snprintf(note, sizeof note, "(%u lines were dropped here)\n", before);
		if (nowait_write(to, note, (size_t)length) < 0) {
			atomic_fetch_add(&dropped, before + 1);
			return;
		}
	}
	if (nowait_write(to, line, n) < 0 && errno == EAGAIN)
		atomic_fetch_add(&dropped, 1);
}

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
	size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", &tm);
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
	va_start(ap, fmt);
	size_t n = finish_line(line, 0, fmt, ap);
	va_end(ap);
	write_line(line, n);
}
