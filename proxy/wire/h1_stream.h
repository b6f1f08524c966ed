/* h1_stream.h - what the files of h1 share, and nobody else knows: the request under way on a
 * connection, and its answer. h1_* with a struct stream are its calls for serve (stream_calls).
 *
 *	h1.c          turns: one request after the other, time limits, the end
 *	h1_request.c  heads and bodies of requests; stream_body, stream_took
 *	h1_answer.c   heads of answers, interim ones; stream_head and the other calls of serve
 *	h1_send.c     pulls bodies of answers from serve and writes them
 *	h1_pace.c     whether a client that is waited for keeps up
 */
#ifndef WIRE_H1_STREAM_H
#define WIRE_H1_STREAM_H

#include "proxy/http/chunked.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/pace.h"

#include <assert.h>

enum { SEGMENTS = STREAM_PIECES + 3 }; /* head, size of a chunk, pieces, end of the chunk */

enum body_in {
	BODY_OPEN,
	BODY_OVER,
	BODY_BROKEN /* fault says why; NULL: the client stopped */
};

/* The answer's life. Once it is over, one way or another, nothing more is pulled. */
enum answering {
	ANSWER_AWAITED, /* serve owes its head */
	ANSWER_FLOWS,	/* its head is given; there may be more to pull */
	ANSWER_LATER,	/* there is nothing to pull before serve says so */
	ANSWER_WHOLE,	/* all is pulled */
	ANSWER_CUT,	/* there is less than its head promised */
	ANSWER_RESET,	/* serve gave it up */
	ANSWER_SLOW	/* the client takes it too slowly */
};

/* One of these ends its body. */
enum framing_out { OUT_LENGTH /* or there is none */, OUT_CHUNKS, OUT_CLOSE };

struct h1_stream { /* lies in the arena of its request */
	struct stream base;
	struct conn *conn;
	void *ctx; /* serve's */
	const struct stream_request *r;
	struct arena *arena;

	/* the request's body */
	struct chunked chunked;
	uint64_t body_left; /* with FRAMING_LENGTH */
	uint64_t body_came; /* consumed by serve */
	size_t decoded;	    /* bytes at the front of the input that are body */
	const struct fault *body_fault;
	struct pace upward;
	enum body_in body;
	bool wanted;	   /* serve was told to wait for more */
	bool continue_due; /* the client waits for a 100 */

	/* the answer */
	struct str out; /* text to be sent before the next pieces: 1xx, the head */
	struct stream_source source;
	struct file_piece file;	      /* body behind the segments; n: what is not sent of it */
	uint8_t segment_n, segment_i; /* loaded; sent up to there */
	uint8_t body_from, body_to;   /* which of them are body */
	uint64_t left;		      /* body bytes to be pulled; LENGTH_UNKNOWN */
	uint64_t body_sent;
	uint64_t written; /* since the wait for the client began, or the last one ended */
	size_t interim_bytes;
	struct pace downward;
	enum answering answering;
	enum framing_out framing_out;
	uint8_t pauses; /* as stream_head.pauses */
	bool keep_alive;
	bool tunnel;	   /* protocols were switched: bytes both ways, until both have ended */
	bool output_ended; /* ... and the client was told that no more comes */
	uint64_t moved;	   /* bytes both ways when the wait under way, WAIT_TUNNEL, began */
	bool reused;	   /* not the connection's first */
	bool no_file;	   /* what comes next is pulled, though there may be a file */
	/* not cleared */
	struct str segments[SEGMENTS];
	char size_line[20];
};

/* The request under way on a connection that speaks HTTP/1; NULL between two. */
static inline struct h1_stream *
h1_stream(const struct conn *c)
{
	return c->session;
}

static inline struct h1_stream *
h1_stream_of(struct stream *s)
{
	return (struct h1_stream *)s;
}

/* ---- h1_request.c */

/* A complete head at the front of the input becomes a request; false: there is none yet. */
bool h1_request_next(struct conn *c);
/* A request whose head is these bytes at the front of the input, or none; a fault known beforehand
 * leaves them unparsed. */
void h1_request_begin(struct conn *c, struct str head, const struct fault *fault);

/* ---- h1_answer.c */

/* Texts to be sent before what serve gives next; an interim answer's, or all of a head. */
void h1_answer_add(struct h1_stream *s, struct str a, struct str b, struct str c);
void
h1_answer_head(struct stream *base, const struct stream_head *h, const struct stream_source *src);
void h1_answer_interim(struct stream *base, const struct field_block *head);
void h1_answer_ready(struct stream *base);
void h1_answer_reset(struct stream *base);

/* ---- h1_send.c */

enum h1_send { H1_SEND_EMPTY, H1_SEND_FULL, H1_SEND_TURN, H1_SEND_BROKEN };
/* Sends what can be sent now. */
enum h1_send h1_send(struct h1_stream *s);
/* Others have their turn now: of a body that is sent as far as it was pulled, nothing is kept. */
void h1_send_let_go(struct h1_stream *s);
/* Bytes pulled and not sent go back to serve, if it takes them. */
void h1_send_give_back(struct h1_stream *s);

/* ---- h1_pace.c */

/* So many clients of this worker are slow that no further one keeps what is read for it. */
bool h1_pace_crowded(const struct wire *w);
/* The connection waits within a request, and so far the client was slower than the least rate. */
bool h1_pace_is_slow(const struct conn *c);
/* The connection waits as what. The time of a wait that ends is the client's: one that was too slow
 * over its whole time fails in the next turn. */
void h1_pace_wait(struct h1_stream *s, enum waiting what);
/* The time limit of the wait under way is over, or others need what it holds. True: the client kept
 * up so far, and is waited for on; what it does not take is given back to serve. */
bool h1_pace_again(struct conn *c);

#endif
