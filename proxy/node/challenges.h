/* challenges.h - a thread that reads what serve asks for by challenge.h.
 *
 * The disk may hang, so one thread waits for it; of those who ask meanwhile so many wait, and no more.
 *
 * Threads   it is made and destroyed by one.
 */
#ifndef NODE_CHALLENGES_H
#define NODE_CHALLENGES_H

#include "proxy/serve/challenge.h"

struct challenge_reader *challenges_create(void);
/* All who wait have their letters when it returns, but for the one whose disk hangs: that is forsaken. */
void challenges_destroy(struct challenge_reader **r);

#endif
