/* cut.h - nodes that do not see each other, though all are on loopback: the network between them comes apart, and heals.
 *
 * It is done by a library that is loaded into the nodes (tests/kit/preload/cut.c).
 */
#ifndef FLEET_KIT_CUT_H
#define FLEET_KIT_CUT_H

#include "tests/fleet/kit/nodes.h"

/* Nodes that start from now on can be cut off. */
void cuts_begin(void);
/* There is no way any more from that node to those n, and to the engine, where that is a socket of a file; connections that
 * it has to them end. What it was cut off from before is there again. It is so when this returns. */
void cut_off(const struct node *which, struct node *const *from, unsigned n, bool engine);
/* All is there again. */
void cut_heals(const struct node *which);

/* For nodes.c: the environment of the next process, that of a node with this directory; and nobody's. */
void cut_lends(const char *dir);
void cut_takes_back(void);

#endif
