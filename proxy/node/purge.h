/* purge.h - what a person orders to be purged, in the words of the cache. */
#ifndef NODE_PURGE_H
#define NODE_PURGE_H

#include "proxy/admin/admin.h"
#include "proxy/serve/settings.h"
#include "proxy/serve/shelves.h"

/* settings: which routes there are, and whether a forwarder may say https. A result for each of the
 * n orders; when one is refused, nothing was done. Returns when all are durable, or cannot be made
 * so: not for workers. noted is told of each as soon as it counts. */
typedef void purge_noted_fn(void *ctx, const struct purge_order *o);
struct purge_teller {
	purge_noted_fn *noted;
	void *ctx;
};
void purge_apply(struct shelves *sh, const struct settings *settings, const struct purge_order *o,
		 unsigned n, struct purge_result *out, const struct purge_teller *to);

#endif
