/* ram_policy.h - what stays in memory? Pure: nodes, sizes and hits; ram.c and the simulation
 * (bench/ram_policy.c) run it.
 *
 * Greedy-dual with sizes and frequencies, made cheap. Worth of a node = age + cost * (1 + hits) /
 * bytes, where age is the worth of the last one that went. Nodes of about the same size and cost
 * wait in one queue, oldest first, so that the least worthy of all is at the head of some queue: a
 * hit only counts, no list moves; a head that was hit is queued again with its new worth.
 *
 * A node that is on disk too is cheap to lose (a read from the page cache, not an origin fetch).
 * A newcomer is only taken when it is worth more than what would have to go: so the size that is
 * taken follows from the pressure, and no setting says it.
 * One that is refused raises the age all the same, by its share of the memory: else what was hit once would stay for
 * ever where nothing that comes is worth more.
 *
 * Threads   the owner's lock, but for ram_policy_touch (one byte, under the same lock).
 */
#ifndef CACHE_RAM_POLICY_H
#define CACHE_RAM_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RAM_CLASSES = 64, /* two per doubling of the size, up to 4 GiB */
	RAM_MAX_HITS = 15,
	RAM_LARGEST_SHARE = 4, /* no single object takes more than this part of a shard */
};

/* Into how many shards a tier of this size is cut, each with a policy of its own: so many that none
 * has less than 8 MiB, at most 64. */
unsigned ram_policy_shards(uint64_t memory_bytes);

struct ram_node {
	struct ram_node *prev, *next;
	double worth;	/* when it was queued */
	uint64_t bytes; /* all the memory it takes */
	uint32_t
		twins; /* that are not here and take as much each: it stands for them in a sample */
	uint8_t class, hits;
	bool on_disk;
};

struct ram_queue { /* head: the next to be looked at */
	struct ram_node *head, *tail;
	double worth; /* the head's: all queues are compared without a look at their nodes */
};

struct ram_policy {
	struct ram_queue queues[2][RAM_CLASSES]; /* by on_disk */
	uint64_t filled[2];			 /* bits of the queues that are not empty */
	uint64_t limit, used;
	uint32_t nodes;
	double age;
};

void ram_policy_init(struct ram_policy *p, uint64_t limit);

static inline void
ram_policy_touch(struct ram_node *n)
{
	n->hits += n->hits < RAM_MAX_HITS;
}

/* Would a newcomer of this size be taken now? */
bool ram_policy_takes(struct ram_policy *p, uint64_t bytes, bool on_disk, unsigned hits);
/* The node that must go before so many bytes fit, taken out of its queue; NULL: they fit. */
struct ram_node *ram_policy_make_room(struct ram_policy *p, uint64_t bytes);
/* Room must be there. n->bytes, n->on_disk and n->hits are set. */
void ram_policy_add(struct ram_policy *p, struct ram_node *n);
void ram_policy_remove(struct ram_policy *p, struct ram_node *n);
/* It stands for so many others from now on. What is used may exceed the limit then. */
void ram_policy_set_twins(struct ram_policy *p, struct ram_node *n, uint32_t twins);
/* It is (no longer) on disk too. */
void ram_policy_moved(struct ram_policy *p, struct ram_node *n, bool on_disk);
void ram_policy_check(const struct ram_policy *p);

#endif
