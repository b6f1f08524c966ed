/* askers.h - did one address alone ask for a key? A table of fixed size that forgets.
 *
 * Answers   no only where two addresses asked (a wrong no: one in 2^32); yes also where it was
 *           forgotten who asked before, because other keys took the place.
 * Memory    1 MiB.
 * Threads   any, without locks. Of two that note the same key at once the later one is remembered.
 */
#ifndef CACHE_ASKERS_H
#define CACHE_ASKERS_H

#include "filter/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The client that a request comes from: an IPv4 address as IPv6 writes it, or the network that counts as one address
 * (network_client). All zeros: nobody knows, and all of these are one. */
struct asker {
	unsigned char address[16];
	uint64_t hash; /* askers_hash */
};

/* Of its address: with the seed, for clients choose addresses, and it chooses places in tables. */
void askers_hash(struct asker *a, const struct twice_seed *seed);

enum { ASKERS_SLOTS = 1 << 17 };

struct askers {
	/* 32 bits of the key, 32 of who asked, of which all ones are several; 0: empty. */
	_Atomic uint64_t slots[ASKERS_SLOTS];
};

/* who: the hash of whoever asks now. */
bool askers_is_alone(const struct askers *a, struct twice_key_hash key, uint64_t who);
/* The same; and from now on it has asked. */
bool askers_note(struct askers *a, struct twice_key_hash key, uint64_t who);

#endif
