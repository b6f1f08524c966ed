/* txn.h - one request from its head to its log line.
 *
 * It lives between on_request and on_done of its stream, and moves when wire, the cache, a flight
 * or a timer has news. The states and the moves allowed between them stand in txn_states.h.
 */
#ifndef SERVE_TXN_H
#define SERVE_TXN_H

#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/flight.h"
#include "proxy/cache/object_read.h"
#include "proxy/cache/sighting.h"
#include "proxy/http/fault.h"
#include "proxy/serve/outgoing.h"
#include "proxy/http/head.h"
#include "proxy/http/policy.h"
#include "proxy/http/range.h"
#include "proxy/serve/key.h"
#include "proxy/serve/serve.h"
#include "proxy/serve/stream.h"

#include <netinet/in.h>

enum txn_state {
#define STATE(name, waits_for, truth) TXN_##name,
#define EDGE(from, to, why)
#include "proxy/serve/txn_states.h"
#undef STATE
#undef EDGE
};

/* Where an answer comes from, for the counters and the log. */
enum answer {
#define ANSWER(id, metric, what) ANSWER_##id,
#include "proxy/serve/answers.h"
#undef ANSWER
};

/* What the cache was asked for: in LOOKUP, one of the last three. */
enum looking {
	LOOKING_NOT,
	LOOKING_DUE, /* the lookup begins anew */
	LOOKING_OUT, /* the disk has not answered yet: the request's memory must stay */
	LOOKING_BACK /* what was found is in found */
};

/* The request's body. */
enum txn_body {
	BODY_NONE,
	BODY_COMES,
	BODY_AWAITED, /* the fetch that sends it on has asked for more */
	BODY_OVER
};

/* How it goes to the origin, and for whom. */
enum txn_way {
	WAY_SHARED,	/* for all who ask: without the client's conditions */
	WAY_AS_IT_CAME, /* conditions and ranges go as the client sent them; what comes may be kept
			 */
	WAY_PASSING	/* for this client: never stored, never shared */
};

/* A large body whose beginning is gone from its flight: who comes then waits until it is stored,
 * for a while and once. */
enum late { LATE_NOT, LATE_WAITS, LATE_WAITED };

/* Where the bytes of the answer come from. */
enum txn_source {
	SOURCE_NONE,   /* there are none, or they are the text of an answer made here */
	SOURCE_OBJECT, /* stored */
	SOURCE_FLIGHT, /* as they come */
	SOURCE_WALK    /* slices, stored or as they come (walk.h) */
};

/* Of a body in several parts: what is sent next. */
enum txn_parts { PARTS_NOT, PARTS_HEAD, PARTS_BYTES };

enum part_search { PART_NOT_ASKED, PART_AWAITED, PART_ASKED };

struct txn {
	struct stream *stream; /* NULL once it is done while the disk still owes an answer */
	struct arena *arena;   /* ref: the request's bytes lie there */
	struct serve *serve;
	struct settings *settings; /* a reference */
	enum txn_state state;
	struct txn *spare_next;

	/* the request */
	struct str line; /* what the log calls it */
	struct request rq;
	struct request_cc cc;
	const struct fault *fault;
	struct str request_id; /* empty: not needed so far (txn_request_id) */
	const struct route *route;
	struct outgoing outgoing;	   /* what the origin would be sent, and so the key */
	bool rate_due;			   /* gate_admits has not been asked */
	char client_ip[STREAM_PEER_BYTES]; /* only where outgoing needs it */
	struct key key;			   /* of what is looked up or fetched */
	struct variants variants;	   /* what the marker at the primary key says */
	struct sighting sighting;	   /* what the rule of admission says of this request */
	enum storable judged;		   /* the origin's answer: kept, or why not */

	struct str upgrade;	  /* the protocol that it wants to switch to, and may; or empty */
	bool tunnel_held;	  /* it is counted in shelves.tunnels */
	bool tunnel;		  /* its connection has switched */
	uint64_t tunnel_received; /* bytes that the client sent by it */

	/* the request's body, on its way to the origin */
	struct buf gathered; /* its beginning, sent up to gathered_at */
	size_t gathered_at;
	enum txn_body body_in;

	/* where the answer comes from */
	struct cache_lookup lookup;
	flight_wake_fn *wake; /* there is news of the flight */
	enum looking looking;
	struct object *found;	      /* what lookup brought; a reference */
	struct object *object;	      /* to answer with, or to validate */
	struct object *part;	      /* a stored 206, to answer with or to complete */
	enum part_search part_search; /* once per request */
	struct reuse_verdict reuse;
	struct body_read read;
	bool read_out;
	struct flight_reader *reader;
	struct flight_reader
		*second;       /* a fetch beside the one that is sent, which drips (beside.h) */
	unsigned second_tries; /* of ours; the next may be from second_at_ms on */
	int64_t second_at_ms;
	struct walk *walk;	 /* owned; over the slices of object */
	struct purging *purging; /* owned until its letter is under way alone */
	struct fill *fill;	 /* ours to feed with the request's body, while a body is sent */
	bool leader;
	enum late late;
	unsigned restarts, walks; /* walks: that met another version */
	uint32_t landed;	  /* keep_landed() before the first look into the cache */
	/* While we wait for the origin: when a stale copy answers instead, when one more fetch is
	 * tried beside the one we follow; 0: never. */
	struct alarm alarm;
	int64_t stale_at_ms, try_at_ms, follows_since_ms;
	int64_t body_by_ms;    /* follows: enough of the body is to be here by then; or 0 */
	unsigned body_waits;   /* patiences that this has taken */
	unsigned failures_met; /* of those we followed */
	enum txn_way way;
	bool stale_ok; /* object may answer if the origin fails */

	/* the answer */
	struct buf text;		     /* values of the head being made */
	struct buf part_text;		     /* what stands between the parts of a multipart body */
	struct str between;		     /* what is still to be sent of it */
	struct str body;		     /* of an answer made here */
	struct block *blocks[STREAM_PIECES]; /* keep the pieces of a flight that are being sent */
	bool cut;
	bool whole_behind; /* the whole is fetched behind the answer, unless it lies in slices */
	enum txn_source source;
	enum txn_parts parts;
	char boundary[20];
	struct str part_type; /* Content-Type of the parts: a view into the object's head */
	unsigned slice_count, slice_i;
	uint64_t at, until;    /* offsets into the body of what is still to be taken */
	uint64_t flight_bytes; /* of SOURCE_OBJECT: that a flight brought before */
	int status;
	enum answer answer;
	const char *detail;	/* static */
	uint64_t retry_after_s; /* of ANSWER_LIMITED */
	struct cache_status cs;
	int64_t begun_us, head_us;
	uint64_t body_sent;
	/* Of these only the first is cleared for each request. */
	struct slice slices[RANGES_MAX];
	char id_text[REQUEST_ID_BYTES]; /* not cleared: what request_id may be a view of */
};

/* What serve does for wire; node is the worker's struct serve. */
extern const struct stream_up txn_stream_up;
void txn_free_spares(struct serve *s);

/* The only assignment to t->state; what must be true of a request is checked. */
void txn_move(struct txn *t, enum txn_state to);
void txn_check(const struct txn *t); /* in its state; aborts if not. O(1) */
/* What it is called: made at the first question, for most requests need none. */
struct str txn_request_id(struct txn *t);
void txn_on_alarm(struct alarm *a); /* of t->alarm: t looks again */

/* ---- send.c and send_*.c: from a verdict to a head and a source of bytes ---- */

/* Each decides the head of the answer and moves to SEND. */
void answer_fault(struct txn *t, const struct fault *f);
void answer_error(struct txn *t, int status, const char *word);
void answer_local(struct txn *t, int status, struct str allow);
/* The same path at https://host[:port]. */
void answer_moved(struct txn *t, int status, struct str host, unsigned port);
void answer_denied(struct txn *t);				/* 403 by a route */
void answer_limited(struct txn *t, uint64_t retry_after_s);	/* 429 by a rate */
void answer_sent_on(struct txn *t, int status, struct str to);	/* a route's redirect */
void answer_routed(struct txn *t, const struct local_rules *r); /* a route's answer */
void answer_said(struct txn *t, int status, struct str body);	/* a line of ours */
void answer_object(struct txn *t); /* from t->object; WALK comes before SEND if it is in slices */
void answer_walk(struct txn *t);   /* from t->walk, which has found what comes first */
void answer_part(struct txn *t, struct slice want, uint64_t total); /* from t->part */
void answer_flight(struct txn *t);  /* from t->reader, whose head is here */
void answer_release(struct txn *t); /* the pieces of the last pull are not needed any more */

/* ---- upload.c ---- */

/* Gathers the beginning of the request's body: true when that is done, or t->fault says why not. */
bool upload_gather(struct txn *t);

/* ---- access_log.c ---- */
void access_log(struct txn *t);

#endif
