/* outlier.h - does a server fail, or only one client's requests, or one URL?
 *
 * Failures in a row speak against the server itself when they have several sources: three clients
 * and three URLs at least among five failures. What happened to a connection that carried no request
 * is nobody's doing, and counts as a source of its own.
 *
 * Failures that have only one or two clients or URLs may be their own doing. They are weighed
 * against what the server answered well: they count when it answered nobody for half a second, and
 * when more clients fail than others were answered well in the last ten seconds, and more URLs too.
 * So one client that asks for one URL finds no healthy server guilty while others are answered; and a
 * server that fails all that it is asked is found guilty also where all comes from one address.
 *
 * And it is found guilty though somebody is answered between the failures, by a page that needs no
 * backend perhaps: when the last answer to five clients, and at five URLs, was a failure, and these are
 * more than twice as many as those whose last answer was a good one, in ten seconds.
 *
 * Clients and URLs have places by their hashes, 16 each: two of one place count as one.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Memory    of fixed size; all zero is a server that nothing is known of.
 * Threads   any, lock-free. What races may lose a failure or a success.
 */
#ifndef ORIGIN_OUTLIER_H
#define ORIGIN_OUTLIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	OUTLIER_FAILURES = 5, /* in a row, at least */
	OUTLIER_SEVERAL = 3,
	OUTLIER_SILENCE_MS = 500,
	OUTLIER_WELL_MS = 10000,
	OUTLIER_STEP_MS = 250, /* how exactly times are known */
	OUTLIER_PLACES = 16
};

/* Hashes of who asks, and for what; 0: not known. */
struct source {
	uint32_t client, url;
};

/* Of each place when it was answered well last, and when it failed, in steps; 0: never. */
struct outlier_places {
	_Atomic uint32_t well[OUTLIER_PLACES], failed[OUTLIER_PLACES];
};
struct outlier {
	_Atomic uint64_t row; /* of failures: see outlier.c */
	struct outlier_places clients, urls;
};

/* A good answer. Returns how many failures in a row it ended. */
unsigned outlier_well(struct outlier *o, struct source s, int64_t now_ms);
/* A failure; nobodys: no request can have caused it, or none is known. Returns how many in a row there are
 * now. */
unsigned outlier_failed(struct outlier *o, struct source s, bool nobodys, int64_t now_ms);
/* Whether the failures speak against the server. To be asked after one. */
bool outlier_is(const struct outlier *o, int64_t now_ms);
void outlier_forget(struct outlier *o); /* the failures */
void outlier_copy(struct outlier *to, const struct outlier *from);

#endif
