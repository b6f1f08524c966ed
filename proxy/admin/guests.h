/* guests.h - the connections to the admin server: so many at once, and each with a time limit.
 *
 * libevent's HTTP server tells nobody when a connection ends, so a guest is a descriptor together
 * with the inode of its socket: when that changed, the connection is over. One that must go is shut
 * down, and the server, which finds its end, closes it.
 *
 * Units     milliseconds of a monotonic clock, handed in.
 * Threads   one: the admin server's.
 */
#ifndef ADMIN_GUESTS_H
#define ADMIN_GUESTS_H

#include <stdint.h>
#include <sys/types.h>

/* GUEST_MS: from its coming, or from its last whole request, to the next whole request. */
enum { GUESTS_MOST = 64, GUEST_MS = 60000 };

struct guest {
	int fd; /* the server's */
	ino_t inode;
	int64_t since_ms;
};
struct guests {				/* zeroed: nobody is here */
	struct guest list[GUESTS_MOST]; /* the quietest first */
	unsigned n;
};

/* A connection came. When GUESTS_MOST are here, the one goes that has asked for nothing the longest
 * time. */
void guests_add(struct guests *g, int fd, int64_t now_ms);
/* A whole request came. */
void guests_asked(struct guests *g, int fd, int64_t now_ms);
/* Now and then: whoever has asked for nothing for GUEST_MS goes. */
void guests_tick(struct guests *g, int64_t now_ms);

#endif
