/* conn.h - a client's socket: accepted, idle, reading heads and bodies, writing, closing.
 *
 * A plain non-blocking socket with one persistent edge-triggered event. An idle connection holds no
 * buffer: sockets are read into the worker's scratch, and only what is left over is kept.
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include "proxy/node/worker.h"

#include <netinet/in.h>
#include <sys/uio.h>

struct conn {
	struct worker *worker;
	int fd;
	struct event ev;
	struct conn *next, **prev;	     /* all of the worker's */
	struct conn *wait_next, **wait_prev; /* in worker->waits[waiting] */
	int64_t wait_since_ms;
	int unsent;	 /* WAIT_SEND: bytes the client had not taken when it began */
	uint8_t waiting; /* enum waiting */
	bool ending;	 /* the end of what the client sends is here, behind what is not read yet */
	bool readable;	 /* the last read did not empty the socket */
	bool eof;	 /* the client will send no more */
	bool broken;	 /* a read or write failed: nothing can be sent */
	bool lingering;	 /* answered and shut down; what still comes is thrown away */
	struct buf in;	 /* received; consumed up to in_at */
	size_t in_at;
	struct str view; /* as in, but still lying in the worker's scratch */
	size_t scanned;	 /* of the input: no end of head before here */
	struct txn *txn;
	union {
		struct in_addr v4;
		struct in6_addr v6;
	} peer;
	uint8_t family;
};

void conn_accept(struct worker *w, int fd, const struct sockaddr *peer);
/* Moves the connection on as far as it goes now; may free it. */
void conn_drive(struct conn *c);
/* Closes and frees; a transaction under way is abandoned. */
void conn_close(struct conn *c);
void conn_wait(struct conn *c, enum waiting what);
/* Text of the client's address into out (INET6_ADDRSTRLEN). */
void conn_peer(const struct conn *c, char *out);

/* Unconsumed input; reads more from the socket when there is none and it may have some. */
struct str conn_input(struct conn *c);
void conn_consume(struct conn *c, size_t n);
/* Moves what lies in the scratch to the connection: before anything that may use the scratch. */
void conn_keep_view(struct conn *c);
/* Reads more behind what is there, up to most bytes in all; false when nothing was added. */
bool conn_read_more(struct conn *c, size_t most);

/* Bytes written, 0 when the socket is full (conn_drive comes again), -1 when it is broken. */
ssize_t conn_write(struct conn *c, const struct iovec *iov, int n);

/* The connection's time is up: called by the worker's tick. */
void conn_timeout(struct conn *c);
void conn_begin_drain(struct conn *c);

#endif
