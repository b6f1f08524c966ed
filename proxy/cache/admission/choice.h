/* choice.h - `sightings: auto`: are two sightings asked for of all bodies, or three of those over 64 KiB?
 *
 * It is judged when a generation of the filter has ended, by what both rules would have done meanwhile with the same
 * requests (what-if):
 *
 *	three   where they write a fifth less than two, and lose no more than half a point of hits and two points of bytes
 *	two     where three write less than a tenth less, or lose more than one point of hits or three points of bytes
 *	three   as well where the write budget refuses a twentieth of what two would write, whatever they lose; and no
 *	        change back while it refuses a hundredth
 *
 * Between these bounds it stays as it is. Two periods one behind the other must say the same, beyond a standard error of
 * the sample, and since the last change four must have ended, in which the log has turned once (a generation is a tenth of that). For the budget one is
 * enough, of one generation. Else a period is three generations, or more where the sample leaves it in doubt: up to
 * forty.
 *
 * Pure: no clock, no files. Units: bytes, and seconds of a unix clock that is handed in.
 * Threads   none.
 */
#ifndef CACHE_CHOICE_H
#define CACHE_CHOICE_H

#include "proxy/base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHOICE_FEW = 2, CHOICE_MANY = 3, CHOICE_LEAST_REQUESTS = 1000 };

/* Both rules did so much since this was asked last. "more" is what three have more than two; an error is two standard
 * errors of that. */
struct choice_period {
	double requests, bytes; /* that were answered */
	double written;		/* with two; of objects that came in, without what is carried */
	double more_written, more_written_error;
	double more_requests, more_requests_error; /* that an origin was asked for */
	double more_bytes, more_bytes_error;	   /* that an origin sent */
	double refused;	     /* bytes that the write budget kept two from writing */
	double off_requests; /* of the rule of now: asked for in the simulation, less really */
};

enum choice_why {
	CHOICE_BEGAN,  /* nothing has spoken for another one yet */
	CHOICE_SAVES,  /* three write less and lose little */
	CHOICE_LITTLE, /* three save little */
	CHOICE_LOSES,  /* three lose too many hits, or bytes */
	CHOICE_BUDGET  /* two would exceed the write budget */
};

struct choice {
	unsigned sightings; /* CHOICE_FEW or CHOICE_MANY */
	enum choice_why why;
	int64_t since_s; /* of the last change; 0: there was none */
	uint64_t changes;
	/* The figures it was made by, as shares: of two's bytes, of requests, of bytes, of what two wanted to write. */
	double saved, lost_hits, lost_bytes, refused;
	unsigned agreed;   /* periods in a row that spoke for the other one */
	unsigned rested;   /* periods since the change, up to what is asked for */
	unsigned gathered; /* generations of the period that goes on; a restart begins it anew */
};

void choice_init(struct choice *c);

/* A generation has ended. False: these figures say nothing yet, and are to be gathered for longer. True: they counted,
 * and the next period begins; c->since_s is now_s and c->changes one more if it is another one now. */
bool choice_turn(struct choice *c, const struct choice_period *p, int64_t now_s);

/* In a sentence, such as "2 for all bodies: it began so". */
enum { CHOICE_TEXT = 240 };
const char *choice_say(const struct choice *c, char to[CHOICE_TEXT]);

/* As a file; all numbers are little-endian:
 *   0 u64 magic "TWchoice"   8 u32 1 (form)          12 u32 sightings      16 u32 why   20 u32 agreed
 *  24 u32 rested            28 u32 0                32 i64 since          40 u64 changes
 *  48 i64 saved, lost hits, lost bytes, refused, in millionths (4 * 8)     80 u64 XXH3 of bytes 0..79
 */
enum { CHOICE_FILE = 88 };
void choice_format(const struct choice *c, char to[CHOICE_FILE]);
/* NULL and *c; or why not, and *c is as it was. The bytes may be anything at all. */
const char *choice_parse(struct choice *c, struct str bytes);

#endif
