/* log.c - formats a line on the stack and writes it whole, so lines of threads never mix. */
#include "proxy/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static _Atomic int least_level = LOG_INFO;

void
log_set_level(enum log_level least)
{
	least_level = (int)least;
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const words[] = {"debug", "info", "warning", "error"};
	if ((int)level < least_level)
		return;
	char line[2048];
	struct tm tm;
	time_t now = time(NULL);
	gmtime_r(&now, &tm);
	size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", &tm);
	n += (size_t)snprintf(line + n, sizeof line - n, "%s: ", words[level]);
	va_list ap;
	va_start(ap, fmt);
	int more = vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
	va_end(ap);
	if (more < 0)
		return;
	n += (size_t)more;
	if (n > sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, n);
	(void)written; /* nowhere left to complain */
}
