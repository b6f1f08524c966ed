/* stream.h - one request and its answer, whatever carries them: how wire and serve talk.
 *
 *	wire (h1)                                         serve
 *	on_request ---- head, views in the arena ------>  decides
 *	on_body ------- some, the end, or a fault ----->  stream_body, stream_took
 *	         <----- stream_interim, stream_head ----  head, and a source for the body
 *	source.pull --- "I can send so many bytes" ---->  pieces; or LATER, then stream_ready
 *	on_done ------- once, and last --------------->   log line; the stream is dead
 *
 * A front (HTTP/1, ...) makes the streams and implements stream_calls; serve implements stream_up.
 * Both bodies are pulled by the side that has room for them. That is back-pressure without a queue:
 * a slow client costs no memory here, and a slow origin none there.
 *
 * Threads   a stream lives on one worker. Everything here is called on that worker's thread; news
 *           from other threads comes as a letter first.
 * Order     on_request, then on_body as asked for, on_done last. No on_* and no pull is called from
 *           within a stream_* call: wire notes the work and does it later in the same round of the
 *           loop (head and first pieces in one write). stream_* may be called in on_request, in
 *           on_body and outside of any call from wire, not in pull; in on_done only stream_peer and
 *           stream_link.
 * Lifetime  stream: until on_done returns. arena: as long as wire or serve holds a reference; serve
 *           takes one for what outlives the client (a fetch, a disk read). The source's ctx: from
 *           stream_head until pull has said END or ERROR, or on_done.
 * Memory    views (struct str, fields) handed up hold as long as the arena. Texts and fields handed
 *           down are copied before the call returns. Pieces hold until the next pull or on_done.
 * Time      wire owns what the client owes: head, idle, least rates up and down. None of wire's
 *           limits runs while serve owes the next step (no head yet, or a source's LATER), but for
 *           two: a client that has stopped sending is waited for a few seconds only, and where pauses
 *           are said to be long (stream_head.pauses) they end after a while.
 *
 * Tunnel    a head with upgrade (HTTP/1.1 alone, to a request that asked for it) switches protocols:
 *           from then on stream_body brings what the client sends, of any length, its end being the
 *           client's half-close, and the source what it is sent, END being ours. Limits of bodies
 *           and least rates no longer apply; a tunnel in which nothing moves ends after a while.
 *
 * What no front needs yet is not here. A tunnel by HTTP/2 (RFC 8441) will be another use of upgrade;
 * urgency and 0-RTT (RFC 9218, 8470) further members of stream_request.
 */
#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

#include "proxy/base/arena.h"
#include "proxy/base/file_piece.h"
#include "proxy/http/fault.h"
#include "proxy/http/field_block.h"
#include "proxy/http/message.h"

struct stream_calls;

/* A front's struct for a request begins with this: serve calls its front through it. */
struct stream {
	const struct stream_calls *calls;
};

#define LENGTH_UNKNOWN UINT64_MAX

struct stream_request {
	struct request rq; /* scheme: the listener's, whatever an absolute target claims */
	const struct fault
		*fault;	 /* not NULL: answer it (rq may be empty); wire closes behind it */
	struct str line; /* what the log calls the request: its first line as it came */
	struct arena *arena;
	uint64_t body_bytes; /* 0: none; LENGTH_UNKNOWN; checked by wire against what comes */
	bool sibling; /* it came by a sibling listener: a node of the fleet asks for a client */
};

/* ---- up: wire calls serve -------------------------------------------------------------------- */

enum stream_end {
	STREAM_SENT, /* the last byte is with the kernel */
	STREAM_GONE, /* the client reset or closed, or stopped sending and waiting was in vain */
	STREAM_SLOW, /* it took less than the least rate */
	STREAM_RESET /* by stream_reset, a source's ERROR, or the end of draining */
};

struct stream_up { /* constant; one per worker */
	void *(*on_request)(void *node, struct stream *s, const struct stream_request *r); /* ctx */
	void (*on_body)(void *ctx); /* after stream_body said WAIT: ask it again */
	void (*on_done)(void *ctx, enum stream_end how, uint64_t body_bytes); /* bytes sent */
	/* May be NULL. The client has stopped sending before there is a head of an answer: it may still
	 * read, or be gone. Perhaps more than once. */
	void (*on_doubt)(void *ctx);
};

/* ---- the request's body: serve pulls --------------------------------------------------------- */

enum stream_body {
	STREAM_BODY_SOME,
	STREAM_BODY_WAIT,   /* on_body will come */
	STREAM_BODY_ENOUGH, /* no more comes before what was kept (stream_keep) goes its way */
	STREAM_BODY_END,
	STREAM_BODY_FAULT /* *why to answer; or NULL: the client stopped in the middle */
};
/* ---- the answer ------------------------------------------------------------------------------ */

enum stream_pull {
	STREAM_PULL_SOME,  /* at least one byte */
	STREAM_PULL_LATER, /* nothing; stream_ready follows */
	STREAM_PULL_END,   /* these pieces, or none, are the last */
	STREAM_PULL_ERROR  /* the body is cut here: no client may take it for whole */
};
enum { STREAM_PIECES = 4 };
/* Fills at most STREAM_PIECES pieces of together at most `most` bytes, says how many in *n (0
 * before the call). Calling again gives the last pieces back. Of a body of known length no END is
 * needed.
 */
typedef enum stream_pull stream_pull_fn(void *ctx, size_t most, struct str *pieces, unsigned *n);
/* May be NULL. The client has taken nothing for a while: the last `bytes` of what was pulled were
 * not sent (0: all were, and it is others' turn), and no piece is looked at any more, so what
 * holds them in memory can go. True: they will be pulled again; false: everything stays as it is.
 */
typedef bool stream_give_back_fn(void *ctx, uint64_t bytes);
/* May be NULL. For a front that can send from a file: true: the next bytes, at most `most`, are
 * this piece of one, and count as pulled; it holds until the next call or on_done. False: nothing
 * happened; pull brings them. What cannot be sent so after all is given back.
 */
typedef bool stream_file_fn(void *ctx, size_t most, struct file_piece *piece);
/* May be NULL: the client takes no trailers, or the answer has none. Asked once, when pull has said
 * END of a body whose length was not said: lines to go behind it (RFC 9110 6.5), each with CR LF;
 * empty: none. They hold as pieces do. A front that cannot send them does not ask.
 */
typedef struct str stream_trailers_fn(void *ctx);
struct stream_source {
	stream_pull_fn *pull;
	void *ctx;
	stream_give_back_fn *give_back;
	stream_file_fn *file;
	stream_trailers_fn *trailers;
};

struct stream_line {
	struct str name, value;
};
enum { STREAM_PAUSES_REQUEST = 1, STREAM_PAUSES_ANSWER = 2 };
struct stream_head {
	int status;	    /* 200 to 599, or 101 with upgrade; else 1xx by stream_interim */
	struct str upgrade; /* the protocol that is spoken behind this head; empty: HTTP */
	struct str reason;  /* HTTP/1 only; empty: the usual one */
	const struct field_block *stored; /* lines as they are kept; NULL: none */
	const struct stream_line *add;	  /* further lines; no Connection, Transfer-Encoding or */
	unsigned add_n;			  /* Content-Length, which wire writes, in either */
	uint64_t bytes; /* of the body, also for HEAD when known; with 204, and where no length is
			 * to be said, LENGTH_UNKNOWN */
	bool close;	/* no more requests on this connection */
	/* STREAM_PAUSES_*. What may be silent for long from here on, and wire limits that as of a tunnel:
	 * the client within its request's body, the answer. */
	uint8_t pauses;
};

/* ---- down: serve calls wire ------------------------------------------------------------------ */

enum { STREAM_PEER_BYTES = 46 };

/* How a request came, for the log. Texts hold as long as the stream. */
struct stream_link {
	bool reused;		      /* not the first request of its connection */
	bool resumed;		      /* its TLS session was */
	const char *version, *cipher; /* "TLSv1.3"; NULL: no TLS */
	const char *name;	      /* asked for in the handshake; NULL: none */
	struct str protocol;	      /* agreed on there, by ALPN */
};

struct stream_calls { /* constant; one for each front */
	enum stream_body (*body)(struct stream *s, struct str *bytes, const struct fault **why);
	void (*took)(struct stream *s, size_t n);
	void (*keep)(struct stream *s, size_t n);
	void (*let_go)(struct stream *s, size_t n);
	void (*head)(struct stream *s, const struct stream_head *h,
		     const struct stream_source *src);
	void (*interim)(struct stream *s, const struct field_block *head);
	void (*ready)(struct stream *s);
	void (*reset)(struct stream *s);
	void (*peer)(const struct stream *s, char out[STREAM_PEER_BYTES]);
	void (*address)(const struct stream *s, unsigned char out[16]);
	void (*link)(const struct stream *s, struct stream_link *out);
};

/* Gives what is here, not consumed; the view holds until the next stream_body or stream_took, of any
 * stream. The first WAIT sends an expected 100, if no head was given yet. */
static inline enum stream_body
stream_body(struct stream *s, struct str *bytes, const struct fault **why)
{
	return s->calls->body(s, bytes, why);
}

static inline void
stream_took(struct stream *s, size_t n)
{
	s->calls->took(s, n);
}

/* As stream_took, but serve keeps these bytes in memory until it says stream_let_go of so many, or
 * to the end of the stream. They count for the client: it may not send more than there is room for. */
static inline void
stream_keep(struct stream *s, size_t n)
{
	s->calls->keep(s, n);
}

static inline void
stream_let_go(struct stream *s, size_t n)
{
	s->calls->let_go(s, n);
}

/* Once. HEAD, 204 and 304 have no body whatever src says: pull is not called. src NULL: none. */
static inline void
stream_head(struct stream *s, const struct stream_head *h, const struct stream_source *src)
{
	s->calls->head(s, h, src);
}

/* Before stream_head. Dropped for HTTP/1.0 and when the client takes nothing: it is advice. */
static inline void
stream_interim(struct stream *s, const struct field_block *head)
{
	s->calls->interim(s, head);
}

/* A source that said LATER has news; harmless otherwise. */
static inline void
stream_ready(struct stream *s)
{
	s->calls->ready(s);
}

/* Ends it so that no client takes it for whole. */
static inline void
stream_reset(struct stream *s)
{
	s->calls->reset(s);
}

/* The client's address as text; also during on_done. */
static inline void
stream_peer(const struct stream *s, char out[STREAM_PEER_BYTES])
{
	s->calls->peer(s, out);
}

/* The same as network.h has it: what network_address makes of the text. */
static inline void
stream_address(const struct stream *s, unsigned char out[16])
{
	s->calls->address(s, out);
}

/* Also during on_done. */
static inline void
stream_link(const struct stream *s, struct stream_link *out)
{
	s->calls->link(s, out);
}

#endif
