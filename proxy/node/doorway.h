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
/* Where one entry listens: zeroed before the first worker has its socket. */
struct doorway_place {
	unsigned port;		 /* 0: a path */
	int shared;		 /* the socket of a path, of which each worker has a copy */
	struct unix_socket file; /* that path */
};
/* A socket that listens at the i-th entry, for one worker more. -1 and a sentence. */
int doorway_door(const struct config *c, unsigned i, struct doorway_place *p, char *err,
		 size_t err_bytes);
/* All workers have theirs. */
void doorway_shared(struct doorway_place *places, unsigned n);
/* Files of sockets go; nobody comes by them any more. */
void doorway_end(struct doorway_place *places, unsigned n);
/* The certificates and keys that the settings name are read again. -1 and a sentence: all stays as
 * it is. */
int doorway_reload(const struct config *c, struct tls_server *tls, char *err, size_t err_bytes);

#endif
