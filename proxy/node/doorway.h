/* doorway.h - from the settings of `listen` and `tls` to what wire takes. */
#ifndef NODE_DOORWAY_H
#define NODE_DOORWAY_H

#include "config/name.h"
#include "proxy/wire/listener.h"
#include "proxy/wire/tls_server.h"
#include "proxy/wire/unix_socket.h"

struct config;

bool doorway_has_tls(const struct config *c);
/* Whether a request can be for a URL of https: by TLS, or as a trusted forwarder says. */
bool doorway_may_be_https(const struct config *c);
/* Borrows from c. */
struct tls_server_options doorway_tls(const struct config *c);
/* The setting that a problem is about (tls_server.h): "tls.certificates.2". Returns out. */
char *doorway_name(const struct config *c, unsigned of, char out[CONFIG_NAME_BYTES]);

/* Opens what TLS listeners share; lenient: without what cannot be read of it, as far as somebody can
 * be served. -1 and a sentence. */
int doorway_open_tls(const struct config *c, bool lenient, struct tls_server **tls, char *err,
		     size_t err_bytes);
/* Whether an entry needs no certificate. */
bool doorway_has_plain(const struct config *c);
/* All that can be spoken at an entry of `listen`. Connections point here, so it outlives them,
 * whatever becomes of the entry; constant but for tls, which is NULL as long as no entry needs it. */
struct doorway_listeners {
	struct listener of[8];
};
void doorway_speak(struct doorway_listeners *l);
/* Once, before the first entry that needs it is listened at; others may be in use. */
void doorway_speak_tls(struct doorway_listeners *l, struct tls_server *tls);
const struct listener *
doorway_listener(const struct config *c, unsigned i, const struct doorway_listeners *l);
/* One entry listens here; zeroed before doorway_places. */
struct doorway_place {
	unsigned port; /* 0: a path */
	int *given; /* sockets that are there already, of which workers get copies: handed over by
			* a supervisor, or the one of a path */
	unsigned given_n;
	int *open; /* sockets that workers accept from, each in order; a worker closes its own */
	unsigned open_n;
	struct unix_socket file; /* the path, if it is ours to remove */
	bool adopted;		 /* the file: by the process before */
	unsigned id;		 /* no other place ever has the same */
};
/* Sockets that a supervisor has handed over are taken, and paths are opened. -1 and a sentence. */
int
doorway_places(const struct config *c, struct doorway_place *places, char *err, size_t err_bytes);
/* The same of one entry that comes while the program runs: nobody hands it over. */
int doorway_place(const struct config *c, unsigned i, struct doorway_place *p, char *err,
		  size_t err_bytes);
/* How many sockets of a place worker w of n has to accept from: none stays without a worker. */
unsigned doorway_count(const struct doorway_place *p, unsigned w, unsigned n);
/* A socket that listens at the i-th entry, for a worker, and is remembered as open. Number: w for the first
 * of worker w, w + n for its next, and so on. -1 and a sentence. */
int doorway_door(const struct config *c, unsigned i, struct doorway_place *p, unsigned number,
		 char *err, size_t err_bytes);
/* Remembers a socket that a worker gets to accept from. */
void doorway_remember(struct doorway_place *p, int fd);
/* Workers have closed all that are open. */
void doorway_forget(struct doorway_place *p);
/* All workers have theirs. */
void doorway_shared(struct doorway_place *places, unsigned n);
/* Files of sockets go; nobody comes by them any more. */
void doorway_end(struct doorway_place *places, unsigned n);
/* The same of the i-th entry, which c has and the configuration in use has not: a supervisor that keeps its
 * sockets for the next start would keep clients waiting there. */
void doorway_leave(const struct config *c, unsigned i, struct doorway_place *p);
/* The certificates and keys that the settings name are read again. -1 and a sentence: all stays as
 * it is. */
int doorway_reload(const struct config *c, struct tls_server *tls, char *err, size_t err_bytes);

#endif
