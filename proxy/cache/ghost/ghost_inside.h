/* ghost_inside.h - what the files of the ghost share: ghost.c (events, life), ghost_table.c,
 * ghost_log.c, ghost_snapshot.c. For nobody else. */
#ifndef CACHE_GHOST_INSIDE_H
#define CACHE_GHOST_INSIDE_H

#include "proxy/cache/ghost/ghost.h"
#include "proxy/cache/store/ledger.h"
#include "proxy/cache/store/packing.h"
#include "proxy/cache/ram_policy.h"

#include <stdatomic.h>

enum {
	GHOST_NONE = UINT32_MAX,
	/* A 304 makes the store write a head that points to the old body. */
	GHOST_HEAD_BYTES = 640,
};

/* One object that the ghost holds: on disk, in RAM, or both. */
struct shade {
	struct ram_node node; /* while in RAM; first */
	uint64_t key;
	uint64_t bytes;
	uint64_t sampled_as; /* the size that says whether it is large */
	uint64_t clean;	     /* as of then: a time of purges; 0: since before the start */
	uint32_t fresh_until, validator;
	uint32_t host;
	uint32_t url;		       /* the URL's low bits: which objects go together */
	uint32_t prev, next;	       /* of the same segment; free ones by next */
	uint32_t url_prev, url_next;   /* of the same bucket of URLs */
	uint32_t segment;	       /* where it begins */
	uint32_t first, last;	       /* generations of the segments that it lies in */
	uint32_t span_prev, span_next; /* of those that lie in more than one */
	uint32_t fade;		       /* up to which its hits have faded */
	uint8_t hits;		       /* on disk, since it lies where it lies */
	bool used, on_disk, in_ram;
	bool large;	/* it stands for itself alone */
	bool in_pieces; /* its body is larger than a fragment */
	bool bodiless;	/* the head of a body in slices, or of none */
	bool unwritten; /* in RAM with a newer head than on disk */
};

/* Of what is asked for in several events. */
enum { GHOST_ASKED_SLOTS = 64, GHOST_REQUEST_SLOTS = 1024 };
struct ghost_bill {
	/* The last requests, and whether it asked an origin for them: slices of one body are asked for together. */
	struct ghost_asked {
		uint32_t url;
		bool asked;
	} asked[GHOST_ASKED_SLOTS];
	/* Requests of clients for bodies in slices, of which more events may come: did it need an
	 * origin, here and there? */
	struct ghost_request {
		uint32_t id;
		bool ours, its;
	} requests[GHOST_REQUEST_SLOTS];
};

/* Generations of segments, in which something lies. */
struct ghost_span {
	uint32_t first, last;
};

/* Rows of what came to lie on disk, and left it, since somebody asked last (ghost_snapshot.c). */
struct ghost_journal {
	struct buf rows;
	bool is_on;
	bool is_lost; /* the sample is another one, or nobody asks */
};

/* The open batch. */
struct ghost_batch {
	uint64_t charged; /* as written, of what it holds */
	int64_t overhead; /* of closed batches and of footers, beyond what was charged */
	int64_t owed;	  /* at most 0: charged too much, and not yet left off */
	uint32_t born_s;
};

struct ghost {
	/* All workers read these for each request, and they hardly ever change: on lines apart from
	 * what every event writes. */
	_Atomic uint64_t threshold;   /* keys up to it are in the sample */
	_Atomic uint64_t large_bytes; /* and so are all records from this size on */
	bool samples;		      /* it has a disk */
	char apart[64];

	struct ghost_options o;
	uint32_t weight; /* of those that are not large */
	uint32_t large_n;
	struct ledger ledger;
	struct packing packing;
	uint64_t fragment_bytes;
	struct ghost_batch batch;
	uint32_t now_s;		/* of the last event */
	uint64_t heads;		/* that left RAM unwritten, to be written: with their weights */
	struct ghost_span took; /* by ghost_take, of one copy */
	bool is_emptying;	/* a segment; and, while that: a large body is being carried */
	bool is_carrying;
	bool is_large; /* what is being written just now, meanwhile */
	struct ram_policy ram;
	uint64_t ram_most;    /* of one object: a part of what would be its shard */
	struct shade *shades; /* owned */
	uint32_t shades_n, used, free;
	uint32_t *table;    /* shade or GHOST_NONE; open addressing, 2 * shades_n slots */
	uint32_t *urls;	    /* first shade of each bucket, shades_n of them */
	uint32_t *segments; /* first shade of each, or GHOST_NONE */
	uint32_t spanning;  /* the first of those that lie in several segments */
	struct ghost_bill bill;
	struct ghost_journal journal;
	uint64_t purge_start; /* purge_now of the first event */
	struct ghost_stats n;
};

/* ghost_bill.c. What becomes of an event, for its key stands for so many, goes into the bill. */
enum ghost_would { WOULD_ANSWER, WOULD_VALIDATE, WOULD_FETCH, WOULD_PASS };
void
ghost_charge(struct ghost *g, const struct ghost_event *e, enum ghost_would w, uint32_t weight);

/* ghost_table.c. The slot with this key, or the empty one where it would go. */
uint32_t ghost_slot(const struct ghost *g, uint64_t key);
struct shade *ghost_find(const struct ghost *g, uint64_t key);
/* Since ghost_take, which returned where it begins. */
void ghost_join_segment(struct ghost *g, uint32_t i, uint32_t segment);
void ghost_leave_segment(struct ghost *g, uint32_t i);
uint32_t *ghost_bucket(const struct ghost *g, uint32_t url);
void ghost_join_url(struct ghost *g, uint32_t i);
/* Out of the table and its URL, when it is nowhere any more. */
void ghost_release(struct ghost *g, uint32_t i);
/* It is forgotten. */
void ghost_lose(struct ghost *g, uint32_t i);
/* From wherever it is. */
void ghost_drop(struct ghost *g, uint32_t i);
void ghost_shrink_ram(struct ghost *g, uint64_t bytes);
/* An object asked for again on disk moves into RAM, if it is worth more there than others. */
void ghost_promote(struct ghost *g, struct shade *s);
uint32_t *ghost_slots(uint32_t *old, uint32_t n);
void ghost_grow(struct ghost *g, uint32_t n);

/* ghost_rows.c. An object or a segment, in a snapshot or the journal: ghost_snapshot.c says how. */
struct ghost_row {
	uint64_t key, bytes;
	uint32_t fresh_until, validator, url, host; /* host: odd, so that no object's is 0 */
};
enum {
	ROW_BYTES_BITS = 48,
	ROW_MOST_SPAN = (1 << 13) - 1,
	ROW_CHANGE_BITS = 38,
	ROW_BACK_BITS = 40,
	ROW_MOST_CHANGE = 3,
	ROW_MOST_BACK = 255
};
#define ROW_LARGE     (UINT64_C(1) << 61)
#define ROW_IN_PIECES (UINT64_C(1) << 62)
#define ROW_BODILESS  (UINT64_C(1) << 63)
struct ghost_row ghost_row(const struct shade *s, uint32_t span);

/* For the journal: it lies on disk now; its head is another one; it lies there no more.
 * And of segments: it was opened, for the one before is full; or it is being emptied, and what is carried is put
 * behind that. */
enum ghost_change { GHOST_PUT, GHOST_NEW_HEAD, GHOST_GONE };
void ghost_note(struct ghost *g, const struct shade *s, enum ghost_change what);
void ghost_note_segment(struct ghost *g, uint32_t generation, bool opened);

/* ghost_log.c. Takes the room of a record (cache_record_bytes) and returns the segment, of which
 * nothing may be left by then; GHOST_NONE: there is no room at all. */
uint32_t ghost_take(struct ghost *g, uint64_t record_bytes, bool in_pieces, uint32_t weight);
/* Its hits fade as the index's do. */
void ghost_fade(const struct ghost *g, struct shade *s);
/* Asked for where it lies: a hit, which pays its segments for so many bytes. */
void ghost_pay(struct ghost *g, struct shade *s, uint64_t bytes);
/* The same as ghost_take, counted as written. */
uint32_t ghost_write(struct ghost *g, uint64_t record_bytes, bool in_pieces, uint32_t weight);
/* A sealed one: what is worth it is carried, and the rest is gone. */
void ghost_empty_segment(struct ghost *g, uint32_t segment);
/* The next one, whatever room the one before has left. */
void ghost_open_segment(struct ghost *g);
/* Room that is in use and belongs to no shade. */
void ghost_take_dead(struct ghost *g, uint64_t bytes);
/* The heads of what has left RAM. */
void ghost_write_heads(struct ghost *g);
void ghost_free_segments(struct ghost *g);
/* Time goes on: a batch is not kept open for long. */
void ghost_age(struct ghost *g, uint32_t now_s);

/* For how many keys it stands. */
static inline uint32_t
ghost_weight(const struct ghost *g, const struct shade *s)
{
	return s->large ? 1 : g->weight;
}

static inline bool
ghost_is_large(const struct ghost *g, uint64_t sampled_as)
{
	return sampled_as >= atomic_load_explicit(&g->large_bytes, memory_order_relaxed);
}

/* ghost_sample.c. Half as many of those that are not large are in the sample. */
enum { GHOST_MOST_HALVINGS = 30 };
void ghost_halve(struct ghost *g);
/* Fewer are large: only from this size on. */
void ghost_raise_large(struct ghost *g, uint64_t bytes);
/* The sample gets smaller, by whichever of the two is worth more. */
void ghost_thin_out(struct ghost *g);
/* Room for one more shade, if need be by halving. False: so many keys are alike (hashes cannot be)
 * that halving does not help. */
bool ghost_make_room(struct ghost *g);
/* A shade that lies in this segment. The key must be in the sample and not be there yet. */
void ghost_add(struct ghost *g, const struct shade *s, uint32_t segment);
bool ghost_holds(const struct ghost *g, uint64_t key);

#endif
