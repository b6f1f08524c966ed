/* front.h - a protocol on a connection, as the rest of wire sees it: who makes streams of what a
 * socket brings, and answers of what serve says. To add one: a file that fills this table and
 * stream_calls (serve/stream.h), and a place that sets struct conn.front to it: front_of in
 * entrance.c, or any time before the connection has a session.
 *
 * Whatever a front has for a connection hangs on struct conn.session; a connection without one can
 * be freed. It goes on in drive until it has to wait, and says for what (conn_wait): every wait has
 * a time limit, but that for serve.
 */
#ifndef WIRE_FRONT_H
#define WIRE_FRONT_H

#include <stdbool.h>
#include <stddef.h>

struct conn;

struct front { /* constant */
	/* Moves the connection on as far as it goes now; may free it. */
	void (*drive)(struct conn *c);
	/* The connection waits longer than its list allows; may free it. */
	void (*timeout)(struct conn *c);
	/* It waits for the client within a request, which so far sent or took less than the least
	 * rate; with no least rate, nothing at all. */
	bool (*is_slow)(const struct conn *c);
	/* Others need what the connection, in WAIT_SEND, holds of bodies: it is given back to
	 * serve. True: the client kept up so far, and is waited for on; false: drive it. */
	bool (*again)(struct conn *c);
	/* The connection goes, with requests under way or not: on_done(GONE or RESET), freed. */
	void (*close)(struct conn *c);
	/* The same, because its place is another's: a client that was sent nothing of an answer is told to come
	 * again, as far as the socket takes that at once. NULL: as close. */
	void (*give_way)(struct conn *c);
	/* No request begins after those that are here; may free it. */
	void (*drain)(struct conn *c);
	/* The client is told to send its next requests by another connection, if the protocol can say
	 * that between two answers; may free it. NULL: it cannot. */
	void (*leave)(struct conn *c);
	/* It has been idle for a while: memory that the next request has anew goes. NULL: there is none. */
	void (*rest)(struct conn *c);
	/* Bytes of memory that its requests hold and that can be had back; NULL: nobody counts them. */
	size_t (*held)(const struct conn *c);
	/* Aborts if an invariant of its session fails between two events. O(1). */
	void (*check)(const struct conn *c);
};

/* is_slow and again of a front that ends before the first request: nobody is owed anything. */
static inline bool
front_is_slow_early(const struct conn *c)
{
	(void)c;
	return true;
}

static inline bool
front_again_early(struct conn *c)
{
	(void)c;
	return true;
}

#endif
