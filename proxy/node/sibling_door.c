/* sibling_door.c - a listener for siblings, or two, and whose turn it is. */
#include "proxy/node/sibling_door.h"

#include "proxy/base/mem.h"
#include "proxy/base/process.h"
#include "proxy/wire/arrival.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/room.h"
#include "proxy/wire/tls_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sibling_door {
	struct room *room;
	unsigned workers, turn;
	struct clients *clients;
	struct listener plain, secured;
};

struct sibling_door *
sibling_door_create(struct room *room, unsigned workers)
{
	struct sibling_door *d = NEW(struct sibling_door);
	const struct clients_limits l = {.most = SIBLING_DOOR_MOST * workers,
					 .per_address = SIBLING_DOOR_ADDRESS_MOST * workers};
	d->room = room;
	d->workers = workers;
	d->clients = clients_create(&l);
	d->plain = (struct listener){.scheme = STR("http"), .sibling = true};
	d->secured = (struct listener){.scheme = STR("https"), .sibling = true};
	return d;
}

void
sibling_door_destroy(struct sibling_door **pd)
{
	struct sibling_door *d = *pd;
	*pd = NULL;
	if (!d)
		return;
	if (d->secured.tls)
		tls_server_destroy(&d->secured.tls);
	clients_destroy(&d->clients);
	free(d);
}

struct complaint {
	const char **which;
	char *err;
	size_t bytes;
};

static void
on_problem(void *ctx, unsigned of, const char *text)
{
	static const char *const files[] = {"cert_file", "key_file", "ca_file"};
	struct complaint *c = ctx;
	if (c->err[0] != '\0')
		return;
	*c->which = files[of < 2 ? of : 2];
	snprintf(c->err, c->bytes, "%s", text);
}

int
sibling_door_secure(struct sibling_door *d, const struct sibling_door_files *f, const char **which,
		    char *err, size_t err_bytes)
{
	enum { TICKET_PERIOD_S = 12 * 3600, HANDSHAKES = 1024 };
	char *paths[] = {(char *)(uintptr_t)f->cert,
			 (char *)(uintptr_t)(f->key ? f->key : f->cert)};
	struct complaint told = {which, err, err_bytes};
	struct tls_problems problems = {.tell = on_problem, .ctx = &told};
	const struct tls_server_options o = {
		.certs = {.paths = paths,
			  .path_count = 2,
			  .client_ca = f->ca,
			  .client_required = true},
		.ticket_period_s = TICKET_PERIOD_S,
		.handshakes = HANDSHAKES,
	};
	*which = "cert_file";
	*err = '\0';
	if (d->secured.tls)
		return tls_server_reload(d->secured.tls, &o, &problems);
	d->secured.tls = tls_server_create(&o, &problems);
	return d->secured.tls ? 0 : -1;
}

void
sibling_door_arrive(void *ctx, int fd, const struct sockaddr *peer, size_t peer_bytes, bool tls)
{
	struct sibling_door *d = ctx;
	struct arrival a = {.fd = fd, .listener = tls ? &d->secured : &d->plain};
	assert(!tls || d->secured.tls);
	assert(peer_bytes <= sizeof a.peer);
	memcpy(&a.peer, peer, peer_bytes);
	if (fd >= process_files_for_peers() || !room_hand_over(d->room, d->turn++ % d->workers, &a))
		arrival_close(&a);
}

struct clients *
sibling_door_clients(struct sibling_door *d)
{
	return d->clients;
}
