/* purge.h - what a person orders to be purged, in the words of the cache. */
#ifndef NODE_PURGE_H
#define NODE_PURGE_H

#include "proxy/admin/admin.h"
#include "proxy/serve/settings.h"
#include "proxy/serve/shelves.h"

/* settings: which routes there are, and whether a forwarder may say https. Returns when it is
 * durable, or cannot be made so: not for workers. */
void purge_apply(struct shelves *sh, const struct settings *settings, const struct purge_order *o,
		 struct purge_result *out);

#endif
