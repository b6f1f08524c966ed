/* address.h - "127.0.0.1:8080", "[::1]:8080", "*:8080", "localhost:8080": where to listen or
 * connect.
 *
 * Answers   numbers only, no name service: a proxy must start without one.
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct address {
	struct sockaddr_storage sa;
	socklen_t bytes;
};

#define ADDRESS_TEXT 64 /* room for any printed address */

int address_parse(const char *z, struct address *a); /* 0, or -1: not an address with a port */
char *address_print(const struct address *a, char out[ADDRESS_TEXT]); /* returns out */
/* An in_addr or in6_addr as text, without a port; "unix" for Unix sockets, "unknown" for others. For the hot path:
 * IPv4 without printf. */
enum { ADDRESS_HOST_BYTES = 46 };
void address_print_host(int family, const void *in, char out[ADDRESS_HOST_BYTES]);
/* The same of a socket's address. */
void address_print_socket(const struct sockaddr *sa, char out[ADDRESS_HOST_BYTES]);
bool address_is_loopback(const struct address *a);
bool address_is_any(const struct address *a); /* 0.0.0.0 or [::] */
unsigned address_port(const struct address *a);
void address_set_port(struct address *a, unsigned port);

#endif
