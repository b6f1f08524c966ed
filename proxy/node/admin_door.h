/* admin_door.h - what the admin server has besides its address: a Unix socket, and the token that
 * others must send.
 *
 * Threads   one at a time.
 */
#ifndef NODE_ADMIN_DOOR_H
#define NODE_ADMIN_DOOR_H

#include "proxy/wire/unix_socket.h"

struct config;

struct admin_door {
	bool is_open;		 /* zeroed it is not */
	int fd;			 /* listens at `admin_socket`; -1: none */
	struct unix_socket file; /* that path */
	bool adopted;		 /* the file: by the process before */
};

/* -1 and a sentence; admin_door_close is due either way. */
int admin_door_open(struct admin_door *d, const struct config *c, char *err, size_t err_bytes);
/* The same with the socket of the process before, taken; is_ours: its file is this one's to remove. */
void admin_door_adopt(struct admin_door *d, const struct config *c, int fd, bool is_ours);
/* The file stays when it is closed: another process has the socket. */
void admin_door_leave(struct admin_door *d);
void admin_door_close(struct admin_door *d); /* zeroed is fine */

/* The token that the settings say, allocated; NULL: none. -1 and a sentence. */
int admin_door_token_of(const struct config *c, char **out, char *err, size_t err_bytes);
/* The one word in the file of `admin_token_file`, allocated; the caller frees. NULL and a sentence. */
char *admin_door_token(const char *path, char *err, size_t err_bytes);

#endif
