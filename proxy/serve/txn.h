/* txn.h - one request from its head to its log line.
 *
 * It lives between on_request and on_done of its stream, and moves when wire, the cache, a flight
 * or a timer has news. The states and the moves allowed between them stand in txn_states.h.
 */
#ifndef SERVE_TXN_H
#define SERVE_TXN_H

#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/object_read.h"
#include "proxy/cache/admission/sighting.h"
#include "proxy/http/fault.h"
#include "proxy/serve/outgoing/outgoing.h"
#include "proxy/http/head.h"
#include "proxy/http/policy.h"
#include "proxy/http/range.h"
#include "proxy/serve/body.h"
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

/* How it goes to the origin, and for whom. */
enum txn_way {
	WAY_SHARED,	/* for all who ask: without the client's conditions */
	WAY_AS_IT_CAME, /* conditions and ranges go as the client sent them; what comes may be kept
			 */
	WAY_PASSING	/* for this client: never stored, never shared */
};

/* ---- what only a part of serve needs: lookup.c, follow.c, upload.c, tunnel.c ---- */

/* The question to the cache: in LOOKUP, one of the last three. */
enum looking {
	LOOKING_NOT,
	LOOKING_DUE, /* the lookup begins anew */
	LOOKING_OUT, /* the disk has not answered yet: the request's memory must stay */
	LOOKING_BACK /* what was found is in found */
};
struct txn_look {
	struct cache_lookup lookup;
	enum looking state;
	struct object *found; /* what it brought; a reference */
	/* The client would rather have another form of this, and it answers if the origin fails; a reference. */
	struct object *spare;
	struct reuse_verdict reuse;
	uint32_t landed; /* keep_landed() before the first look into the cache */
	bool by_coding;	 /* what lies here in one form for all cannot be expanded: */
	bool for_itself; /* it is not for this client, whose own answer is for nobody else */
};

/* A large body whose beginning is gone from its flight: a request that comes then waits until it is
 * stored, for a while and once. */
enum late { LATE_NOT, LATE_WAITS, LATE_WAITED };
/* While it waits for the origin. */
struct txn_wait {
	int64_t stale_at_ms; /* a stale copy answers instead; 0: never */
	int64_t try_at_ms;   /* one more fetch is tried beside the one that it follows; 0: never */
	int64_t since_ms;    /* it follows */
	int64_t body_by_ms;  /* follows: enough of the body is to be here by then; or 0 */
	unsigned body_waits; /* patiences that this has taken */
	unsigned failures_met;	  /* of those it followed */
	unsigned restarts, walks; /* walks: that met another version */
	enum late late;
	bool stale_ok;	   /* object may answer if the origin fails */
	bool whole_behind; /* the whole is fetched behind the answer, unless it lies in slices */
};

/* The origin's answer, as it is told in the log. */
struct txn_learnt {
	enum storable judged; /* kept, or why not */
	bool may_be_stored;   /* for so long, from when it came: */
	int64_t life_s;
	struct twice_key_hash variant; /* its key for sightings; lo 0: the request's own */
	enum forget_kind purged;       /* of a PURGE; 0: it is none */
	bool softly;
};

/* The request's body, on its way to the origin. */
enum upload_state {
	UPLOAD_NONE,
	UPLOAD_COMES,
	UPLOAD_AWAITED, /* the fetch that sends it on has asked for more */
	UPLOAD_OVER
};
struct txn_upload {
	struct buf gathered; /* its beginning, sent up to at */
	size_t at;
	enum upload_state state;
	struct fill *fill; /* ours to feed, while a body is sent */
};

struct txn_tunnel {
	struct str protocol; /* that it wants to switch to, and may; or empty */
	unsigned held;	     /* whose place it has in shelves.tunnels (share.h); 0: it has none */
	bool is_open;	     /* its connection has switched */
	uint64_t received;   /* bytes that the client sent by it */
};

/* Of the client, and of the node that owns the key. */
struct txn_from {
	char ip[STREAM_PEER_BYTES]; /* the client's address, as soon as it is needed, or a sibling told it */
	uint64_t node;		    /* of the sibling that asks; 0: none does */
	bool sibling;		    /* a node of the fleet asks for that client (sibling.h); */
	bool waits;		    /* and has heard that we wait for an answer */
	bool asks;		    /* what is in the cache, and nothing else */
	bool elsewhere;		    /* another node, which is well, owns the key */
	bool had;	 /* another node had the answer in its cache: no origin was asked for it */
	struct str said; /* in the place of what Twice-Hop would say in the answer to a sibling */
	struct str tags; /* of the answer; as long as its head */
};

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
	struct outgoing outgoing; /* what the origin would be sent, and so the key */
	bool rate_due;		  /* gate_admits has not been asked */
	struct txn_from from;
	struct key key;		  /* of what is looked up or fetched */
	struct variants variants; /* what the marker at the primary key says */
	struct sighting sighting; /* what the rule of admission says of this request */
	struct txn_learnt learnt; /* of the origin's answer */

	struct txn_tunnel tunnel;
	struct txn_upload upload;

	/* where the answer comes from */
	struct txn_look look;
	struct txn_wait wait;
	flight_wake_fn *wake;	      /* there is news of the flight */
	struct object *object;	      /* to answer with, or to validate */
	struct flight_reader *reader; /* that it waits for; then the body has it */
	struct errand *errand;	      /* owned until its letter is under way alone */
	bool leader;
	bool doubted; /* its client has stopped sending, and may be gone */
	struct alarm alarm;
	enum txn_way way;

	/* the answer */
	struct buf text; /* values of the head being made */
	bool cut;
	int status;
	enum answer answer;
	const char *detail;	/* static */
	uint64_t retry_after_s; /* of ANSWER_LIMITED */
	struct cache_status cs;
	int64_t begun_us, head_us;
	uint64_t body_sent;
	struct body body; /* of its ranges only the first is cleared for each request */
	char id_text[REQUEST_ID_BYTES]; /* not cleared: what request_id may be a view of */
};

/* Wire calls serve by this; node is the worker's struct serve. */
extern const struct stream_up txn_stream_up;
void txn_free_spares(struct serve *s);

/* The only assignment to t->state; what must be true of a request is checked. */
void txn_move(struct txn *t, enum txn_state to);
void txn_check(const struct txn *t); /* in its state; aborts if not. O(1) */
/* Another node decides what this request counts for: it owns the key, or only asks what is here. */
static inline bool
txn_is_billed_elsewhere(const struct txn *t)
{
	return t->from.elsewhere || t->from.asks;
}
/* The client's address as text, and as network.h has it. */
static inline void
txn_peer(const struct txn *t, char out[STREAM_PEER_BYTES])
{
	if (!t->from.sibling)
		stream_peer(t->stream, out);
	else if (out != t->from.ip)
		memcpy(out, t->from.ip, STREAM_PEER_BYTES);
}
/* Its name: made at the first question, for most requests need none. */
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
void answer_object(struct txn *t); /* from t->object; WALK or EXPAND may come before SEND */
void answer_plain(struct txn *t);  /* from t->body.plain, whose first bytes are here */
void answer_walk(struct txn *t);   /* from t->body.walk, which has found what comes first */
/* The outcome of one that began as a hit, when a slice of it had to come from elsewhere. */
enum answer send_walk_answer(const struct txn *t);
void answer_flight(struct txn *t); /* from t->reader, whose head is here */
/* 1xx answers that t->reader has go to the client that is waiting: one stream_interim each. */
void answer_interim(struct txn *t);

/* ---- upload.c ---- */

/* Gathers the beginning of the request's body: true when that is done, or t->fault says why not. */
bool upload_gather(struct txn *t);

/* ---- access_log.c ---- */
void access_log(struct txn *t);

#endif
