/* wire.h - one worker's side towards clients: doors that are listened at, connections, time limits.
 *
 *	wire.c      accepts, refuses, ticks, drains
 *	clients.c   how many there are, over all workers
 *	room.c      at the limit, which worker can do without one
 *	conn.c      a socket: bytes in, bytes out, what is waited for
 *	front.h     what a protocol on it does: makes streams and answers
 *	h1*.c       HTTP/1.x on it: request heads and bodies, answers, the calls of serve/stream.h
 *
 * Threads   everything here belongs to one worker's thread.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "proxy/base/arena.h"
#include "proxy/base/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrival;
struct clients;
struct event_base;
struct listener;
struct network;
struct room;
struct stream_up;
struct wire;

struct wire_limits {
	size_t head_bytes, url_bytes;
	uint64_t body_bytes; /* 0: no limit */
	unsigned field_count;
	uint64_t least_rate; /* bytes per second that a client sends or takes at least, over the
			      * time of body_ms or send_ms; 0: one byte in that time */
	int64_t header_ms;   /* from the first byte of a head to its last */
	int64_t idle_ms;     /* between requests */
	int64_t body_ms;     /* see least_rate */
	int64_t send_ms;
	int64_t tunnel_ms;     /* without a byte either way, where either side may be silent */
	int64_t half_close_ms; /* for an answer, when the client has stopped sending */

	/* Of an HTTP/2 connection: requests under way, reset ones included; how many may fail, and
	 * how many frames bring nothing, at once. A tenth of these is forgiven each second. */
	unsigned h2_streams, h2_resets, h2_frames;
	size_t h2_memory; /* what the requests of all HTTP/2 connections of all workers hold; 0: no
			   * limit */
};

struct wire_options {
	struct event_base *base;
	struct metrics *metrics;
	struct arena_pool *arenas;
	struct clients *clients; /* shared by all workers */
	struct clients *
		siblings; /* the same, of those that come to a sibling listener; NULL: nobody does */
	struct room *room; /* the same; joined by the caller, and left after wire_destroy */
	unsigned worker;   /* which one this is, there */
	/* These may speak the PROXY protocol; borrowed until wire_destroy or wire_settle. */
	const struct network *forwarders;
	unsigned forwarder_count;
	const struct stream_up *up;
	void *node; /* handed to up->on_request */
	struct wire_limits limits;
};
struct wire *wire_create(const struct wire_options *o); /* NULL: out of memory or descriptors */
/* Ends what is under way (on_done: STREAM_RESET) and closes the doors. */
void wire_destroy(struct wire **w);

/* A listening socket, taken; the listener outlives w. id: any number, for the next two. 0 or -1. */
int wire_listen(struct wire *w, int fd, const struct listener *l, unsigned id);
/* The sockets of that number are closed. A client that was in their queue is still answered, and
 * connections that came in by them go on. */
void wire_unlisten(struct wire *w, unsigned id);
/* From now on, clients who come in by the sockets of that number speak as l says; it outlives w. */
void wire_speak(struct wire *w, unsigned id, const struct listener *l);
/* Other limits, from now on and for the connections that are there too. What was said at the
 * beginning of one (SETTINGS of HTTP/2) stays so for it. */
void wire_settle(struct wire *w, const struct wire_limits *l, const struct network *forwarders,
		 unsigned forwarder_count);
/* An accepted connection, taken; refused when there are too many. */
void wire_accept(struct wire *w, const struct arrival *a);
/* The same for one that another worker accepted, and handed over. */
void wire_arrive(struct wire *w, const struct arrival *a);
/* Every 50 ms or so: what has waited too long ends here. */
void wire_tick(struct wire *w, int64_t now_ms);
/* No new connections or requests; those under way go on. A client that was in the queue of the
 * listening socket is still answered. */
void wire_drain(struct wire *w);
/* Clients are told to go on by other connections, with their next answer or, by HTTP/2, at once; idle
 * ones stay. False: not any more, of HTTP/2 as far as they have not been told. */
void wire_leave(struct wire *w, bool yes);
/* For good: clients still come in, and each answer is the last of its connection; by HTTP/2, GOAWAY follows
 * the first one. Idle connections stay. */
void wire_be_lame_duck(struct wire *w);
void wire_close_all(struct wire *w);
unsigned wire_connections(const struct wire *w);

#endif
