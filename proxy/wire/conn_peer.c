/* conn_peer.c - the address that a connection is counted by, and said to be of. */
#include "proxy/wire/conn.h"

#include "proxy/base/address.h"
#include "proxy/base/network.h"

#include <string.h>

void
conn_peer_address(const struct conn *c, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof *out);
	out->ss_family = c->family;
	if (c->family == AF_INET6)
		((struct sockaddr_in6 *)(void *)out)->sin6_addr = c->peer.v6;
	else if (c->family == AF_INET)
		((struct sockaddr_in *)(void *)out)->sin_addr = c->peer.v4;
}

void
conn_set_peer(struct conn *c, const struct sockaddr *peer)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
	c->family = (uint8_t)peer->sa_family;
	if (peer->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6)) { /* at [::] */
		c->family = AF_INET;
		memcpy(&c->peer.v4, &v6->s6_addr[12], sizeof c->peer.v4);
	} else if (peer->sa_family == AF_INET6) {
		c->peer.v6 = *v6;
	} else if (peer->sa_family == AF_INET) {
		c->peer.v4 = ((const struct sockaddr_in *)(const void *)peer)->sin_addr;
	}
}

void
conn_peer(const struct conn *c, char *out)
{
	address_print_host(c->family, &c->peer, out);
}

void
conn_address(const struct conn *c, unsigned char out[16])
{
	network_of_host(c->family, &c->peer, out);
}
