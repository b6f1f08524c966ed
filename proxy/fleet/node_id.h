/* node_id.h - the number that a node keeps for ever, as text: 16 hexadecimal digits in lower case.
 *
 * Pure. 0 is no node.
 */
#ifndef FLEET_NODE_ID_H
#define FLEET_NODE_ID_H

#include "proxy/base/str.h"

enum { NODE_ID_TEXT = 16 };

/* False: it is not the text of an id. */
bool node_id_parse(struct str text, uint64_t *out);
/* NUL-terminated; returns out. */
char *node_id_print(uint64_t id, char out[NODE_ID_TEXT + 1]);

#endif
