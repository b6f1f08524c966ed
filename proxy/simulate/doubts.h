/* doubts.h - does what was read of the logs look like requests? A log that is read wrongly gives a
 * report that is right about something else.
 */
#ifndef SIMULATE_DOUBTS_H
#define SIMULATE_DOUBTS_H

#include "proxy/simulate/study.h"

/* Calls each for every sentence that a reader should see before the figures. */
void doubts_tell(const struct study *s, void (*each)(void *ctx, const char *sentence), void *ctx);

#endif
