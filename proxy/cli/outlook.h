/* outlook.h - the first lines of `twice stats`: how the node is, since when, why, and what comes now.
 *
 * Errors    none: of a proxy that does not tell it, nothing is printed.
 */
#ifndef CLI_OUTLOOK_H
#define CLI_OUTLOOK_H

#include <jansson.h>
#include <stdio.h>

/* stats: the answer of GET /stats. before: the one of a moment ago, for what came since; or NULL. */
void outlook_print(FILE *to, const json_t *stats, const json_t *before);

#endif
