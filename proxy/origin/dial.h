/* dial.h - libcurl opens a connection: names, addresses (RFC 8305), TLS and its checks.
 *
 * A plain connection, once open, is a socket that is ours; libcurl is done with it. A TLS
 * connection stays libcurl's and is read and written through it.
 *
 * Names come from the origin's addresses, where it has some: nothing is looked up here then, a
 * connection tries them in the order of their turns, and what came of it is told to them.
 *
 * Each dial has a multi handle of its own: libcurl 7.88 sweeps the connections of a multi handle
 * now and then and would close ours.
 *
 * Threads   one worker's.
 */
#ifndef ORIGIN_DIAL_H
#define ORIGIN_DIAL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/types.h>

struct dial;
struct event_base;
struct ip;
struct origin;

/* code: CURLE_OK and the open socket, or why not and -1. CURLE_INTERFACE_FAILED: this machine had no
 * descriptor or memory for it, which says nothing about the server. sentence holds during the call. The dial
 * may be destroyed in it. */
typedef void dial_done_fn(void *ctx, CURLcode code, int fd, const char *sentence);

/* The dials to one origin share names and TLS sessions; and dials of plain connections that have done
 * their part, to be used again, for most of what libcurl does for a connection is to make its
 * handles. */
struct dials {
	struct event_base *base;
	const struct origin *origin;
	CURLSH *share;
	struct dial *spare;
	unsigned spares;
};
void dials_init(struct dials *ds, struct event_base *base, const struct origin *o);
void dials_fini(struct dials *ds); /* when all dials are destroyed */

/* done never comes from within. */
struct dial *dial_create(struct dials *ds, dial_done_fn *done, void *ctx);
/* Closes a connection on its way, and a TLS connection; a plain one is the caller's. */
void dial_destroy(struct dial **d);

/* Of an open connection to an origin that is found by name. */
const struct ip *dial_peer(const struct dial *d);

/* Over TLS: bytes moved, 0 at the end of the connection, -1 with errno. */
ssize_t dial_send(struct dial *d, const char *p, size_t n);
ssize_t dial_recv(struct dial *d, char *p, size_t n);
/* The peer is told that nothing more comes; the connection stays open for reading. */
void dial_end(struct dial *d);
/* The peer said goodbye (closure alert): the end is no accident (RFC 9112 9.8). */
bool dial_farewell(const struct dial *d);
/* A constant sentence on the fatal alert of TLS that came on an open connection; NULL: none. */
const char *dial_alert(const struct dial *d);

#endif
