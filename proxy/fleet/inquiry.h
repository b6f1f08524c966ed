/* inquiry.h - each sibling is asked for its state once a second: GET /.twice/state, signed, by TLS where the fleet has
 * certificates.
 *
 * An answer counts when that sibling signed it, for this question. Whether one came is told to the sibling's
 * standing, and beside it how many failed in a row.
 *
 * Threads   one: that of the event loop.
 */
#ifndef FLEET_INQUIRY_H
#define FLEET_INQUIRY_H

#include "proxy/fleet/chart.h"

struct inquiry;
struct peers;

enum { INQUIRY_EVERY_MS = 1000, INQUIRY_LIMIT_MS = 800, INQUIRY_STATE_MOST = 4096 };

#define INQUIRY_TARGET "/.twice/state"

struct inquiry_options {
	struct peers *peers; /* borrowed */
	/* A sibling's state, as JSON; or NULL: it failed for the how-manieth time in a row, and why. */
	void (*on_state)(void *ctx, struct sibling *s, const struct str *state, unsigned failures,
			 const char *why);
	void *ctx;
};

struct inquiry *inquiry_create(const struct inquiry_options *o);
void inquiry_destroy(struct inquiry **q);
/* From now on these are asked, and no others; references are taken. */
void inquiry_settle(struct inquiry *q, struct sibling *const *of, unsigned n);
/* Often: begins what is due. */
void inquiry_turn(struct inquiry *q, int64_t now_ms);

#endif
