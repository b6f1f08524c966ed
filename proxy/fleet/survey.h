/* survey.h - each sibling is asked what it has counted, when somebody wants to know: GET /.twice/numbers, signed, by TLS where
 * the fleet has certificates.
 *
 * A round takes SURVEY_LIMIT_MS at most, and what it has found counts for as long again as it took: who asks in the
 * meantime shares it. Only SURVEY_AT_ONCE siblings are asked at a time. One that has answered nothing for some seconds
 * (sibling.silent) is not asked.
 *
 * Threads   one: that of the event loop; a result any.
 */
#ifndef FLEET_SURVEY_H
#define FLEET_SURVEY_H

#include "proxy/fleet/chart.h"

struct peers;
struct survey;

enum { SURVEY_LIMIT_MS = 800, SURVEY_AT_ONCE = 64 };

#define SURVEY_TARGET "/.twice/numbers"

struct survey_row {
	uint64_t id;	 /* of the sibling */
	struct buf said; /* its answer; empty: there is none, and why is a sentence */
	char why[80];
};
struct survey_result {
	_Atomic unsigned refs;
	unsigned n;
	struct survey_row of[];
};
/* NULL: nothing happens. */
void survey_result_unref(struct survey_result **r);

struct survey_result *survey_result_ref(struct survey_result *r);

/* over: what a round has found, which holds during the call. peers is borrowed. */
struct survey *
survey_create(struct peers *peers, void (*over)(void *ctx, struct survey_result *found), void *ctx);
void survey_destroy(struct survey **s); /* over is not called any more */
/* over is called, perhaps from within. */
void survey_ask(struct survey *s, struct sibling *const *of, unsigned n, int64_t now_ms);
/* Often. */
void survey_turn(struct survey *s, int64_t now_ms);

#endif
