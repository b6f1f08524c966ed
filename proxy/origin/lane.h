/* lane.h - one connection to an origin, and the libcurl handles that drive it on an event loop.
 *
 * A lane has a multi handle of its own, with one easy handle and one kept connection in it. libcurl
 * walks over all connections of a multi handle several times per request; with one there is nothing
 * to walk, and we, not libcurl, choose the connection and know whether it is a kept one.
 * The price: 2 file descriptors more (libcurl's wakeup pair) and about 50 KiB per connection.
 *
 * An idle connection stays registered for reading with the event loop: the next request on it
 * needs no epoll_ctl, and an origin that closes it (or talks out of turn) is noticed at once.
 *
 * Threads   one worker's.
 * Lifetime  the owner's calls below never happen inside lane_create or lane_destroy.
 */
#ifndef ORIGIN_LANE_H
#define ORIGIN_LANE_H

#include <curl/curl.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum { LANE_SOCKETS = 8 }; /* happy eyeballs need two, the resolver one */

struct lane_socket {
	struct lane *lane;
	struct event readable, writable;
	int fd;			      /* -1: a free place */
	bool ours;		      /* opened for a connection, so closed through us */
	bool may_read, may_write;     /* libcurl waits for it */
	bool watch_read, watch_write; /* the event loop waits for it */
};

struct lane_owner {
	/* A new lane: what all its transfers have in common is set on easy here. */
	void (*on_new)(struct lane *l);
	/* libcurl had a turn; done: the transfer is over with code. The owner may call lane_stop.
	 */
	void (*on_turn)(struct lane *l, bool done, CURLcode code);
	/* The time given to lane_wake_at has come. */
	void (*on_wake)(struct lane *l);
	/* The connection of an idle lane was closed by the origin or is no longer clean. */
	void (*on_lost)(struct lane *l);
};

struct lane {
	CURLM *multi;
	CURL *easy;
	const struct lane_owner *owner;
	void *user;  /* the owner's: whom the lane serves; NULL: idle */
	bool busy;   /* a transfer is under way */
	bool inside; /* libcurl is at work on this lane: its functions must not be called */
	bool opened; /* since lane_start a new connection was tried */
	int64_t curl_at_ms, wake_at_ms, timer_at_ms; /* 0: not set */
	struct event timer;
	struct lane_socket sockets[LANE_SOCKETS];
	char error[CURL_ERROR_SIZE]; /* libcurl's sentence about the last transfer */

	struct pool *pool; /* this and the rest: see pool.h */
	int64_t idle_since_ms;
	bool farewell; /* the TLS connection was closed with an alert, not just ended */
	TAILQ_ENTRY(lane) idle;
	LIST_ENTRY(lane) all;
};

int64_t lane_now_ms(void);

/* With what all transfers of a lane have in common set; the rest is the owner's to set on easy. */
struct lane *lane_create(struct event_base *base, const struct lane_owner *owner);
void lane_destroy(struct lane **l); /* stops what is under way, without a call to the owner */

/* The transfer that easy describes begins. The owner may be called before this returns. */
void lane_start(struct lane *l);
/* Ends it; a connection with bytes outstanding is closed. Not while inside. */
void lane_stop(struct lane *l);
/* As curl_easy_pause, and then a turn. Not while inside. */
void lane_pause(struct lane *l, int bits);
/* libcurl is through with reading the response and does not wait to be unpaused. */
bool lane_has_read_all(const struct lane *l);
bool lane_has_connection(const struct lane *l);
/* Is the idle lane's connection open and silent? */
bool lane_is_clean(const struct lane *l);
void lane_wake_at(struct lane *l, int64_t at_ms);

#endif
