/* sibling_door.h - where other nodes of the fleet come in: their connections are accepted on the fleet's thread, and
 * handed to the workers in turn, which listen to them as sibling.h says.
 *
 * What a connection was opened by (listener, keys) stays as long as the door does, whatever becomes of the settings.
 *
 * Bounds    for each worker SIBLING_DOOR_MOST connections, SIBLING_DOOR_ADDRESS_MOST of them of one address, which is what a worker
 *           of another node may open (fleet_adopt.c); they take no place of a client.
 * Threads   create, secure and destroy: one at a time; arrive: the fleet's; clients: any.
 */
#ifndef NODE_SIBLING_DOOR_H
#define NODE_SIBLING_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct clients;
struct room;
struct sibling_door;

enum { SIBLING_DOOR_MOST = 16384, SIBLING_DOOR_ADDRESS_MOST = 1024 };

/* Of the files of TLS for siblings; key NULL: it is with the certificate. */
struct sibling_door_files {
	const char *ca, *cert, *key;
};

/* room: of the workers; outlives the door. */
struct sibling_door *sibling_door_create(struct room *room, unsigned workers);
/* Nobody of those who came in is left. */
void sibling_door_destroy(struct sibling_door **d);
/* From now on who comes by TLS must have a certificate of that authority; files that have changed are read again. 0;
 * or -1, which file it is about ("ca_file") and a sentence, and all is as before. */
int sibling_door_secure(struct sibling_door *d, const struct sibling_door_files *f,
			const char **which, char *err, size_t err_bytes);
/* An accepted connection, taken; tls: by TLS, after sibling_door_secure. */
void sibling_door_arrive(void *d, int fd, const struct sockaddr *peer, size_t peer_bytes, bool tls);
struct clients *sibling_door_clients(struct sibling_door *d);

#endif
