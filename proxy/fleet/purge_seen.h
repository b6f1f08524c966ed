/* purge_seen.h - the purges that a node has heard of, as the parameter seen of a hop and the state say them: base64 of 16 bytes
 * for each node, its id and the number of its last purge, both big-endian.
 *
 * Pure.
 */
#ifndef FLEET_PURGE_SEEN_H
#define FLEET_PURGE_SEEN_H

#include "proxy/fleet/purge_names.h"

void purge_seen_format(const struct purge_name *list, unsigned n, struct buf *out);
/* How many; of more than there may be, the first ones. Text that is no such list has none. */
unsigned purge_seen_parse(struct str text, struct purge_name out[PURGE_NAMES_SEEN_MOST]);

#endif
