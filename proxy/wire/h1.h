/* h1.h - HTTP/1.x on a connection (RFC 9112): the files of this name are the only ones that know
 * minor versions, chunked and Connection.
 *
 * The loop in drive is the whole life: go on with the request under way, then look for the next
 * head, then read. It stops when it has to wait, and says for what.
 */
#ifndef WIRE_H1_H
#define WIRE_H1_H

#include "proxy/wire/front.h"

extern const struct front h1_front;

#endif
