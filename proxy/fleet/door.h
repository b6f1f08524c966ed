/* door.h - where siblings come in: a listening socket of its own. Whoever may come in is handed on; nothing of what he says
 * is read here.
 *
 * Threads   one: that of the event loop.
 */
#ifndef FLEET_DOOR_H
#define FLEET_DOOR_H

#include "proxy/base/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct door;
struct event_base;

/* The descriptor is taken. */
typedef void
door_arrive_fn(void *ctx, int fd, const struct sockaddr *peer, size_t peer_bytes, bool tls);

struct door_options {
	struct event_base *base;
	const char *listen; /* IP:PORT */
	const struct network *
		networks; /* borrowed; of whom it takes connections. n = 0: anybody by TLS, else nobody */
	unsigned networks_n;
	bool tls;
	door_arrive_fn *arrive;
	void *ctx;
};

/* NULL and a sentence in err. */
struct door *door_create(const struct door_options *o, char *err, size_t err_bytes);
void door_destroy(struct door **d);
unsigned door_port(const struct door *d);

#endif
