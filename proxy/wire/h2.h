/* h2.h - HTTP/2 (RFC 9113) on a connection: many requests at once, by libnghttp2's session.
 *
 * A connection speaks it when its listener says so (struct listener.h2), or when whoever did its
 * handshake sets struct conn.front to h2_front before the connection has a session.
 */
#ifndef WIRE_H2_H
#define WIRE_H2_H

#include "proxy/wire/front.h"

extern const struct front h2_front;

struct h2_shared;			      /* of all HTTP/2 connections of a worker */
void h2_shared_destroy(struct h2_shared **s); /* NULL inside is fine */

#endif
