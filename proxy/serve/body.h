/* body.h - the bytes of an answer: which ranges of a representation, where they come from, how far
 * they were taken.
 *
 * A body is its ranges, in order, with text before and behind each where there are several
 * (multipart/byteranges, RFC 9110 14.6), and a source that has the bytes of the representation.
 * Wire pulls it (stream.h): body_pull says what is due, and the source brings it.
 *
 * Memory    zeroed means: none. body_end lets go of all but read, where the disk still owes an
 *           answer (read_out). Of ranges only the first needs to be zeroed.
 * Threads   its request's worker.
 */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include "proxy/cache/object_read.h"
#include "proxy/http/range.h"
#include "proxy/serve/stream.h"

struct body;
struct coded;
struct flight_reader;
struct plain;
struct walk;

/* Whether bytes of an answer count as sent from the cache. */
enum body_origin {
	BODY_FROM_ORIGIN,
	BODY_FROM_CACHE, /* but for those that a flight brought first */
	BODY_FROM_CACHE_IF_HIT
};

struct body_source { /* constant; one for each kind */
	enum body_origin counts;
	/* As stream_pull_fn: bytes of the representation from b->at on, before b->until, by which
	 * b->at goes on. A source that holds blocks releases those of the last read first. */
	enum stream_pull (*read)(struct body *b, size_t most, struct str *pieces, unsigned *n);
	/* May be NULL. As stream_file_fn; `most` reaches to b->until at most. */
	bool (*file)(struct body *b, size_t most, struct file_piece *piece);
	/* May be NULL. No piece is looked at any more, and reading goes on at `at`; false: it stays. */
	bool (*go_back)(struct body *b, uint64_t at);
	stream_trailers_fn *trailers; /* may be NULL; ctx: the body */
};

enum body_part { BODY_PART_NONE, BODY_PART_HEAD, BODY_PART_BYTES };
/* The text between the ranges of a multipart body. */
struct body_parts {
	enum body_part next; /* what is sent next; NONE: there is no such text */
	char boundary[20];
	struct str type; /* Content-Type of the parts: a view into a stored head */
	uint64_t total;	 /* bytes of the representation */
	struct buf text;
	struct str left; /* of text, still to be sent */
};

struct body {
	const struct body_source *source; /* NULL: it has no bytes */
	uint64_t at, until;		  /* of the range under way: what is still to be taken */
	unsigned range_count, range_i;
	struct body_parts parts;
	struct block *blocks[STREAM_PIECES]; /* keep the pieces that are being sent; or NULL */

	/* what a source needs: an object, */
	struct cache *cache;
	struct object *object; /* its owner's reference */
	struct body_read read;
	bool read_out;	       /* read.done will be called */
	uint64_t flight_bytes; /* that a flight brought before */
	/* its slices, */
	struct walk *walk; /* owned */
	/* the same in another form (plain.h), */
	struct plain *plain; /* owned */
	/* coded on its way (coded.h), */
	struct coded *coded; /* owned */
	/* a flight, */
	struct flight_reader *reader;
	struct flight_reader *second; /* a fetch beside it, for it drips (beside.h) */
	unsigned second_tries;	      /* of ours; the next may be from second_at_ms on */
	int64_t second_at_ms;
	/* or text that was made here. */
	struct str said;

	struct range ranges[RANGES_MAX];
};

/* Of a representation of length bytes (UINT64_MAX: not known): the whole of it. */
void body_is_whole(struct body *b, uint64_t length);
/* At the first of its ranges, of a representation of length bytes. */
void body_begin(struct body *b, uint64_t length);
/* Its ranges go as parts of this type, with a boundary of its own: the bytes of all. */
uint64_t body_begin_parts(struct body *b, struct str boundary, struct str type, uint64_t length);
/* Whether a client was sent bytes of it. Not of one that has parts. */
uint64_t body_taken(const struct body *b);

/* Wire calls these; ctx is the body. */
stream_pull_fn body_pull;
stream_file_fn body_file;
stream_give_back_fn body_take_back;

void body_release(struct body *b); /* the pieces of the last pull are not needed any more */
void body_end(struct body *b);
/* Of so many bytes that were sent, those that the cache had. hit: as the answer was said to be. */
uint64_t body_from_cache(const struct body *b, bool hit, uint64_t sent);

/* body_stored.c: what is stored. o: its owner's reference, which outlives the body. */
void body_of_object(struct body *b, struct cache *c, struct mailbox *home, struct object *o);
void body_of_slices(struct body *b); /* of b->walk */
void body_of_plain(struct body *b);  /* of b->plain */
/* body_flight.c: takes *reader, which becomes NULL. */
void body_of_flight(struct body *b, struct flight_reader **reader);
/* text stays its owner's, and outlives the body. */
void body_of_text(struct body *b, struct str text);

#endif
