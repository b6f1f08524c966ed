/* steps.h - the course of a log: so many steps, however long it is. Pure. */
#ifndef SIMULATE_STEPS_H
#define SIMULATE_STEPS_H

#include "proxy/simulate/catalogue.h"

/* n->visits have come, at this time, for so many URLs, of which so many once; returns after how many the next
 * step is due. */
uint64_t steps_note(struct catalogue_facts *n, uint32_t now_s, double urls, double once);

#endif
