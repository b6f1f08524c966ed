/* places.h - at limits.connections, where no connection can be missed: the address that holds most
 * places gives one up to a newcomer whose address holds clearly fewer.
 *
 * Only then it is found out what each address holds, of all workers: each looks at its own
 * connections, once in SHARES_LOOK_MS at most, and adds what it found to the counts of struct room. A
 * newcomer is handed on to workers whose look is too old, and to those that have connections of that address.
 *
 * Forwarders, and clients without an address, hold nothing here: they give nothing up, and may always have
 * a place of an address that holds many. Where all come from one address, nothing changes.
 *
 * Threads   one worker's.
 */
#ifndef WIRE_PLACES_H
#define WIRE_PLACES_H

#include <stdbool.h>

struct arrival;
struct conn;
struct wire;

/* The worker at which a connection has to give way to this newcomer; -1: none has to. It may be another
 * than w's: then it is to be asked there, with one hop more. */
int places_find(struct wire *w, const struct arrival *a);
/* The connection that gives way, when the answer was w's own number; its place is the newcomer's. */
struct conn *places_take(struct wire *w, const struct arrival *a);
struct places;
void places_destroy(struct places **p);

#endif
