/* log.h - what an operator reads on stderr: one line an event, a level, a plain sentence.
 *
 * Where stderr is systemd's journal (JOURNAL_STREAM), each line begins with its priority, as in sd-daemon(3).
 *
 * Threads   any; a line is one write(2), and nobody waits for a reader of stderr: what it does not
 *           take is dropped, and the number of dropped lines is said when it reads again.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

void log_set_level(enum log_level least);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "<3>" where the journal reads it; else "". */
const char *log_priority(enum log_level level);
/* Whether a line that many events would write is due: at most once a minute. *said_ms is when it was, and what sets it;
 * 0: never. now_ms is above 0. */
bool log_is_due(_Atomic int64_t *said_ms, int64_t now_ms);
/* A line without time and level: what `twice run` tells whoever started it. */
void log_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define log_debug(...)	 log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)	 log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...)	 log_line(LOG_ERROR, __VA_ARGS__)

/* The lines of the calling thread, which must not wait for a disk, are written by another one from here on, if stderr is
 * a file. */
void log_never_wait(void);
/* Waits for those that are under way, at most so long. */
void log_finish(unsigned limit_ms);

#endif
