/* ring.h - which nodes own a key: weighted rendezvous over 2^16 slots of its hash.
 *
 * Each slot has the three nodes of the highest -weight / ln(h(slot, id)): the owner, and who is asked when it
 * does not answer. A node that comes takes its share from all others, one that goes gives its slots to their
 * second, and no other slot moves.
 *
 * Pure. Two nodes with the same members make the same ring.
 *
 * Memory    a ring is one block; 393 KiB.
 * Threads   a ring is constant once built; building takes some ms for each ten nodes, and is not for workers.
 */
#ifndef FLEET_RING_H
#define FLEET_RING_H

#include <stdint.h>

enum { RING_BITS = 16, RING_SLOTS = 1 << RING_BITS, RING_DEEP = 3, RING_NODES = 1024 };
enum { RING_NOBODY = 0xffff };

struct ring;

struct ring_node {
	uint64_t id;
	uint64_t weight; /* 0: it owns nothing */
};

/* Numbers of nodes as they were given to ring_build, in the order in which they are asked; RING_NOBODY behind the
 * last. */
struct ring_place {
	uint16_t node[RING_DEEP];
};

/* n: at most RING_NODES, with different ids, in any order. Only weights decide who owns how much. */
struct ring *ring_build(const struct ring_node *nodes, unsigned n);
void ring_destroy(struct ring **r);
/* Of the key with that hash; holds as long as the ring does. */
const struct ring_place *ring_find(const struct ring *r, uint64_t hash);
unsigned ring_slot(uint64_t hash);
/* Slots of RING_SLOTS that the node of that number owns. */
unsigned ring_owned(const struct ring *r, unsigned node);

#endif
