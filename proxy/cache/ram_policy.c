/* ram_policy.c - see the header for the idea; here are the queues. */
#include "proxy/cache/ram_policy.h"

#include <assert.h>
#include <stddef.h>

/* Losing what is on disk too costs this much of an origin fetch. On the CDN mix of
 * bench/cdn_cache.c (memory 10% of disk): 0.1 hits 67.2%, 55% of requests from RAM; 0.02: 67.9%,
 * 48%; 0.003: 68.3%, 30%; admitting all: 67.9%, 55%. */
static const double COST_ON_DISK = 0.02;
enum { SHARD_BYTES = 8 << 20, MAX_SHARDS = 64 };

unsigned
ram_policy_shards(uint64_t memory_bytes)
{
	unsigned n = 1;
	while (n < MAX_SHARDS && memory_bytes / (2 * n) >= SHARD_BYTES)
		n *= 2;
	return n;
}

void
ram_policy_init(struct ram_policy *p, uint64_t limit)
{
	*p = (struct ram_policy){.limit = limit};
}

static uint64_t
bytes_of(const struct ram_node *n)
{
	return n->bytes * (1 + (uint64_t)n->twins);
}

static uint8_t
class_of(uint64_t bytes)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(bytes | 2);
	unsigned half = bytes >> (log2 - 1) & 1;
	unsigned class = 2 * log2 + half;
	return (uint8_t)(class < RAM_CLASSES ? class : RAM_CLASSES - 1);
}

static double
worth(const struct ram_policy *p, uint64_t bytes, bool on_disk, unsigned hits)
{
	return p->age + (on_disk ? COST_ON_DISK : 1.0) * (1 + hits) / (double)bytes;
}

static void
unlink_node(struct ram_policy *p, struct ram_node *n)
{
	struct ram_queue *q = &p->queues[n->on_disk][n->class];
	*(n->prev ? &n->prev->next : &q->head) = n->next;
	*(n->next ? &n->next->prev : &q->tail) = n->prev;
	if (q->head) {
		q->worth = q->head->worth;
		__builtin_prefetch(q->head->next); /* which is asked for its worth the next time */
	} else {
		p->filled[n->on_disk] &= ~(UINT64_C(1) << n->class);
	}
	p->used -= bytes_of(n);
	p->nodes--;
}

void
ram_policy_add(struct ram_policy *p, struct ram_node *n)
{
	n->class = class_of(n->bytes);
	n->worth = worth(p, n->bytes, n->on_disk, n->hits);
	struct ram_queue *q = &p->queues[n->on_disk][n->class];
	if (!q->head)
		q->worth = n->worth;
	n->next = NULL;
	n->prev = q->tail;
	*(q->tail ? &q->tail->next : &q->head) = n;
	q->tail = n;
	p->filled[n->on_disk] |= UINT64_C(1) << n->class;
	p->used += bytes_of(n);
	p->nodes++;
}

static struct ram_node *
least_head(const struct ram_policy *p)
{
	const struct ram_queue *least = NULL;
	for (int on_disk = 0; on_disk < 2; on_disk++)
		for (uint64_t left = p->filled[on_disk]; left; left &= left - 1) {
			const struct ram_queue *q = &p->queues[on_disk][__builtin_ctzll(left)];
			if (!least || q->worth < least->worth)
				least = q;
		}
	return least ? least->head : NULL;
}

/* A head that was hit goes to the back with what its hits are worth now; they count half the next
 * time. */
static struct ram_node *
find_victim(struct ram_policy *p)
{
	struct ram_node *n;
	while ((n = least_head(p)) && n->hits > 0) {
		p->age = n->worth > p->age ? n->worth : p->age;
		unlink_node(p, n);
		ram_policy_add(p, n);
		n->hits /= 2;
	}
	return n;
}

bool
ram_policy_takes(struct ram_policy *p, uint64_t bytes, bool on_disk, unsigned hits)
{
	if (bytes > p->limit / RAM_LARGEST_SHARE)
		return false;
	if (p->used + bytes <= p->limit)
		return true;
	const struct ram_node *victim = find_victim(p);
	if (!victim || victim->worth <= worth(p, bytes, on_disk, hits))
		return victim;
	if (victim->worth > p->age)
		p->age += (victim->worth - p->age) * (double)bytes / (double)p->limit;
	return false;
}

struct ram_node *
ram_policy_make_room(struct ram_policy *p, uint64_t bytes)
{
	assert(bytes <= p->limit);
	if (p->used + bytes <= p->limit)
		return NULL;
	struct ram_node *n = find_victim(p);
	p->age = n->worth > p->age ? n->worth : p->age;
	unlink_node(p, n);
	return n;
}

void
ram_policy_remove(struct ram_policy *p, struct ram_node *n)
{
	unlink_node(p, n);
}

void
ram_policy_set_twins(struct ram_policy *p, struct ram_node *n, uint32_t twins)
{
	p->used -= bytes_of(n);
	n->twins = twins;
	p->used += bytes_of(n);
}

void
ram_policy_moved(struct ram_policy *p, struct ram_node *n, bool on_disk)
{
	if (n->on_disk == on_disk)
		return;
	unlink_node(p, n);
	n->on_disk = on_disk;
	ram_policy_add(p, n);
}

void
ram_policy_check(const struct ram_policy *p)
{
	uint64_t used = 0;
	uint32_t nodes = 0;
	for (int on_disk = 0; on_disk < 2; on_disk++)
		for (int c = 0; c < RAM_CLASSES; c++) {
			const struct ram_queue *q = &p->queues[on_disk][c];
			assert(!q->head || q->worth == q->head->worth);
			for (const struct ram_node *n = q->head; n; n = n->next) {
				assert(n->on_disk == on_disk && n->class == c);
				assert(n->next ? n->next->prev == n : q->tail == n);
				used += bytes_of(n);
				nodes++;
			}
		}
	assert(used == p->used && nodes == p->nodes && used <= p->limit);
}
