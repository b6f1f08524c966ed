/* entrance.h - where a connection begins: the front that a listener's clients meet.
 *
 * On a listener behind forwarders (struct listener.proxied) that is the head of the PROXY protocol,
 * by which the connection gets its client's address; then TLS, if it is spoken; then HTTP.
 */
#ifndef WIRE_ENTRANCE_H
#define WIRE_ENTRANCE_H

#include "proxy/wire/front.h"

#include <stdbool.h>

struct arrival;
struct listener;
struct wire;

/* False: the listener is for forwarders, and this client is none that is trusted. Counted, and the
 * log says so now and then. */
bool entrance_is_open(struct wire *w, const struct arrival *a);
/* conn_open begins with this front. */
const struct front *entrance_front(const struct listener *l);
/* A connection that was just opened with that front. False: it was freed. */
bool entrance_begin(struct conn *c);

#endif
