/* tls_handshake.h - the front of a TLS connection until its handshake is over; then the client's
 * choice (ALPN) is its front.
 *
 * Handshakes under way are counted, in all and of each address: at the limit the oldest of this
 * worker is closed for a new one. None takes longer than timeouts.header.
 */
#ifndef WIRE_TLS_HANDSHAKE_H
#define WIRE_TLS_HANDSHAKE_H

#include "proxy/wire/front.h"

extern const struct front tls_handshake_front;

/* A connection of a TLS listener, just opened. False: too many handshakes are under way, and it is
 * freed. */
bool tls_handshake_begin(struct conn *c);

#endif
