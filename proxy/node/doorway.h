/* doorway.h - from the settings of `listen` and `tls` to what wire takes. */
#ifndef NODE_DOORWAY_H
#define NODE_DOORWAY_H

#include "config/config.h"
#include "proxy/wire/listener.h"
#include "proxy/wire/tls_server.h"
#include "proxy/wire/unix_socket.h"

bool doorway_has_tls(const struct config *c);
/* Borrows from c. */
struct tls_server_options doorway_tls(const struct config *c);
/* The setting that a problem is about (tls_server.h): "tls.certificates.2". Returns out. */
char *doorway_name(const struct config *c, unsigned of, char out[CONFIG_NAME_BYTES]);

/* What all of `listen` speak. tls is made where one of them needs it. NULL and a sentence. */
struct listener *
doorway_open(const struct config *c, struct tls_server **tls, char *err, size_t err_bytes);
/* Where one entry listens; zeroed before doorway_places. */
struct doorway_place {
	unsigned port; /* 0: a path */
	int *given; /* sockets that are there already, of which workers get copies: handed over by
			* a supervisor, or the one of a path */
	unsigned given_n;
	struct unix_socket file; /* the path, if it is ours to remove */
};
/* Sockets that a supervisor has handed over are taken, and paths are opened. -1 and a sentence. */
int
doorway_places(const struct config *c, struct doorway_place *places, char *err, size_t err_bytes);
/* How many sockets of a place worker w of n has to accept from: none stays without a worker. */
unsigned doorway_count(const struct doorway_place *p, unsigned w, unsigned n);
/* A socket that listens at the i-th entry. Number: w for the first of worker w, w + n for its next, and so
 * on. -1 and a sentence. */
int doorway_door(const struct config *c, unsigned i, struct doorway_place *p, unsigned number,
		 char *err, size_t err_bytes);
/* All workers have theirs. */
void doorway_shared(struct doorway_place *places, unsigned n);
/* Files of sockets go; nobody comes by them any more. */
void doorway_end(struct doorway_place *places, unsigned n);
/* The certificates and keys that the settings name are read again. -1 and a sentence: all stays as
 * it is. */
int doorway_reload(const struct config *c, struct tls_server *tls, char *err, size_t err_bytes);

#endif
