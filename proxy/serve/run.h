/* run.h - one exchange with the origin that brings a run of slices: of a 200 that is cut as it
 * comes, or of a 206 that was asked for by whoever missed a slice.
 *
 *	before          f->flight       next
 *	| slice n-1 |   | slice n |     | slice n+1 |
 *	 whole: an       its bytes       nobody brings it besides us:
 *	 object           come            who wants it joins here
 *
 * Each slice is a flight of its own, and an object when it is whole. A slice is begun when somebody
 * reads its flight; when the last who read has gone, the run ends behind the slice under way. So
 * an exchange is never more than a slice ahead of the fastest who reads.
 *
 * A 206 that goes to its own client as it came (a first sighting) leaves the slices that it holds
 * from end to end (run_of_part); it is led by no one.
 */
#ifndef SERVE_RUN_H
#define SERVE_RUN_H

#include "proxy/serve/again.h"

/* f's 200 of total bytes lies in slices from now on; base is the key that it is filed under, head
 * its stored head. Call before the object of the head can be found. */
void run_of_whole(struct fill *f, const struct key *base, struct str head, uint64_t total);
/* f is to ask for slices number .. end - 1 of what o is the head of; it leads the first one's
 * flight. each: f's sighting is the first one's alone. begun: bytes of the answer that it is for were sent. */
void run_of_slices(struct fill *f, struct object *o, uint64_t number, uint64_t end, bool each,
		   bool begun);
/* f's 206 brings the bytes `which`: those slices of them that are whole are kept. */
void run_of_part(struct fill *f, const struct key *base, struct str head, uint64_t total,
		 struct range which);
/* Whether f leads flights of slices. */
bool run_leads(const struct fill *f);
void run_end(struct fill *f); /* with the trip; flights that nobody brings fail */

/* The trip's next step. */
struct run_step {
	enum {
		RUN_GOES_ON,
		RUN_WAITS,	/* for room, or readers */
		RUN_ASKS_AGAIN, /* the same, perhaps in other words */
		RUN_ENDS
	} next;
	int status;	  /* RUN_ENDS: of the failure that readers see, if a slice is under way; */
	const char *word; /* 0: they ask again themselves */
	int64_t at_ms;	  /* RUN_ASKS_AGAIN: then; 0: now */
};

/* The fields that ask for it; range keeps what out points to. */
void run_ask(struct fill *f, struct outgoing_asks *out, char *range, size_t range_bytes);
/* The answer to that. */
struct run_step run_head(struct fill *f, const struct response *rs);
/* There was none. RUN_ENDS: the failure stands. */
struct run_step run_unanswered(struct fill *f, const struct fetch_result *r);
/* The head of a 200 that is cut goes to those who asked. */
struct run_step run_publish(struct fill *f, struct flight_head *h);
/* As on_body of a fetch. RUN_WAITS: these bytes are brought again. */
struct run_step run_body(struct fill *f, const char *p, size_t n);

/* How a flight failed whose version is not the origin's any more. */
bool run_is_changed(const char *word);

#endif
