/* unix_socket.h - listening at a path of the file system.
 *
 * The file is ours from open to end. One that nobody listens at, as kill -9 leaves it, is replaced;
 * one at which somebody answers, or that is no socket, is not touched.
 *
 * Threads   those of one struct unix_socket: one at a time.
 */
#ifndef WIRE_UNIX_SOCKET_H
#define WIRE_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct unix_socket {
	char *path; /* owned; NULL: not open */
	dev_t device;
	ino_t inode; /* of the file: another may have taken its place since */
};

/* Paths as long as this, with their NUL, cannot be listened at. */
enum { UNIX_SOCKET_PATH_BYTES = 108 };

/* A non-blocking listening socket; mode: the file's. -1 and a sentence. */
int
unix_socket_open(struct unix_socket *u, const char *path, mode_t mode, char *err, size_t err_bytes);
/* The file at the path, at which a process before this one has made a socket, is ours to remove, and has
 * this mode. */
void unix_socket_adopt(struct unix_socket *u, const char *path, mode_t mode);
/* The file stays: it is somebody else's from here on. */
void unix_socket_leave(struct unix_socket *u);
/* The file goes, if it is still that one: nobody can come any more. */
void unix_socket_end(struct unix_socket *u);

#endif
