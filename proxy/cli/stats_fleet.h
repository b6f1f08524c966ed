/* stats_fleet.h - what `twice stats --fleet` prints: the sum over all nodes of a fleet, and a line for each. */
#ifndef CLI_STATS_FLEET_H
#define CLI_STATS_FLEET_H

#include <jansson.h>
#include <stdio.h>

/* answer: of GET /fleet?stats=1. -1 and a sentence: it is something else. */
int stats_fleet_print(FILE *to, const json_t *answer, char *err, size_t err_bytes);

#endif
