/* owners.h - the nodes of a fleet that own a URL, as `twice fleet owner` and `twice explain` print them. */
#ifndef CLI_OWNERS_H
#define CLI_OWNERS_H

#include <jansson.h>

/* answer: of GET /fleet?url=, or what GET /explain says of the fleet. */
void owners_print(const json_t *answer);

#endif
