/* arrival.h - a client that was accepted, and is no connection yet: it may go to another worker, or be
 * turned away.
 *
 * Threads   one at a time.
 */
#ifndef WIRE_ARRIVAL_H
#define WIRE_ARRIVAL_H

#include "proxy/wire/listener.h"

#include <sys/socket.h>

struct arrival {
	int fd;	       /* its holder's, until it is closed or a connection has it */
	unsigned hops; /* how often another worker handed it over */
	const struct listener *listener;
	struct sockaddr_storage peer;
};

/* A 503 of HTTP/1, for clients for whom there is no place. */
struct str arrival_no_place(void);
/* The client is told that, where it speaks HTTP/1 from its first byte on and can be told at once. */
void arrival_refuse(const struct arrival *a);
void arrival_close(const struct arrival *a);

#endif
