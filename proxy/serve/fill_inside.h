/* fill_inside.h - what fill.c, upload.c and keep.c share: the trip itself. For nobody else.
 */
#ifndef SERVE_FILL_INSIDE_H
#define SERVE_FILL_INSIDE_H

#include "proxy/http/date.h"
#include "proxy/serve/fill.h"

struct fill {
	struct serve *serve;
	struct settings *settings; /* a reference */
	struct fill *next, **prev;
	enum fill_kind kind;
	bool as_it_came; /* the client's conditions and ranges were sent along */
	bool background; /* nobody waits */
	struct flight *flight;
	struct fetch *fetch;
	struct alarm ask_again; /* the flight's window was full: is a reader too slow? */
	struct txn *feeder;	/* sends the request's body */
	struct arena *arena;	/* ref: rq's views point into it */
	struct request rq;
	const struct route *route;
	struct outgoing outgoing; /* what the origin is sent */
	struct key key;		  /* of what was looked up */
	uint64_t begun; /* cache_now() when the request left, or when its object was clean */
	struct variants variants; /* of the marker that the request met */
	struct object *object;	  /* being validated; a reference */
	struct object *part;	  /* a stored 206 being completed; a reference */
	char client_ip[STREAM_PEER_BYTES];
	struct upstream_try origin; /* those asked so far */
	int64_t request_time;
	int64_t asked_us; /* when the question now under way was put */

	struct sighting_facts facts; /* of the request, for the rule of admission */
	struct sighting sighting;    /* what the rule says; recorded once, when the head is here */
	uint64_t charged;	     /* to the write budget, for the write under way */
	bool reload;		     /* of a fresh object, because the client wants it so */
	bool published, whole, storable;
	bool keeps_part; /* the write is of a 206, under a key of its own */
	bool part_added;
	struct slice gap; /* asked for, with the part */
	bool keeps_old;	  /* the answer is an error for which the stored object stands in */
	struct object_write *write;
	_Atomic uint64_t *turn; /* our slot of shelves.writing, or NULL */
	uint64_t turn_since;
	struct terms terms;
	struct key_hash stored_hash;
	size_t stored_key_bytes, stored_head_bytes;
	uint64_t expected, received;
	size_t taken; /* of the bytes on_body will bring again */
};

/* fill.c: ends everything early; readers see a failure with this status (0: ask again yourselves).
 */
void fill_abandon(struct fill *f, int status, const char *word);
/* fill.c: no more of the request's body from that client. */
void fill_drop_feeder(struct fill *f);

/* upload.c: a fetch's on_send, fed by f->feeder's stream. */
ptrdiff_t upload_take(void *fill, char *p, size_t max);

/* complete.c: whether what is missing of a part can be fetched. */
bool complete_may(const struct object *part);
uint64_t complete_bytes(const struct fill *f); /* of the whole that f->part is of */
/* complete.c: the origin was asked for the rest of f->part, and this is its head. */
enum completion {
	COMPLETE_IT,	  /* *merged is the 200 of the whole */
	COMPLETE_NOT,	  /* the whole, or an error: as if never asked for less */
	COMPLETE_ASK_ANEW /* of no use: the whole is to be asked for */
};
enum completion complete_with(struct fill *f, const struct response *rs, char date[DATE_BYTES],
			      struct response *merged);
/* complete.c: the same once a head is published, for what lies behind the part. */
bool complete_goes_on_with(const struct fill *f, const struct response *rs);
/* complete.c: the part's bytes, when everything before them is here. -1: they are lost. */
int complete_add_part(struct fill *f);
/* complete.c: the part is in its place, and something behind it is still missing. */
bool complete_has_gap(const struct fill *f);

/* keep.c: judges the origin's answer, begins to store it if it may be, publishes its head. length:
 * of the body, UINT64_MAX when not known. */
void keep_answer(struct fill *f, const struct response *rs, uint64_t length);
/* keep.c: the same for a 304 to our question about f->object. */
void keep_validated(struct fill *f, const struct response *rs);
/* keep.c: another fill may write the same large body. */
void keep_end_turn(struct fill *f);
/* keep.c: nothing is stored of what came so far. */
void keep_no_write(struct fill *f);
/* keep.c: the body is whole. What it has become, a reference, or NULL. */
struct object *keep_commit(struct fill *f);
/* keep.c: forgets what an unsafe method changed (RFC 9111 4.4). */
void keep_invalidated(struct fill *f, const struct response *rs);
/* keep.c: what Content-Length says, UINT64_MAX when nothing usable. */
uint64_t keep_length(const struct response *rs);

#endif
