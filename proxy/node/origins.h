/* origins.h - the groups of servers that the configuration names, made once.
 *
 * Threads   constant after origins_open; what the groups know is atomic.
 */
#ifndef NODE_ORIGINS_H
#define NODE_ORIGINS_H

#include "config/config.h"
#include "proxy/origin/upstream.h"

struct origins {
	struct upstream **groups; /* owned; as config_group counts them */
	unsigned group_count;
};

/* o: zeroed. -1 and a sentence; o is to be closed in any case. */
int origins_open(struct origins *o, const struct config *c, unsigned workers, char *err,
		 size_t err_bytes);
void origins_close(struct origins *o);

#endif
