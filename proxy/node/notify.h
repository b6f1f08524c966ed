/* notify.h - what the supervisor is told: the protocol of sd_notify(3), datagrams to $NOTIFY_SOCKET.
 *
 * systemd speaks it, and others do (s6, supervisors of containers). Without the variable every call
 * does nothing.
 *
 * Errors    none: whoever does not listen is not told.
 * Threads   any.
 */
#ifndef NODE_NOTIFY_H
#define NODE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

bool notify_is_heard(void); /* there is a supervisor */
/* Lines such as "READY=1\nSTATUS=...". */
void notify_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Hands over a copy of fd, which comes back under that name at the next start (FDSTORE). The name
 * has no ":" and no control characters. */
void notify_keep(const char *name, int fd);
void notify_forget(const char *name); /* all of that name */
void notify_reloading(void);	      /* READY=1 must follow */
/* How often it wants to hear WATCHDOG=1, in milliseconds; 0: never. */
int64_t notify_watchdog_ms(void);

#endif
