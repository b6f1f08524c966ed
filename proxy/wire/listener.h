/* listener.h - one entry of `listen`, or fleet.listen: what is spoken there.
 *
 * Threads   a listener is constant while any worker listens or has a client of it; all share it.
 */
#ifndef WIRE_LISTENER_H
#define WIRE_LISTENER_H

#include "proxy/base/str.h"

#include <stdbool.h>

struct tls_server;

struct listener {
	struct str scheme;	/* of every request that comes in here */
	struct tls_server *tls; /* NULL: not encrypted */
	bool h2;		/* HTTP/2 from the first byte on */
	bool proxied;		/* for trusted forwarders only, which say by the PROXY protocol who
				 * the client is */
	bool sibling; /* for nodes of the fleet, each of whose requests says for whom it is; by
				 * HTTP/1.1 alone */
};

#endif
