/* upstream.h - the origins that answer for the same URLs: which is asked next, and which are well.
 *
 * They are asked in the order of the configuration. One that cannot be reached (name, connection,
 * TLS) is left alone for 1 s, then for 2, 4, ... 30 s; each time one request probes it, and while
 * it is left alone the next in the order is asked at once. Three reads in a row that time out count
 * as one such failure: a single slow URL must not take an origin away. Any answer of an origin,
 * also 5xx, shows that it is well. When no origin is well, the one whose time is up first is asked
 * anyway, so that a single origin is never locked out.
 *
 * It also knows how long an answer usually takes: see upstream_usual_ms.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Threads   any, lock-free.
 * Errors    none; each change is a line in the log.
 */
#ifndef ORIGIN_UPSTREAM_H
#define ORIGIN_UPSTREAM_H

#include "proxy/origin/fetch.h"

enum { UPSTREAM_MOST = 64, UPSTREAM_HOLD_FIRST_MS = 1000, UPSTREAM_HOLD_MOST_MS = 30000 };

struct upstream;

/* Takes the origins (at most UPSTREAM_MOST) over; the array itself stays the caller's. */
struct upstream *upstream_create(struct origin *const *origins, unsigned count);
void upstream_destroy(struct upstream **u); /* and the origins */

/* The tries of one request so far. Zeroed before the first. */
struct upstream_try {
	uint64_t tried;	  /* a bit for each origin asked */
	unsigned current; /* the one to be asked now, once upstream_pick said true */
	bool probe;	  /* current is asked to find out whether it is back */
	bool held_asked;  /* one that is left alone was asked, as the last way out */
};
/* False: there is none left to ask. */
bool upstream_pick(struct upstream *u, struct upstream_try *t, int64_t now_ms);
const struct origin *upstream_origin(const struct upstream *u, const struct upstream_try *t);

/* current sent a head after wait_us. */
void upstream_answered(struct upstream *u, const struct upstream_try *t, int64_t wait_us);
/* The fetch from current ended otherwise. True when it never got there: the next may be asked. */
bool upstream_failed(struct upstream *u, const struct upstream_try *t, const struct fetch_result *r,
		     int64_t now_ms);

/* Within this time four of five answers have begun, by what was seen lately of the origin that is
 * asked first; 0: nothing is known. */
int64_t upstream_usual_ms(const struct upstream *u);

/* What is known of each, in the order of the configuration. */
struct upstream_state {
	const char *url;
	bool out; /* it is left alone, or asked only to find out whether it is back */
	int64_t usual_ms;
};
unsigned upstream_count(const struct upstream *u);
struct upstream_state upstream_state(const struct upstream *u, unsigned i);

#endif
