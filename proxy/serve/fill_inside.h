/* fill_inside.h - the trip itself, for fill, upload, run, keep, learn and resume; for nobody
 * else.
 */
#ifndef SERVE_FILL_INSIDE_H
#define SERVE_FILL_INSIDE_H

#include "proxy/serve/backend.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/intake.h"

enum fill_stage {
	FILL_ASKING,   /* no head yet */
	FILL_ARRIVING, /* the head is published, the body comes */
	FILL_WHOLE     /* all of it is here, and what is kept is kept */
};

enum fill_keeps {
	KEEPS_NOTHING,
	KEEPS_ANSWER,
	KEEPS_SLICES, /* a head of its own, and slices as they come (run.h) */
	KEEPS_OLD     /* the answer is an error for which the stored object stands in */
};

/* A trip's part of what all writes share. */
struct fill_claims {
	uint64_t written, charged; /* to the disk so far; of that, to turns and the write budget */
	uint64_t aside;		   /* of what the address that asks may have written */
	_Atomic uint64_t *turn;	   /* our slot of shelves.writing, or NULL; what we wrote there */
	uint64_t turn_word;
	bool packs;	   /* it is packed before it goes there */
	struct alarm rest; /* nobody took anything for a while: is it so still? */
	uint64_t rested_at;
};

/* Of what the origin is sent. */
struct fill_asked {
	uint64_t fields;      /* outgoing_asked: those that are not in the key */
	unsigned class;	      /* of codings that it is asked for (coding_class) */
	bool by_coding;	      /* clients of other codings are not to get what comes (form.h) */
	struct object *other; /* what lies here in another coding; a reference; NULL: nothing */
	uint64_t of_node;     /* the sibling that asks for this, which has it not; 0: none does */
	bool moved;	      /* what is not here may be with the node that owned the key before; */
	bool elsewhere;	      /* the node that owns the key is asked (sibling.h); */
	bool cold; /* of whose answer no copy is kept: it says so, or this node asks for the first time in a while; */
	bool had,
		on_disk; /* it had that in its cache, so that no origin was asked; and on its disk */
};

/* The rest of a body that broke off (resume.h). */
struct fill_resume {
	unsigned asked; /* so often */
	uint64_t asked_at;
	bool unsaid; /* it does not say its length: only its end tells it from more */
};

/* The object that is being stored, as the bill needs it. */
struct fill_filed {
	struct twice_key_hash hash;
	size_t key_bytes, head_bytes;
	uint64_t sliced_bytes; /* of the whole, when its head is being stored; else 0 */
	uint32_t validator;    /* for the baseline, as the next one: */
	uint32_t request;      /* of the client who began the trip (bill_request) */
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
	struct fill_asked asked;
	uint64_t begun; /* cache_now() when the request left, or when its object was clean */
	struct variants variants; /* of the marker that the request met */
	uint32_t landed;	  /* keep_landed() when it was looked for */
	struct object *object;	  /* being validated; a reference */
	char client_ip[STREAM_PEER_BYTES];
	struct asker asker; /* the peer's, or the one that a forwarder names */
	char request_id[REQUEST_ID_MOST];
	struct backend backend; /* who is asked */
	int64_t request_time;
	int64_t asked_us; /* when the question now under way was put; or more of its body came, from a sibling */

	struct sighting_facts facts; /* of the request, for the rule of admission */
	struct sighting sighting;    /* what the rule says; recorded once, when the head is here */
	struct fill_claims claims;
	bool reload; /* of a fresh object, because the client wants it so */
	enum fill_stage stage;
	enum fill_keeps keeps;
	struct run *run; /* owned; of slices. in.stored and in.stores are of the one under way */
	struct fill_resume resume;
	struct terms terms;
	struct fill_filed filed;
	struct intake in;
	size_t taken; /* of the bytes on_body will bring again */
};

/* fill_memory.c: a trip for t, leading flight; it holds what t holds. Free takes it out of the list
 * of the worker's trips, with all it holds. */
struct fill *fill_new(struct txn *t, enum fill_kind kind, struct flight *flight);
void fill_free(struct fill *f);
/* And what t has of the answer already, to be validated. */
void fill_hold_stored(struct fill *f, const struct txn *t);
void fill_drop_feeder(struct fill *f); /* no more of the request's body from that client */

/* fill_ask.c: to a server that is well; to the one that is asked now, again. */
void fill_set_out(struct fill *f, const struct fetch_events *events);
void fill_ask(struct fill *f, const struct fetch_events *events);
uint64_t fill_client(void *fill);		    /* a fetch's client */
int64_t fill_patience(void *fill, int64_t most_ms); /* fetch_events.patience */
void fill_count_request(struct fill *f); /* at once, or when one that may be refused was not */
void
fill_note_answer(struct fill *f, const struct response *rs); /* for the judgement of its origin */
void fill_count_end(struct fill *f, enum fetch_end end);
/* The status that those who read are told; 0: they ask anew. */
int fill_failure(const struct fill *f, const struct fetch_result *r);
/* The origin did not hear the request, or no request can be the reason of its end. */
bool fill_is_blameless(enum fetch_end end);
/* And says it. A body that could not be sent on is no failure of the origin's. */
void fill_count_failure(struct fill *f, const struct fetch_result *r);
void fill_yield(struct fill *f); /* where nobody reads for certain, others who wait go first */

/* fill_stage.c: what must be true of a trip (aborts if not; O(1)), and what every file that brings
 * bytes may do. */
void fill_check(const struct fill *f);
void fill_move(struct fill *f, enum fill_stage to); /* the only assignment to ->stage */
void fill_publish(struct fill *f, struct flight_head *h);
void fill_ask_again(struct fill *f, int64_t at_ms); /* the fetch is resumed then */
bool fill_is_worth_the_rest(const struct fill *f);  /* nobody reads it any more (rest.h) */
/* Nobody reads it, and nobody will: who came between a look and the end of the flight would be
 * cut. */
bool fill_is_left(struct fill *f);
/* A fetch behind a client's back whose answer turns out not to be kept: its body is not pulled. */
bool fill_is_for_nobody(const struct fill *f);

/* The coding that stored bytes were asked for in is asked for again, whoever asks now. */
void fill_asks_as_stored(struct fill *f, const struct terms *t);

/* fill_head.c: a fetch's on_interim; the head of an answer, for use. False: it does not fit what was asked,
 * and nothing was done with it. Behind use f may be gone. */
void fill_on_interim(void *fill, const struct response *rs);
typedef void fill_use_fn(struct fill *f, const struct response *rs);
bool fill_read_answer(struct fill *f, const struct response *rs, fill_use_fn *use);

/* upload.c: a fetch's on_send, fed by f->feeder's stream. */
ptrdiff_t upload_take(void *fill, char *p, size_t max);

#endif
