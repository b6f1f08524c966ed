/* fetch.h - one request to an origin on the worker's own event loop.
 *
 * libcurl finds, opens and secures the connection; the exchange on it is ours (reply.h reads the
 * response). bench/fetch.c measured 4 us of CPU per small fetch on a kept connection, where libcurl's
 * own HTTP costs 14.5.
 *
 * Bodies stream both ways with back-pressure; nothing here holds a whole body: a fetch whose client
 * is slow holds at most 32 KiB of it, however large it is (over TLS one record more); the rest
 * stays in the kernel's socket buffers and with the origin.
 *
 * Protocols a fetch may ask to switch to another one. on_head then comes with status 101, on_body brings
 *           what the origin says, on_send (after fetch_send_more, and of any length) what it is to
 *           hear; each direction ends by itself. No time limit of the origin's holds any more, and
 *           the connection carries nothing else, whatever was answered.
 *
 * Threads   a fetcher, its fetches and their callbacks live on one worker's thread.
 * Lifetime  from fetch_start until on_done has returned or fetch_cancel; then the pointer is dead.
 *           A fetcher must not be destroyed from within a callback of one of its fetches.
 * Order     no callback comes from within fetch_start, fetch_resume, fetch_send_more, fetch_yield or
 *           fetch_cancel: they come from the event loop. All five may be called in any callback of
 *           any fetch.
 * Files     a connection takes one descriptor, over TLS three (two are libcurl's); fetcher_create
 *           lets the process ignore SIGPIPE.
 */
#ifndef ORIGIN_FETCH_H
#define ORIGIN_FETCH_H

#include "proxy/base/str.h"
#include "proxy/http/message.h"
#include "proxy/origin/origin.h"

struct event_base;
struct fetch;
struct fetcher;

struct fetcher *fetcher_create(struct event_base *base);
/* Cancels all fetches (no callbacks) and closes all connections. */
void fetcher_destroy(struct fetcher **f);
unsigned fetcher_active(const struct fetcher *f);
/* Origins for which is_used says no are not asked any more, but by who holds them still: their idle
 * connections are closed now, the others when they are through. Not from within a callback. */
void
fetcher_retire(struct fetcher *f, bool (*is_used)(void *ctx, const struct origin *o), void *ctx);
/* Now and then: what is left of such origins goes, when nobody uses it any more, and idle
 * connections to addresses that an origin's name no longer has. Not from within a callback. */
void fetcher_sweep(struct fetcher *f);

enum fetch_end {
#define FETCH_END(id, status, word) FETCH_##id,
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
};
struct fetch_result {
	enum fetch_end end;
	int status; /* what to answer a client that has no head yet: 502 to 504 */
	const char
		*word; /* Cache-Status detail, log, metrics: "connect-failed", "read-timeout"... */
	const char *detail; /* a sentence for the log; holds during on_done */
	bool head_seen;	    /* on_head was called */
	bool reused;	    /* the connection was a kept one */
	bool begun;	    /* bytes of an answer came */
	bool body_taken;    /* on_send has given bytes: it cannot give them again */
	struct str
		trailers; /* "Name: value" CR LF each, checked as fields are; holds during on_done */
	int64_t wait_us;  /* from start to first byte of the head */
	int64_t total_us;
};

enum { FETCH_SEND_LATER = -1, FETCH_SEND_ABORT = -2 }; /* 0: end of body */

struct fetch_events {
	/* A 1xx other than 100 and 101, without what is for the next hop alone; holds during the call. May
	 * be NULL. */
	void (*on_interim)(void *ctx, const struct response *rs);
	/* The final head, read; holds during the call. May call fetch_cancel. */
	void (*on_head)(void *ctx, const struct response *rs);
	/* Body bytes. False: none taken; the fetch pauses and the same bytes come again after
	 * fetch_resume. May call fetch_cancel. */
	bool (*on_body)(void *ctx, const char *p, size_t n);
	/* May be NULL. Of a fetch that switched protocols: the origin says no more, but still takes what
	 * on_send brings. May call fetch_cancel. */
	void (*on_silence)(void *ctx);
	/* More of the request's body: bytes put at p (at most max), 0 at its end, or FETCH_SEND_*;
	 * after LATER, fetch_send_more says there is some. Not asked for more than content_length,
	 * nor for the rest when the origin has answered in full before. Never for HEAD: its body is
	 * not sent (RFC 9110 9.3.2). */
	ptrdiff_t (*on_send)(void *ctx, char *p, size_t max);
	/* May be NULL: 0. The client it is for, as a number: clients take turns where they wait for a
	 * connection. Asked where that matters. */
	uint64_t (*client)(void *ctx);
	/* May be NULL: 0. How long no byte may come before its connection is better given to others, where these
	 * wait and its client has more connections than they: most_ms at most, and 0: it may not be
	 * ended. Asked where that matters. */
	int64_t (*patience)(void *ctx, int64_t most_ms);
	/* Exactly once, unless cancelled. */
	void (*on_done)(void *ctx, const struct fetch_result *r);
};

struct fetch_request {
	const struct origin *origin;
	struct str method;    /* as received: also M-SEARCH */
	struct str target;    /* origin form, sent as it is: no normalisation */
	struct str host;      /* the client's authority; sent unless the origin overrides it */
	struct str fields;    /* "Name: value\r\n" lines (serve/outgoing), well-formed; sent as they
				 are */
	enum framing framing; /* of the request's body: NONE, LENGTH, CHUNKED */
	/* With LENGTH; with CHUNKED, if at_hand: all of the body is here already. An origin that is known to
	 * speak HTTP/1.0 is sent no chunks (RFC 9112 6.1): what has no length ends as FETCH_NO_LENGTH. */
	uint64_t content_length;
	bool at_hand;
	struct str
		upgrade; /* the protocol to switch to, if the origin agrees (RFC 9110 7.8); empty:
			     * none. Borrowed until on_done */
	bool idempotent; /* may be sent once more when a kept connection turns out dead */
	unsigned route;	 /* where those of one client take turns (fetch_events.client): a number */
	/* The queue that it would wait in is full: if no connection is free, somebody who waits for the
	 * same group and has more places than this client gives way, or this one ends as
	 * FETCH_QUEUE_FULL. Not where fewer than share wait for the origin here. */
	bool refused;
	unsigned share;
	const void *group;
};
/* Copies r. Never NULL; a failure to start arrives as on_done from the event loop. */
struct fetch *fetch_start(struct fetcher *f, const struct fetch_request *r,
			  const struct fetch_events *ev, void *ctx);
void fetch_resume(struct fetch *f);    /* on_body will take bytes again */
void fetch_send_more(struct fetch *f); /* on_send has bytes again */
/* The client who asked may be gone, and nobody else waits for this. If it has to wait for a connection it ends as
 * FETCH_YIELDED, and with asked also when others wait for the connection on which it was asked and no
 * byte of an answer is here. */
void fetch_yield(struct fetch *f, bool asked);
/* In on_head: the answer may be silent for as long as its client likes to wait; read_timeout holds only where
 * others wait for the connection, and then it ends as FETCH_HUNG. */
void fetch_let_pause(struct fetch *f);
void fetch_cancel(struct fetch **f); /* no further callback; sets *f to NULL */

#endif
