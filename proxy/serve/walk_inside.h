/* walk_inside.h - what the files of walk share: walk.c (steps), walk_slice.c (the slice at hand),
 * walk_fetch.c (one that is not kept). For nobody else.
 */
#ifndef SERVE_WALK_INSIDE_H
#define SERVE_WALK_INSIDE_H

#include "proxy/serve/walk.h"

/* Fetches of one slice for one answer: one may be cut, or be another's that left. */
enum { WALK_TRIES_MOST = 3 };

enum walk_place {
	WALK_NOWHERE,
	WALK_LOOKING, /* the disk is asked */
	WALK_IN_OBJECT,
	WALK_IN_FLIGHT
};

/* Of the slices that came: all were in another node's cache, or not. */
enum walk_source { WALK_FROM_NOWHERE, WALK_FROM_SIBLING, WALK_FROM_ORIGIN };

struct walk_sight {
	struct sighting is; /* what the slice at hand counts for: its request's, or its own */
	bool each;	    /* a Range that counts for each slice it touches, */
	uint64_t judged;    /* of which this was the last, */
	bool untold;	    /* and nothing that counts it has told of it yet (bill.h) */
};

struct walk {
	struct cache_lookup lookup; /* first: see on_lookup */
	struct txn *t;		    /* NULL: it has left */
	struct object *head;	    /* a reference */
	struct buf version;	    /* of its body (slices_version) */
	struct key key;		    /* of the slice at hand */
	uint64_t number;
	struct walk_sight sight;
	enum walk_place place;
	struct object *slice;
	uint64_t taken, taken_until; /* of the body, from the slice at hand; until 0: nothing yet */
	struct flight_reader *reader;
	struct body_read read;
	bool read_out;
	bool lost;	     /* what the cache has of this slice cannot be read */
	int64_t outlives_ms; /* since when slices are forgotten that it reads; 0: none is */
	struct alarm alarm;  /* the one who leads takes its time: */
	int64_t try_at_ms;   /* then one more fetch is tried beside it; 0: never */
	unsigned tries;
	unsigned tired;		  /* how often somebody's fetch took too long for it */
	bool leads;		  /* the flight at hand is brought by our own fetch */
	bool asks_tags;		  /* it was joined before its tags were known */
	bool alone;		  /* the next try waits for nobody */
	unsigned met;		  /* failures of others' fetches of this slice, */
	int64_t follows_since_ms; /* and since when it waits for those; 0: it does not */
	unsigned asks;		  /* exchanges with the origin so far */
	enum walk_help help;
	enum walk_source source;
	int status;
	const char *word;
};

/* ---- walk_slice.c */

void walk_check(const struct walk *w); /* what must be true between two steps; aborts if not */
bool walk_may_write(const struct walk *w, uint64_t bytes); /* to disk, for its request */
void walk_sight_begin(struct walk *w);
void walk_sight(struct walk *w); /* the slice at hand: w->sight.is */
bool walk_tells(struct walk *w);
struct range walk_bytes(const struct walk *w); /* of the whole, that the slice at hand holds */
void walk_make_key(struct walk *w, struct key *key, uint64_t number);
/* Slices that were forgotten since it began are still for it. */
bool walk_may_outlive(const struct walk *w);
bool walk_is_it(const struct walk *w, const struct object *o); /* the slice at hand */
void walk_take(struct walk *w, struct object *o);	       /* is here; takes the reference */
void walk_pay(struct walk *w);
void walk_let_go(struct walk *w); /* none is at hand any more */

/* ---- walk_fetch.c: of w->reader's flight, which is WALK_IN_FLIGHT */

void walk_join(struct walk *w, uint64_t until);
bool walk_is_tired(struct walk *w, uint64_t until);
bool walk_leaves_drip(struct walk *w, uint64_t until);
bool walk_is_purged(struct walk *w); /* its head is here, and it is not for who came lately */
enum walk_step walk_fail(struct walk *w);
void walk_note_source(struct walk *w); /* its head is here */

#endif
