/* logfile.h - lines on their way to a file: who adds one never waits for a disk or a reader.
 *
 *	worker 0 --> [lane 0 ......]--+
 *	worker 1 --> [lane 1 ......]--+--> one writer thread --> file, pipe or socket
 *
 * A lane is a ring of bytes with one thread that adds and the writer that takes. When a lane is
 * full, the line is dropped and counted; the writer says so in the log, once when it begins and
 * once when it is over.
 *
 * Threads   logfile_add: one thread per lane. logfile_reopen, logfile_dropped: any thread.
 * Errors    what cannot be opened or written is said in the log once per change of state; lines
 *           are dropped and counted until it works again.
 */
#ifndef BASE_LOGFILE_H
#define BASE_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logfile;

/* Begins to write to path ("-": standard output). lane_bytes is a power of two. -1 and errno when
 * the writer thread cannot be had; a path that cannot be opened is tried again by
 * logfile_reopen. */
int logfile_start(struct logfile **out, const char *path, unsigned lanes, size_t lane_bytes);

/* A whole line with its end. False: dropped, because the lane is full. */
bool logfile_add(struct logfile *l, unsigned lane, const char *line, size_t n);

/* After a rotation: earlier lines go to the old file, later ones to the new file.
 * Returns at once. The old file is kept when the new one cannot be opened. */
void logfile_reopen(struct logfile *l);

uint64_t logfile_dropped(const struct logfile *l); /* lines, since the start */

/* Writes the lines that are left, for at most so long, and ends the thread. NULL is fine. */
void logfile_stop(struct logfile **l, int64_t within_ms);

#endif
