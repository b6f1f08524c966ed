/* network.h - sets of addresses: "10.0.0.0/8", "2001:db8::/32", "192.0.2.7", "unix", "any".
 *
 * IPv4 addresses are kept as IPv4-mapped IPv6 ones (::ffff:a.b.c.d), so a network of one family
 * never holds addresses of the other ("any" holds both), and a mapped address is the IPv4 address
 * it stands for. "unix" is whoever comes by a Unix socket: it is kept as an address that is routed
 * nowhere (RFC 6666). "none" holds no address.
 */
#ifndef BASE_NETWORK_H
#define BASE_NETWORK_H

#include "proxy/base/str.h"

#include <sys/socket.h>

struct network {
	unsigned char address[16];
	unsigned bits; /* of address that count: 0..128; more: it holds none */
};

/* 0, or -1: not a network. Bits behind the prefix must be zero, so 10.0.0.1/8 is refused: its
 * author meant something else. */
int network_parse(const char *z, struct network *out);

/* Reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]" and "[2001:db8::1]:80"; -1: it
 * is no address. */
int network_address(struct str text, unsigned char out[16]);

/* The same, as limits count clients: one of IPv6 has at least its 64 bits to choose addresses from, so
 * those are zero. All zero: it is no address. */
void network_client(struct str text, unsigned char out[16]);
/* An address becomes that of its client. */
void network_cut_to_client(unsigned char address[16]);
/* "192.0.2.1", "2001:db8::/64", "unix" or "unknown"; returns out. */
enum { NETWORK_CLIENT_TEXT = 64 };
char *network_print_client(const unsigned char client[16], char out[NETWORK_CLIENT_TEXT]);

/* A struct in_addr of AF_INET, a struct in6_addr of AF_INET6; of AF_UNIX "unix"; all zeros for others. */
void network_of_host(int family, const void *host, unsigned char out[16]);
/* The address of a socket, which must be AF_INET or AF_INET6. */
void network_of_socket(const struct sockaddr *sa, unsigned char out[16]);

bool network_is_v4(const unsigned char address[16]);

/* Clears all but the first bits, 0 to 128: what is left is the network of that length. */
void network_cut(unsigned char address[16], unsigned bits);

/* True when one of n networks holds the address; false too when the text is no address. */
bool network_any_holds(const struct network *v, unsigned n, struct str address);
/* The same of a socket's address; "unix" stands for all Unix sockets. */
bool network_any_is(const struct network *v, unsigned n, const struct sockaddr *sa);
bool network_any_has(const struct network *v, unsigned n, const unsigned char address[16]);

/* Those of the texts that are networks, and how many; the caller frees them. */
struct network *network_list(char *const *texts, unsigned n, unsigned *count);

#endif
