/* h2_stream.h - what the files of h2 share, and nobody else knows: a connection's session, and its
 * streams. h2_* with a struct stream are their calls for serve (stream_calls).
 *
 *	h2.c          turns: reads, tells serve, sends; time limits, draining, the end
 *	h2_session.c  what libnghttp2 reports, and how a session is set up
 *	h2_request.c  heads and bodies of requests; stream_body, stream_took
 *	h2_work.c     the requests under way, and those whose fetch goes on without them
 *	h2_held.c     what they hold in memory, and who gives way
 *	h2_memory.c   where the memory of libnghttp2 lies
 *	h2_answer.c   heads of answers, interim ones; stream_head and the other calls of serve
 *	h2_send.c     pulls bodies of answers from serve, and gathers frames into writes
 *	h2_trailers.c fields behind a body
 *	h2_pace.c     whether the client keeps up, as a whole and stream by stream
 *	h2_guard.c    what a client may cost without asking for anything; who is told
 *
 * libnghttp2 calls back while it reads or frames: there, what serve has to know is only noted
 * (h2_note), and told when it has returned. Pulls are the exception: a body is pulled while its frame
 * is made.
 */
#ifndef WIRE_H2_STREAM_H
#define WIRE_H2_STREAM_H

#include "proxy/base/buf.h"
#include "proxy/http/h2_head.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/h2.h"
#include "proxy/wire/h2_memory.h"
#include "proxy/wire/pace.h"

#include <nghttp2/nghttp2.h>

/* H2_RECORD: frames are gathered up to here before they are written. H2_BODY_WINDOW: bytes of bodies
 * that serve has not taken, of all requests of a connection. */
enum { H2_FRAME = (16 << 10) + 9, H2_RECORD = 64 << 10, H2_BODY_WINDOW = 256 << 10 };

enum h2_answering {
	H2_AWAITED, /* serve owes its head */
	H2_FLOWS,
	H2_LATER, /* there is nothing to pull before serve says so */
	H2_WHOLE, /* all is pulled */
	H2_CUT	  /* there is less than its head promised, or serve or we gave it up */
};

/* Serve is to be told these of a stream, when libnghttp2 has returned. */
enum { H2_NOTE_REQUEST = 1, H2_NOTE_BODY = 2, H2_NOTE_DONE = 4 };

struct h2_crumb { /* of a cookie; RFC 9113 8.2.3 */
	struct h2_crumb *next;
	struct str value;
};

struct h2_input {	 /* the body of a request */
	struct buf came; /* received and not taken by serve from at on */
	size_t at;
	size_t kept; /* bytes taken by serve, and still in memory there */
	bool enough; /* what is kept goes on, though it is not whole */
};

struct h2_stream { /* lies in the arena of its request */
	struct stream base;
	struct h2 *h2;
	struct h2_stream *next, **prev; /* all of the session's */
	struct h2_stream *note_next, *sent_next;
	void *ctx; /* serve's; NULL: it was not told of the request yet */
	struct stream_request *r;
	struct arena *arena;
	size_t held; /* in memory, as it was counted last: h2_held.c */
	int32_t id;
	uint8_t notes;
	bool noted;	/* it stands in h2->noted */
	bool reused;	/* not the connection's first */
	bool closed;	/* libnghttp2 knows it no more */
	bool malformed; /* its head: it was reset, and serve knows nothing of it */
	bool ours;	/* it was reset for a reason that is not the client's */
	enum stream_end end;

	/* the head that is coming */
	struct h2_head head;
	struct h2_crumb *crumbs, **crumbs_last;
	size_t head_bytes, crumb_bytes;

	/* the request's body */
	struct h2_input in;
	uint64_t body_came; /* taken by serve */
	const struct fault *body_fault;
	struct pace upward;
	bool in_over, broken;
	bool wanted;	   /* serve was told to wait for more */
	bool continue_due; /* the client waits for a 100 */

	/* the answer */
	struct stream_source source;
	struct str segments[STREAM_PIECES]; /* pulled, and not framed from segment_i on */
	uint8_t segment_n, segment_i;
	enum h2_answering answering;
	bool counted;	   /* its length was said */
	uint8_t pauses;	   /* as stream_head.pauses */
	int64_t silent_ms; /* ... and nothing has moved either way for so long, */
	uint64_t moved;	   /* since so many bytes had */
	uint64_t left;	   /* body bytes to be pulled; LENGTH_UNKNOWN */
	uint64_t body_sent;
	size_t interim_bytes;
	struct pace downward;
};

struct h2_bucket { /* empties by what a client costs, fills again with time */
	int64_t filled_ms;
	uint64_t left; /* in thousandths */
};

struct h2_held {      /* by all requests of a connection, and what lasts of them */
	size_t bytes; /* in memory */
	unsigned
		behind; /* requests that are not begun before others have gone on (h2_held_may_begin) */
	struct h2_memory session; /* where that of ng lies */
};

/* Arenas of requests that ended before serve's work for them did: it counts on. Room for h2->most. */
struct h2_lasting {
	struct arena **of;
	unsigned n;
	size_t held; /* bytes */
};

struct h2 { /* conn->session */
	struct conn *conn;
	nghttp2_session *ng;
	struct h2_stream *streams;
	unsigned count;
	unsigned most; /* http2.streams when it began, which its client was told; it stays so */
	struct h2_stream *noted, **noted_last;
	struct h2_stream *sent, **sent_last; /* framed to the end, not all written */
	struct h2_lasting lasting;
	struct h2_held held;
	struct buf out; /* frames that the socket did not take, from out_at on */
	size_t out_at;
	size_t record_n; /* in the worker's record, while frames are gathered */
	bool full;	 /* the socket took not all */
	bool paused;	 /* the record is full */
	uint64_t written;
	struct pace downward;
	struct pace granted; /* by the connection's window, of all bodies */
	int64_t watched_ms;
	int64_t head_since_ms; /* a head is coming that is not complete; 0: none is */
	int32_t head_id;       /* its stream */
	struct h2_bucket resets, frames;
	uint64_t useful; /* bytes sent or received that are not forgiven yet */
	int64_t unknown; /* bytes received that belong to no frame that was reported */
	int64_t late;	 /* bytes that may still come for streams that we ended or refused */
	enum h2_abuse { H2_FINE, H2_RESETS, H2_FRAMES, H2_HEADERS, H2_MEMORY } abuse;
	uint8_t error;		/* of GOAWAY that libnghttp2 sent */
	bool failed;		/* the session cannot go on */
	bool answered;		/* a request ended since the connection last waited */
	bool draining, drained; /* the first GOAWAY is out; the second one is due */
	bool told_last;		/* ... and was said */
};

struct h2_shared {
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct h2_pages *pages;
	char *record;	       /* H2_RECORD, for the time of one write */
	nghttp2_nv *nva;       /* H2_LINES_MOST */
	size_t held;	       /* by all of this worker's */
	struct shares *shares; /* of that, among addresses; NULL: was never asked for */
	size_t even;	       /* a share of what this worker may hold, at the last look */
	struct {
		uint64_t who;
		int64_t ms;
	} told[64]; /* whom the log has named, and when */
};
enum { H2_LINES_MOST = 2 * FIELDS_MAX };

static inline struct h2_stream *
h2_stream_of(struct stream *s)
{
	return (struct h2_stream *)s;
}

/* Bytes that were pulled and are not framed. */
static inline size_t
h2_send_pulled(const struct h2_stream *s)
{
	size_t n = 0;
	for (unsigned i = s->segment_i; i < s->segment_n; i++)
		n += s->segments[i].n;
	return n;
}

/* Serve is told of it in this turn. */
static inline void
h2_note(struct h2_stream *s, int what)
{
	struct h2 *h2 = s->h2;
	s->notes |= (uint8_t)what;
	if (s->noted)
		return;
	s->noted = true;
	s->note_next = NULL;
	*h2->noted_last = s;
	h2->noted_last = &s->note_next;
}

/* ---- h2_session.c */

/* Of a connection that has none; never NULL. */
struct h2 *h2_session_create(struct conn *c);
void h2_session_destroy(struct h2 *h2); /* its streams have ended */

/* ---- h2_request.c */

/* A head begins; NULL: as much work is under way as may be. */
struct h2_stream *h2_request_open(struct h2 *h2, int32_t id);
/* More of it has come, in a frame of so many bytes; NULL: it was refused. */
void h2_request_continues(struct h2_stream *s, size_t frame_bytes);
/* A line of it. False: so much that the connection must end. */
bool h2_request_line(struct h2_stream *s, struct str name, struct str value);
/* It is complete: serve is told. */
void h2_request_begin(struct h2_stream *s);
/* It was reset for what its head says: serve is told, for its log and its counters. */
void h2_request_malformed(struct h2_stream *s);
void h2_request_data(struct h2_stream *s, struct str bytes);
/* libnghttp2 forgets the stream: what of its body was not taken is given up. */
void h2_request_close(struct h2_stream *s);

/* ---- h2_work.c */

/* Aborts if an invariant of a request under way fails between two calls. O(1). */
void h2_work_check(const struct h2_stream *s);
/* As many requests are under way as may be, those included whose fetch outlives them. */
bool h2_work_is_full(struct h2 *h2);
void h2_work_add(struct h2_stream *s);
/* Of requests that are over, those whose fetch has ended too count no more. */
void h2_work_sweep(struct h2 *h2);
/* Serve is told that it is over; s is gone. */
void h2_work_done(struct h2_stream *s, enum stream_end how);

/* ---- h2_held.c: bytes that requests hold in memory */

/* The account of its connection follows s, which may hold more or less than before. */
void h2_held_count(struct h2_stream *s);
/* The same for what is no stream's own. */
void h2_held_add(struct h2 *h2, size_t more, size_t less);
/* As front.h says it; nothing of a connection that ends by that. */
size_t h2_held_bytes(const struct conn *c);
/* So much more may the connection hold. */
size_t h2_held_room(const struct h2 *h2);
/* The connection may begin no more requests now. Others may come to their end by this. */
bool h2_held_is_full(struct h2 *h2);
/* The request of s, whose head is complete, may be begun: not where its client lets in no answer, to as
 * many others neither. Else it is noted once more when that may have changed. */
bool h2_held_may_begin(struct h2_stream *s);
void h2_held_begin_more(struct h2 *h2);
/* Where bodies that serve keeps have used up the connection's window, the one that most is kept of goes on.
 * later: for a while none did. */
void h2_held_relieve(struct h2 *h2, bool later);

/* ---- h2_answer.c */

void
h2_answer_head(struct stream *base, const struct stream_head *h, const struct stream_source *src);
void h2_answer_interim(struct stream *base, const struct field_block *head);
void h2_answer_ready(struct stream *base);
void h2_answer_reset(struct stream *base);
/* Ends it with RST_STREAM, for no fault of the client. */
void h2_answer_cut(struct h2_stream *s, enum stream_end how, uint32_t code);

/* ---- h2_trailers.c */

/* Its body has come to its end: whether trailers, which are submitted then, end the answer instead. */
bool h2_trailers_submit(struct h2_stream *s);

/* ---- h2_send.c */

enum h2_send { H2_SEND_EMPTY, H2_SEND_FULL, H2_SEND_TURN, H2_SEND_BROKEN };
enum h2_send h2_send(struct h2 *h2);
/* libnghttp2's data source, and what frames its bytes. */
ssize_t h2_send_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
		     nghttp2_data_source *source, void *ctx);
int h2_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t length,
		 nghttp2_data_source *source, void *ctx);
/* Bytes pulled and not framed go back to serve, if it takes them. */
void h2_send_give_back(struct h2_stream *s);

/* ---- h2_pace.c */

/* Once a second or so, while there are streams: those whose client is too slow end. False: it is too
 * slow as a whole. */
bool h2_pace_watch(struct h2 *h2);
bool h2_pace_is_slow(const struct conn *c);

/* ---- h2_guard.c: each says when it is too much, by h2->abuse */

void h2_guard_init(struct h2 *h2);
void h2_guard_reset(struct h2 *h2);   /* a request failed, or was given up */
void h2_guard_frame(struct h2 *h2);   /* a frame that brings nothing */
void h2_guard_unknown(struct h2 *h2); /* looks at h2->unknown */
/* A stream is ended for which so many bytes may be on their way. */
void h2_guard_late(struct h2 *h2, int32_t bytes);
void h2_guard_useful(struct h2 *h2, size_t n); /* bytes of bodies and heads went either way */
/* Counts the end of such a connection; the log names its client once a minute. */
void h2_guard_tell(struct h2 *h2);

#endif
