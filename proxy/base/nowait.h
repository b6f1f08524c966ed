/* nowait.h - writing to a descriptor that somebody else may have stopped reading.
 *
 * A pipe whose reader sleeps, a terminal that was halted with Ctrl-S and the socket of a log
 * service all block a plain write(2). The flag O_NONBLOCK is no remedy for a descriptor that was
 * inherited: it belongs to all processes that share it.
 *
 * Threads   any.
 * Errors    errno, as write(2) sets it; EAGAIN: not now.
 */
#ifndef BASE_NOWAIT_H
#define BASE_NOWAIT_H

#include <stddef.h>
#include <sys/types.h>

/* A descriptor of our own for what fd leads to, closed at exec; -1 and errno. The caller closes it,
 * and may then use nowait_write without waiting, whoever else writes there. */
int nowait_dup(int fd);

/* Writes as much as is possible at once: n bytes or fewer, or -1. A regular file takes what its
 * disk takes. On a shared descriptor that is not from nowait_dup, another process that fills a pipe
 * in the same moment can still make this wait. */
ssize_t nowait_write(int fd, const void *p, size_t n);

#endif
