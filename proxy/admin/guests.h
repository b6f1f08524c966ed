/* guests.h - the connections to the admin server: so many at once, and each with a time limit.
 *
 * libevent's HTTP server tells nobody when a connection ends, but takes its callbacks off the
 * bufferevent then. A guest is a reference to that: so its socket, which is closed with the last
 * reference, is never somebody else's. One that must go is shut down, and the server finds its end.
 *
 * Units     milliseconds of a monotonic clock, handed in.
 * Threads   one: the admin server's.
 */
#ifndef ADMIN_GUESTS_H
#define ADMIN_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct bufferevent;

/* GUEST_MS: from its coming, or from its last whole request, to the next whole request. */
enum { GUESTS_MOST = 64, GUEST_MS = 60000 };

struct guest {
	struct bufferevent *connection; /* a reference */
	int64_t since_ms;
	bool asked; /* and has no whole answer yet */
};
struct guests {				/* zeroed: nobody is here */
	struct guest list[GUESTS_MOST]; /* the quietest first */
	unsigned n;
};

/* A connection came, which closes its socket with its last reference (BEV_OPT_CLOSE_ON_FREE) and has
 * the server's callbacks; the reference becomes the list's. When GUESTS_MOST are here, the one goes that has asked for nothing the longest
 * time. */
void guests_add(struct guests *g, struct bufferevent *connection, int64_t now_ms);
/* A whole request came. */
void guests_asked(struct guests *g, const struct bufferevent *connection, int64_t now_ms);
/* Its answer is on its way, all of it. */
void guests_answered(struct guests *g, const struct bufferevent *connection);
/* Somebody has asked and is not answered, or has said something that was not read yet. */
bool guests_wait(const struct guests *g);
/* Now and then: whoever has asked for nothing for GUEST_MS goes. */
void guests_tick(struct guests *g, int64_t now_ms);
/* The server is gone. */
void guests_fini(struct guests *g);

#endif
