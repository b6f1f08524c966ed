/* door.c - a socket, and whom it lets in. */
#include "proxy/fleet/door.h"

#include "proxy/base/address.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct door {
	struct door_options o;
	struct evconnlistener *listener;
};

static bool
may_come(const struct door *d, const struct sockaddr *from)
{
	return d->o.networks_n ? network_any_is(d->o.networks, d->o.networks_n, from) : d->o.tls;
}

static void
on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int bytes, void *ctx)
{
	struct door *d = ctx;
	(void)l;
	if (may_come(d, from))
		d->o.arrive(d->o.ctx, fd, from, (size_t)bytes, d->o.tls);
	else
		close(fd);
}

/* Another process of this node may still listen there, during an upgrade. */
static int
open_socket(const char *listen_at, char *err, size_t err_bytes)
{
	struct address a;
	int yes = 1, fd = -1;
	if (address_parse(listen_at, &a)) {
		snprintf(err, err_bytes, "\"%s\" is no IP:PORT", listen_at);
		return -1;
	}
	fd = socket(a.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
			setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) ||
			bind(fd, (struct sockaddr *)&a.sa, a.bytes) || listen(fd, SOMAXCONN))) {
		int error = errno;
		close(fd);
		errno = error;
		fd = -1;
	}
	if (fd < 0)
		snprintf(err, err_bytes, "cannot listen on %s: %s", listen_at, strerror(errno));
	return fd;
}

struct door *
door_create(const struct door_options *o, char *err, size_t err_bytes)
{
	struct door *d = NEW(struct door);
	d->o = *o;
	int fd = open_socket(o->listen, err, err_bytes);
	if (fd < 0) {
		door_destroy(&d);
		return NULL;
	}
	d->listener = evconnlistener_new(o->base, on_accept, d,
					 LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	assert(d->listener);
	return d;
}

void
door_destroy(struct door **pd)
{
	struct door *d = *pd;
	*pd = NULL;
	if (!d)
		return;
	if (d->listener)
		evconnlistener_free(d->listener);
	free(d);
}

unsigned
door_port(const struct door *d)
{
	struct address a = {.bytes = sizeof a.sa};
	int r = getsockname(evconnlistener_get_fd(d->listener), (struct sockaddr *)&a.sa, &a.bytes);
	return r ? 0 : address_port(&a);
}
