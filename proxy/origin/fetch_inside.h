/* fetch_inside.h - what the files of a fetch know of each other, and nobody else.
 *
 *	fetch.c		the contract: start, resume, send more, cancel
 *	fetch_loop.c	the event loop's calls, and what follows for a fetch
 *	fetch_ask.c	the request goes out
 *	fetch_hear.c	the response comes in
 *	fetch_site.c	an origin as a worker uses it: who waits, who has a connection
 *	fetch_lists.c	the list of the run event; structs that come and go
 *	fetch_state.c	the states of both halves
 *
 * Each calls only those below it.
 *
 * Threads   one worker's.
 */
#ifndef ORIGIN_FETCH_INSIDE_H
#define ORIGIN_FETCH_INSIDE_H

#include "proxy/base/buf.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/fetch_state.h"
#include "proxy/origin/line.h"
#include "proxy/origin/pool.h"
#include "proxy/origin/reply.h"

#include <event2/event.h>

/* READ_BYTES of a body may be held by a fetch that is paused, see fetch.h. ROUNDS of them, then
 * other connections have their turn. */
enum { READ_BYTES = 32 << 10, ROUNDS = 8 };

/* Requests with a body queue apart: slow bodies hold at most half of the connections. */
enum queue { QUEUE_PLAIN, QUEUE_UPLOAD, QUEUES };

TAILQ_HEAD(todo, fetch);

struct site { /* an origin as this worker uses it */
	struct pool pool;
	struct fetcher *fetcher;
	struct line lines[QUEUES]; /* for a lane */
	struct todo waiting;	   /* all of them, the oldest first */
	unsigned waiting_count;
	bool uploads_turn;     /* where both lines have somebody who may go */
	unsigned yielding;     /* fetches of fetch_yield that are not over */
	unsigned uploading;    /* fetches that have a lane and a body still to send */
	unsigned users;	       /* fetches that are not over */
	bool retired;	       /* its connections are not kept */
	struct event patience; /* when the oldest has waited too long */
	LIST_ENTRY(site) next;
};

struct fetcher {
	struct event_base *base;
	struct event *run;
	struct todo todo; /* what run has to look at */
	unsigned todo_count;
	unsigned active;
	const struct fetch *current; /* whose callbacks may run now, other than on_done */
	LIST_HEAD(, site) sites;
	TAILQ_HEAD(, fetch) spare;
	unsigned spare_count;
	char in[READ_BYTES];		 /* what was just read, for whichever fetch it is */
	struct field fields[FIELDS_MAX]; /* the same, of a head */
};

struct claim {			 /* on a place in the queue: see struct fetch_request */
	struct line_place place; /* in site->lines, while it waits */
	const void *group;
	uint64_t uploaded; /* bytes of a body, since the caller was first waited for */
	unsigned share;
	bool refused, known;				      /* known: the client was asked for */
	enum { YIELDS_NOT, YIELDS_PLACE, YIELDS_ALL } yields; /* see fetch_yield */
};

struct fetch {
	/* kept when the fetch is over and another takes the struct */
	struct buf out;	 /* the request's head, then pieces of its body, on their way */
	struct buf held; /* read, but not taken by on_body; first held_data bytes of body */
	struct reply reply;
	/* zeroed for each */
	TAILQ_ENTRY(fetch) link; /* in site->waiting or fetcher->spare */
	TAILQ_ENTRY(fetch) todo_link;
	struct claim claim;
	struct site *site;
	struct lane *lane;  /* while it has one */
	struct str upgrade; /* borrowed from the caller */
	struct fetch_events ev;
	void *ctx;

	enum fetch_state asks, hears; /* moved by fetch_state_move alone */
	enum queue queue;
	size_t out_sent, held_data;
	enum framing framing;
	uint64_t send_left; /* of a body with a known length */
	bool to_head;
	enum {
		SPEAKS, /* its next byte is due within read_timeout */
		PAUSES, /* fetch_let_pause */
		TUNNEL	/* protocols were switched: bytes both ways, without end or framing */
	} way;
	bool repeatable; /* may be sent once more, from its first byte: nothing of it is gone */
	bool replays;	 /* a small body stays behind the head in out, to be sent again */

	bool listed;		     /* in todo */
	bool uploading;		     /* is counted in site->uploading */
	bool want_resume, want_send; /* what todo is about, once it has a lane */
	bool moved;		     /* bytes went or came in this round of the loop */
	bool full_read;		     /* the last one: there may be more in the socket */
	int64_t start_us, queued_us, first_us, moved_ms, dialed_ms;
	int64_t waited_ms, waits_since_ms; /* for the caller, before; and now, 0: not */
	struct fetch_result result;	   /* what is known of it */
};

static inline bool
is_open(const struct fetch *f)
{
	return f->asks >= ASK_WRITING && f->asks <= ASK_AGAIN;
}

/* Somebody wants to hear more of it. */
static inline bool
goes_on(const struct fetch *f)
{
	return f->hears < HEAR_OVER;
}

/* fetch_lists.c: a spare struct, or a new one; where to when it is over; the run event's list. */
struct fetch *fetch_new(struct fetcher *fr);
void fetch_spare(struct fetch *f);
void fetch_spare_free(struct fetcher *fr);
void fetch_todo_add(struct fetch *f);
void fetch_todo_remove(struct fetch *f);

/* fetch_site.c: made when it is first asked for; on_patience is for the one who waits the longest. */
struct site *fetch_site_of(struct fetcher *fr, const struct origin *o,
			   const struct lane_owner *owner, event_callback_fn on_patience);
void fetch_site_destroy(struct site *s);
void fetch_site_retire(struct site *s);
bool fetch_site_may_upload(const struct site *s);
/* It has the next turn of those that may go when a connection is free; NULL: there is none. */
struct fetch *fetch_site_next(const struct site *s, bool uploads);
/* The queue is full: the newest of the client who has most places in it, and more than f's would have;
 * NULL: f is the one who gives way. */
struct fetch *fetch_site_longest(const struct site *s, struct fetch *f);
void fetch_site_call_next(struct site *s);
void fetch_site_patience(struct site *s); /* sets the timer, if somebody waits */
/* A fetch whose connection is better given to those who wait, because of fetch_yield, or because its
 * caller takes nothing; NULL: there is none. */
struct fetch *fetch_site_yields(const struct site *s);
struct fetch *fetch_site_stalled(const struct site *s);
/* How many connections clients have; a number stands for a few of them. */
struct crowds {
	unsigned of[256];
};
void fetch_site_count(const struct site *s, struct crowds *c);
/* The same for the first request of the client whose turn is the nth of those in that line, because no byte
 * comes from the origin, or few of the request's body from the caller, and its client has two connections
 * more than who waits. In c that one has it from then on. False: fewer wait. */
bool fetch_site_hung(const struct site *s, enum queue line, unsigned nth, struct crowds *c,
		     struct fetch **out);
/* The same for one that may be silent, and has been for longer than another may be. */
struct fetch *fetch_site_silent(const struct site *s);
void fetch_queue_enter(struct fetch *f);
void fetch_queue_leave(struct fetch *f, bool goes); /* goes: it was its turn */
void fetch_upload_over(struct fetch *f); /* its body is out, or it ends: another may begin */
void fetch_lane_return(struct fetch *f); /* kept for the next, or closed */

/* fetch_hear.c: what the connection has; what the caller did not take before. */
void fetch_hear_pull(struct fetch *f);
void fetch_hear_held(struct fetch *f);
/* The first reason counts. Carried out when nothing of f is at work: at the end of the round. */
void fetch_hear_over(struct fetch *f, enum fetch_end how, const char *why);

/* fetch_ask.c: the head into f->out; then, until the request is out, the origin takes no more now,
 * or the caller has no more now. */
void fetch_ask_head(struct fetch *f, const struct fetch_request *r);
void fetch_ask_push(struct fetch *f);

/* fetch_loop.c: the event loop's calls, and the end of a fetch without on_done. */
extern const struct lane_owner fetch_loop_owner;
void fetch_loop_patience(evutil_socket_t fd, short what, void *arg);
void fetch_loop_run(evutil_socket_t fd, short what, void *arg);
void fetch_loop_leave(struct fetch *f);
/* The invariants of a fetch that is not at work; called at the doors. */
void fetch_check(const struct fetch *f);

#endif
