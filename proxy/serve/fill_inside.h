/* fill_inside.h - the trip itself, for fill, upload, run, keep, learn, complete and resume; for
 * nobody else.
 */
#ifndef SERVE_FILL_INSIDE_H
#define SERVE_FILL_INSIDE_H

#include "proxy/serve/fill.h"

enum fill_stage {
	FILL_ASKING,   /* no head yet */
	FILL_ARRIVING, /* the head is published, the body comes */
	FILL_WHOLE     /* all of it is here, and what is kept is kept */
};

enum fill_keeps {
	KEEPS_NOTHING,
	KEEPS_ANSWER,
	KEEPS_PART,   /* a 206, under a key of its own */
	KEEPS_SLICES, /* a head of its own, and slices as they come (run.h) */
	KEEPS_OLD     /* the answer is an error for which the stored object stands in */
};

/* A longer key's memory does not outlive the trip. */
enum { FILL_KEY_BYTES = 2 << 10 };

struct fill {
	struct key key;	 /* of what was looked up */
	struct buf tags; /* of the answer, and of what is stored of it (cache_tag) */
	/* zeroed for each trip */
	struct serve *serve;
	struct settings *settings; /* a reference */
	struct fill *next, **prev;
	enum fill_kind kind;
	bool as_it_came; /* the client's conditions and ranges were sent along */
	bool background; /* nobody waits */
	bool tunnel;	 /* protocols were switched: what comes has no end but its own */
	struct flight *flight;
	flight_wake_fn *wake; /* the trip has news of a flight that it leads */
	struct fetch *fetch;
	struct alarm ask_again; /* the flight's window was full: is a reader too slow? */
	struct txn *feeder;  /* sends the request's body, or what follows a switch of protocols */
	struct str upgrade;  /* the protocol to switch to; a view into the settings */
	struct arena *arena; /* ref: rq's views point into it */
	struct request rq;
	const struct route *route;
	struct outgoing outgoing; /* what the origin is sent */
	uint64_t asked;		  /* outgoing_asked: of that, what is not in the key */
	uint64_t begun; /* cache_now() when the request left, or when its object was clean */
	struct variants variants; /* of the marker that the request met */
	uint32_t landed;	  /* keep_landed() when it was looked for */
	struct object *object;	  /* being validated; a reference */
	struct object *part;	  /* a stored 206 being completed; a reference */
	char client_ip[STREAM_PEER_BYTES];
	char request_id[REQUEST_ID_MOST];
	struct upstream *upstream;  /* the group that the route names */
	struct upstream_try origin; /* those asked so far */
	int64_t request_time;
	int64_t asked_us; /* when the question now under way was put */

	struct sighting_facts facts; /* of the request, for the rule of admission */
	uint32_t validator;	     /* of what is being stored, for the baseline */
	struct sighting sighting;    /* what the rule says; recorded once, when the head is here */
	uint64_t charged;	     /* to the write budget, for the write under way */
	bool reload;		     /* of a fresh object, because the client wants it so */
	enum fill_stage stage;
	enum fill_keeps keeps;
	bool part_added;
	struct slice gap; /* asked for, with the part */
	struct run *run;  /* owned; of slices. expected and received are of the one under way */
	unsigned resumes; /* how often the rest of a body was asked for */
	bool unsaid; /* the rest that comes does not say its length: only its end tells it from more */
	uint64_t resumed_at;
	struct object_write *write;
	_Atomic uint64_t *turn; /* our slot of shelves.writing, or NULL */
	uint64_t turn_since;
	struct terms terms;
	struct twice_key_hash stored_hash;
	size_t stored_key_bytes, stored_head_bytes;
	uint64_t sliced_bytes; /* of the whole, when its head is being stored; else 0 */
	uint64_t expected, received;
	size_t taken; /* of the bytes on_body will bring again */
};

/* fill_memory.c: a trip for t, leading flight; it holds what t holds. Free takes it out of the list
 * of the worker's trips, with all it holds. */
struct fill *fill_new(struct txn *t, enum fill_kind kind, struct flight *flight);
void fill_free(struct fill *f);
void fill_drop_feeder(struct fill *f); /* no more of the request's body from that client */

/* fill_ask.c: to a server that is well; to the one that is asked now, again. */
void fill_set_out(struct fill *f, const struct fetch_events *events);
void fill_ask(struct fill *f, const struct fetch_events *events);
const struct origin *fill_origin(const struct fill *f);
struct origin_measures *fill_measures(const struct fill *f); /* of that origin */

/* fill_stage.c: what must be true of a trip (aborts if not; O(1)), and what every file that brings
 * bytes may do. */
void fill_check(const struct fill *f);
void fill_move(struct fill *f, enum fill_stage to); /* the only assignment to ->stage */
void fill_publish(struct fill *f, struct flight_head *h);
void fill_ask_again(struct fill *f, int64_t at_ms); /* the fetch is resumed then */

/* upload.c: a fetch's on_send, fed by f->feeder's stream. */
ptrdiff_t upload_take(void *fill, char *p, size_t max);

#endif
