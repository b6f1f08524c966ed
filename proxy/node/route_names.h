/* route_names.h - under which number the routes of one name are counted: the same over reloads, as long
 * as one of them has the name.
 *
 * Threads   one at a time.
 */
#ifndef NODE_ROUTE_NAMES_H
#define NODE_ROUTE_NAMES_H

#include "proxy/base/measures.h"

#include <stdbool.h>

struct config;

struct route_names {
	struct route_name {
		char *name; /* owned; NULL: the number was never given */
		bool clean; /* all workers have forgotten who had it before */
		bool taken; /* by the configuration that is being opened */
	} of[MEASURES_ROUTES];
};

/* By route, the number of its name; 0 where it has none. The caller frees it. before: what is in use,
 * or NULL; its names keep their numbers, so that none of its requests is counted for another. */
unsigned char *
route_names_open(struct route_names *n, const struct config *c, const struct config *before);
void route_names_fini(struct route_names *n);

#endif
