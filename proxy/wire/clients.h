/* clients.h - how many connections there are: in all, and from each address. One count for all
 * workers.
 *
 * Threads   any. Without a limit per address one atomic number; with one, a lock that few share.
 * Memory    one small entry per address that is connected, when there is a limit per address.
 */
#ifndef WIRE_CLIENTS_H
#define WIRE_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct clients;

struct network;
struct clients_limits {
	unsigned most;	      /* in all */
	unsigned per_address; /* 0: no such limit */
	/* Forwarders, each of which brings many clients: no limit per address for them. Copied. */
	const struct network *forwarders;
	unsigned forwarder_count;
};
struct clients *clients_create(const struct clients_limits *l);
void clients_destroy(struct clients **c);
/* Other limits, for who comes from now on. Addresses are counted, and forwarders are known, as from
 * the start: per_address only counts where there was such a limit then. */
void clients_settle(struct clients *c, unsigned most, unsigned per_address);

enum clients_entry {
	CLIENTS_IN,	    /* counted; clients_leave with the same address is owed */
	CLIENTS_FULL,	    /* as many as there may be */
	CLIENTS_TOO_MANY_OF /* this address has its share */
};
/* An IPv6 client is known by its first 64 bits: the rest is its own to choose. An IPv4 client is
 * the same at an IPv6 socket (::ffff:a.b.c.d). One without an address of either kind, by a Unix
 * socket for example, counts only among all. */
enum clients_entry clients_enter(struct clients *c, const struct sockaddr *peer);
/* The same although there are as many as there may be: CLIENTS_IN, and the caller closes another
 * one at once, so that nobody else takes the place between. */
enum clients_entry clients_enter_full(struct clients *c, const struct sockaddr *peer);
/* The same connection is another client's from now on, to whom clients_leave is owed. False: that
 * address has its share, and all is as before. */
bool clients_move(struct clients *c, const struct sockaddr *from, const struct sockaddr *to);
void clients_leave(struct clients *c, const struct sockaddr *peer);
unsigned clients_count(const struct clients *c);

#endif
