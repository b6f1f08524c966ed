/* listen.h - "127.0.0.1:8080" to a bound, listening socket. */
#ifndef WIRE_LISTEN_H
#define WIRE_LISTEN_H

#include <stddef.h>

/* A non-blocking socket with SO_REUSEPORT, so that each worker has its own; port 0 takes any, and
 * *port (when not 0) overrides the address's, and is set to what was bound. -1 and a sentence. */
int listen_on(const char *addr, unsigned *port, char *err, size_t err_bytes);
unsigned listen_port(int fd); /* that it is bound to; 0: none */

#endif
