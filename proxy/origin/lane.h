/* lane.h - one connection to an origin: bytes out, bytes in, and a clock.
 *
 * It stays registered for reading from request to request, so a request on a kept connection needs
 * no epoll_ctl, and an idle connection that the origin closes (or talks on) is noticed at once.
 *
 * Threads   one worker's.
 */
#ifndef ORIGIN_LANE_H
#define ORIGIN_LANE_H

#include "proxy/base/clock.h"
#include "proxy/origin/addresses.h"
#include "proxy/origin/dial.h"

#include <event2/event_struct.h>
#include <stdint.h>
#include <sys/queue.h>

struct lane;

struct lane_owner {
	/* The connection that lane_open began is open (CURLE_OK), or failed. */
	void (*on_open)(struct lane *l, CURLcode code, const char *sentence);
	void (*on_readable)(struct lane *l);
	void (*on_writable)(struct lane *l);
	/* The time given to lane_wake_at has come. */
	void (*on_wake)(struct lane *l);
};

struct lane {
	const struct lane_owner *owner;
	void *user; /* the owner's: whom the lane serves; NULL: idle */
	bool used;  /* has carried a request before */
	bool fed;   /* ... and one with a body (pool.h) */
	bool tls;

	int fd;		   /* -1: not open */
	struct dial *dial; /* while opening; over TLS until the end */
	bool reads, writes;
	int64_t wake_at_ms, timer_at_ms; /* 0: not set */
	struct event readable, writable, timer;

	struct ip peer; /* where it is open to, if its origin is found by name */

	struct pool *pool; /* this and the rest: see pool.h */
	unsigned edition;  /* of the origin's addresses, in which the peer was found last */
	bool stalled, apart;
	int64_t idle_since_ms;
	TAILQ_ENTRY(lane) idle;
	LIST_ENTRY(lane) all;
};

#define lane_now_ms now_exact_ms /* base/clock.h */

struct lane *lane_open(struct dials *dials, const struct lane_owner *owner);
void lane_close(struct lane **l); /* no call to the owner follows */

/* Bytes moved, 0 at the end of the connection, -1 with errno (EAGAIN: later). */
ssize_t lane_send(struct lane *l, const char *p, size_t n);
ssize_t lane_recv(struct lane *l, char *p, size_t n);
/* After a read of got bytes of room: may there be more, for which no event would come? */
bool lane_may_have_more(const struct lane *l, size_t got, size_t room);
/* Nothing more is sent; what the origin says is still read. */
void lane_end(struct lane *l);
/* The owner wants these calls: on_readable, on_writable. */
void lane_watch(struct lane *l, bool read, bool write);
/* on_readable comes in any case, soon: bytes may be here already. */
void lane_read_now(struct lane *l);

/* Open and silent? Bytes of nobody's response would be read as the next one's. */
bool lane_is_clean(const struct lane *l);
/* At the end: was it meant, or may bytes be missing? Known only over TLS. */
bool lane_ended_well(const struct lane *l);
const char *lane_alert(const struct lane *l); /* dial_alert */
void lane_wake_at(struct lane *l, int64_t at_ms);

#endif
