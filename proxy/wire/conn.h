/* conn.h - a client's socket: accepted, idle, reading, writing, closing. For the rooms of wire
 * only.
 *
 * A plain non-blocking socket with one persistent edge-triggered event. An idle connection holds no
 * buffer: sockets are read into the worker's scratch, and only what is left over when another
 * connection wants the scratch is kept.
 *
 * Its descriptor is used in conn.c, and in tls_bio.c for what TLS makes of its bytes, and nowhere else.
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include "proxy/base/buf.h"
#include "proxy/base/file_piece.h"
#include "proxy/wire/arrival.h"
#include "proxy/wire/front.h"
#include "proxy/wire/tls.h"
#include "proxy/wire/wire.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <sys/uio.h>

/* A connection may wait for one of these, each with its own time limit: one list per kind, oldest
 * first, because all in a list wait equally long. */
enum waiting {
	WAIT_NOTHING,	/* serve owes the next step */
	WAIT_HANDSHAKE, /* of TLS */
	WAIT_HEAD,
	WAIT_IDLE,
	WAIT_BODY,
	WAIT_SEND,
	WAIT_STUCK,   /* WAIT_SEND for so long that what was pulled is given back */
	WAIT_GONE,    /* serve owes an answer to a client that has stopped sending */
	WAIT_STREAMS, /* HTTP/2 with requests: each has its own limits, looked at again and again */
	WAIT_TUNNEL,  /* either side may speak, or not, and no byte has moved since */
	WAIT_LINGER,  /* answered and shut down; what still comes is thrown away */
	WAIT_KINDS
};

/* The client's input may have ended. */
enum input {
	INPUT_OPEN,
	INPUT_ENDING, /* its end is here, maybe behind bytes that are not read */
	INPUT_OVER    /* all of it is read */
};

struct wait_list {
	struct conn *first, **last;
	unsigned count;
	int64_t limit_ms;
	int64_t judged_ms; /* within a request: when it can be told whether the client is slow */
};

/* Waits for the client to take what is sent. */
static inline bool
waiting_is_send(enum waiting w)
{
	return w == WAIT_SEND || w == WAIT_STUCK;
}

/* GATHER_MOST: pieces of together so much are copied into one before they are sent. Measured on
 * loopback, in cycles: sendmsg of two pieces, send of one, copy and send: 1.3 KiB 10630, 10110,
 * 10190; 10.3 KiB 11150, 10630, 10970. */
enum { SCRATCH_BYTES = 128 << 10, GATHER_MOST = 12 << 10 };

struct wire {
	struct wire_options o;
	struct wire_limits sibling_limits; /* of who asks for others (listener.h) */
	struct wait_list waits[WAIT_KINDS];
	struct conn *to_rest; /* the next in WAIT_IDLE whose front has not rested */
	struct conn *conns;
	struct conn *next_conn; /* whose turn is next where all have theirs: it may go before */
	unsigned conn_count;
	struct door *doors;
	bool draining;
	bool leaving;	       /* every answer is the last of its connection */
	bool lame_duck;	       /* the same, in the time of each connection */
	int64_t warned_ms;     /* of descriptors that ran out */
	int64_t stranger_ms;   /* the same of somebody who is no forwarder */
	char *scratch;	       /* what a socket is read into */
	char *gather;	       /* GATHER_MOST, for the time of one write */
	struct conn *view_of;  /* whose input lies there */
	struct str view;       /* and which part of it is not consumed */
	struct field *fields;  /* FIELDS_MAX: what a head is parsed into */
	struct places *places; /* who may be asked to give way; NULL: was never asked for */
	struct h2_shared *h2;  /* what its HTTP/2 connections share; NULL before the first */
	struct tls_desk desk;
	unsigned within_serve;	/* calls of serve under way: none may come from within stream_* */
	unsigned within_stream; /* stream_* under way */
};

/* Connections that a look found, until they go or PLACES_MOST others are found (places.c). */
enum { PLACES_MOST = 64 };
struct places {
	struct shares *shares;
	int64_t told_ms; /* when the log said who gives way */
	size_t slot;	 /* of their address */
	bool gathered;	 /* since the last look */
	unsigned n, oldest;
	struct conn *found[PLACES_MOST];
};

static inline void
places_forget(struct places *p, const struct conn *c)
{
	for (unsigned i = 0; p && i < p->n; i++)
		if (p->found[i] == c)
			p->found[i] = NULL;
}

struct conn {
	struct wire *wire;
	const struct front *front;
	const struct listener *listener;
	struct tls *tls; /* owned; NULL: not encrypted */
	void *session;	 /* the front's; h1: the request under way; NULL: none */
	int fd;
	int unsent; /* WAIT_SEND, WAIT_STUCK: bytes the client had not acknowledged when it began */
	uint8_t waiting, input, family; /* enum waiting, enum input, AF_* */
	bool readable;			/* the last read did not empty the socket */
	bool writable;			/* an event said so, and no write was refused since */
	bool broken;			/* a read or write failed: nothing can be sent */
	bool shaking;			/* counted among the handshakes under way */
	bool driving;			/* front->drive is under way */
	bool line_seen; /* the first line of the head that is coming was looked at */
	bool asked;	/* a request came by it */
	bool news;	/* an event said that there is something to read, since the last look */
	struct event ev;
	struct conn *next, **prev;	     /* all of the worker's */
	struct conn *wait_next, **wait_prev; /* in wire->waits[waiting] */
	int64_t wait_since_ms;
	struct buf in; /* received; consumed up to in_at; empty while wire->view_of is this */
	size_t in_at;
	size_t scanned; /* of the input: no end of head before here */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	} peer;
};

/* Takes an accepted socket that clients_enter has counted; NULL: it had to be closed. Its events,
 * and what conn_wake asks for, come to on_event with the connection as its argument, which begins
 * with conn_note. */
struct conn *conn_open(struct wire *w, const struct arrival *a, const struct front *front,
		       event_callback_fn on_event);
/* An event happened: EV_READ and so on. */
void conn_note(struct conn *c, short what);
/* Aborts if an invariant fails between two events. O(1). */
void conn_check(const struct conn *c);
void conn_check_wire(const struct wire *w);
/* Frees it; its session must have ended. */
void conn_free(struct conn *c);
/* The same, and the client is told by a reset that what it got is not whole. */
void conn_free_reset(struct conn *c);
/* Throws away what the client still sends, for a bounded while; may free it. */
void conn_linger(struct conn *c);
void conn_wait(struct conn *c, enum waiting what);
/* For conn.c: the lists of those that wait. */
void conn_waits_enter(struct conn *c, enum waiting what);
void conn_waits_leave(struct conn *c); /* may be in none */
/* The tick: fronts of connections that have been idle for CONN_RESTS_MS rest. */
enum { CONN_RESTS_MS = 1000 };
void conn_waits_rest(struct wire *w, int64_t now);
/* Nothing more is sent to the client; what it sends is still read. */
void conn_end_output(struct conn *c);
/* The connection is driven later in this round of the loop. */
void conn_wake(struct conn *c);
/* The handshake is over, one way or another. */
void conn_end_handshake(struct conn *c);
/* The answer is not whole: the client of a TLS connection is not told that it ended well. */
void conn_spoil(struct conn *c);
void conn_peer_address(const struct conn *c, struct sockaddr_storage *out);
/* Sets whose it is; AF_UNSPEC: nobody knows. */
void conn_set_peer(struct conn *c, const struct sockaddr *peer);
/* Says, where HTTP/1 is spoken from the first byte on and it can be said at once, that there are too many
 * clients. */
void conn_refuse(struct conn *c);
/* The same on a connection that speaks HTTP/1 and has sent nothing of an answer. */
void conn_refuse_late(struct conn *c);
/* Whether a request for this host[:port] may come by this connection; else it is misdirected. */
bool conn_is_for(const struct conn *c, struct str authority);
/* Describes the TLS in use, but for reused. */
struct stream_link;
void conn_link(const struct conn *c, struct stream_link *out);
/* Text of the client's address (INET6_ADDRSTRLEN). */
void conn_peer(const struct conn *c, char *out);
/* The same as network.h has addresses. */
void conn_address(const struct conn *c, unsigned char out[16]);

/* Serve must never be called from within one of its own calls: every call up goes through these. */
static inline void
conn_enter_serve(struct wire *w)
{
	assert(w->within_stream == 0);
	w->within_serve++;
}

static inline void
conn_leave_serve(struct wire *w)
{
	assert(w->within_serve > 0);
	w->within_serve--;
}

/* Unconsumed input that is here already. */
struct str conn_input(const struct conn *c);
/* Reads more behind it, up to most bytes in all; false when nothing was added. */
bool conn_read(struct conn *c, size_t most);
void conn_consume(struct conn *c, size_t n);
/* Finds out about a reset or the end of what the client sends without taking a byte. */
void conn_look(struct conn *c);
/* Whether there is a byte in the socket that nobody has read. */
bool conn_has_come(const struct conn *c);
/* The first bytes there, up to max, which stay. As recv. */
ssize_t conn_peek(const struct conn *c, char *p, size_t max);
/* Takes n of them; false: that many are not there. */
bool conn_take(const struct conn *c, char *p, size_t n);
/* From here on TLS is spoken. False: there is no memory for it. */
bool conn_encrypt(struct conn *c, struct tls_certs *certs);
/* Says it as it is, encrypted or not, where it can be said at once. */
void conn_say(const struct conn *c, struct str text);

/* Bytes written, 0 when the socket is full (an event will come), -1 when it is broken. more: the
 * next write follows at once. */
ssize_t conn_write(struct conn *c, const struct iovec *iov, unsigned n, bool more);
/* Whether what is sent may come from a file. */
static inline bool
conn_sends_files(const struct conn *c)
{
	return !c->tls || tls_is_in_kernel(c->tls); /* else it would go out as it is */
}
/* As conn_write; CONN_FILE_UNREAD: the file cannot be read; CONN_FILE_NOT_NOW: not without waiting for its disk.
 * Nothing was sent then. The bytes are at most FILE_MOST of h1_send.c. */
enum { CONN_FILE_UNREAD = -2, CONN_FILE_NOT_NOW = -3 };
ssize_t conn_write_file(struct conn *c, const struct file_piece *piece);
/* 1: what conn_write took is with the kernel; 0: not yet, the socket is full; -1: broken. */
int conn_flush(struct conn *c);
/* WAIT_SEND, WAIT_STUCK: by how much less the client has not acknowledged than when it began. */
int conn_taken(const struct conn *c);

/* Among whom somebody at that listener counts. */
static inline struct clients *
conn_clients(const struct wire *w, const struct listener *l)
{
	return l->sibling ? w->o.siblings : w->o.clients;
}

static inline const struct wire_limits *
conn_limits(const struct conn *c)
{
	return c->listener->sibling ? &c->wire->sibling_limits : &c->wire->o.limits;
}

#endif
