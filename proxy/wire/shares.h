/* shares.h - how much of something each address has among a worker's connections. It is found out
 * where a limit is reached, and counted nowhere before.
 *
 * An IPv6 client is known by its first 64 bits, as in clients.h. A forwarder, which brings many clients,
 * and a client without an address have no share: each of their connections is by itself.
 *
 * Answers   two addresses may meet in a slot: one in SHARES_SLOTS does, and nobody can choose which.
 * Threads   one worker's.
 */
#ifndef WIRE_SHARES_H
#define WIRE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct conn;
struct wire;

/* SHARES_LOOK_MS: between two looks at all connections. */
enum { SHARES_SLOTS = 2048, SHARES_LOOK_MS = 50 };

struct shares {
	uint64_t seed; /* clients choose their addresses */
	int64_t ms;    /* of the last look; 0: there was none */
	struct {
		size_t has, most_has;
		struct conn *most; /* the one of these that has most; only until the look's caller
				    * returns */
	} of[SHARES_SLOTS];
};

/* How much a connection has; 0: it is left out. */
typedef size_t shares_weigh_fn(const struct conn *c);

struct shares *shares_create(uint64_t seed); /* 0: one of its own */
bool shares_are_due(const struct shares *s);
/* All anew. How many slots have something. */
unsigned shares_look(struct shares *s, const struct wire *w, shares_weigh_fn *weigh);
/* Of a connection, be it by itself or not. */
size_t shares_slot(const struct shares *s, const struct conn *c);
/* The slot of an address, or SHARES_SLOTS: it has no share. */
size_t shares_slot_of(const struct shares *s, const struct wire *w, const struct sockaddr *peer);

#endif
