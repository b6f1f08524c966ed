/* clairvoyant.c - how good could a cache of this size be, if it knew when everything is asked for
 * next? For comparison with the rows of bench/cells.sh.
 *
 *	clairvoyant < lines "time id size"
 *
 * For disks of 5, 10, 20 and 40% of the distinct bytes: hits and byte hits in per cent, MB written.
 * What is asked for last goes first (Belady), and what is not asked for again, or only after all that
 * would have to go for it, is never written. That is the best for objects of one size; for others it is no
 * strict bound. Each id has its first size.
 */
#include "proxy/base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEVER = UINT32_MAX, LEAST_DISK = 8 << 20 };

struct line {
	unsigned long long id, bytes;
	uint32_t at;
};

struct play {
	uint32_t *order, *next; /* request i asks for object order[i], and again at next[i] */
	uint64_t *sizes;
	uint32_t requests, objects;
	uint64_t distinct, asked;
};

/* A heap of what the cache may hold, the furthest on top; of an object only its last entry counts. */
struct entry {
	uint32_t next, object;
};

struct cache {
	struct entry *heap;
	uint32_t n;
	uint32_t *next; /* of each object that is held; 0: it is not */
	uint64_t used, disk;
};

static int
by_id(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void
name_objects(struct play *p, const struct line *lines)
{
	for (uint32_t i = 0; i < p->requests; i++) {
		bool is_new = i == 0 || lines[i].id != lines[i - 1].id;
		if (is_new) {
			p->sizes[p->objects++] = lines[i].bytes;
			p->distinct += lines[i].bytes;
		} else {
			p->next[lines[i - 1].at] = lines[i].at;
		}
		p->order[lines[i].at] = p->objects - 1;
		p->next[lines[i].at] = NEVER;
		p->asked += p->sizes[p->objects - 1];
	}
}

static void
read_play(struct play *p)
{
	struct line *lines = NULL, l;
	uint32_t n = 0, room = 0;
	while (scanf("%*s %llu %llu", &l.id, &l.bytes) == 2) {
		if (n == room)
			lines = mem_realloc(lines, (room = 2 * room + 1024) * sizeof *lines);
		l.at = n;
		lines[n++] = l;
	}
	if (!n)
		return;
	qsort(lines, n, sizeof *lines, by_id);
	p->requests = n;
	p->order = mem_alloc(n * sizeof *p->order);
	p->next = mem_alloc(n * sizeof *p->next);
	p->sizes = mem_alloc(n * sizeof *p->sizes);
	name_objects(p, lines);
	free(lines);
}

static void
swap(struct entry *a, struct entry *b)
{
	struct entry t = *a;
	*a = *b;
	*b = t;
}

static void
push(struct cache *c, struct entry e)
{
	uint32_t i = c->n++;
	c->heap[i] = e;
	for (; i && c->heap[(i - 1) / 2].next < c->heap[i].next; i = (i - 1) / 2)
		swap(&c->heap[i], &c->heap[(i - 1) / 2]);
}

static struct entry
pop(struct cache *c)
{
	struct entry top = c->heap[0];
	c->heap[0] = c->heap[--c->n];
	for (uint32_t i = 0, k; (k = 2 * i + 1) < c->n; i = k) {
		k += k + 1 < c->n && c->heap[k + 1].next > c->heap[k].next;
		if (c->heap[i].next >= c->heap[k].next)
			break;
		swap(&c->heap[i], &c->heap[k]);
	}
	return top;
}

/* The newcomer is in the heap itself, so that it may be the one that goes. */
static void
make_fit(struct cache *c, const struct play *p)
{
	while (c->used > c->disk) {
		struct entry e = pop(c);
		if (c->next[e.object] != e.next)
			continue;
		c->next[e.object] = 0;
		c->used -= p->sizes[e.object];
	}
}

static void
run(const struct play *p, unsigned share)
{
	struct cache c = {.disk = p->distinct / 100 * share};
	c.disk = c.disk < LEAST_DISK ? LEAST_DISK : c.disk; /* as simulate has it */
	uint64_t hits = 0, hit_bytes = 0, written = 0;
	c.heap = mem_alloc(p->requests * sizeof *c.heap);
	c.next = mem_zalloc(p->objects * sizeof *c.next);
	for (uint32_t i = 0; i < p->requests; i++) {
		uint32_t object = p->order[i];
		uint32_t next = p->sizes[object] <= c.disk ? p->next[i] : NEVER;
		bool held = c.next[object];
		uint64_t bytes = p->sizes[object];
		hits += held;
		hit_bytes += held ? bytes : 0;
		c.used -= held && next == NEVER ? bytes : 0;
		c.used += !held && next != NEVER ? bytes : 0;
		c.next[object] = next == NEVER ? 0 : next;
		if (next == NEVER)
			continue;
		push(&c, (struct entry){next, object});
		make_fit(&c, p);
		written += !held && c.next[object] ? bytes : 0;
	}
	printf("%3u%% %8.2f %8.2f %10.1f\n", share, 100.0 * (double)hits / p->requests,
	       100.0 * (double)hit_bytes / (double)p->asked, (double)written / 1e6);
	free(c.heap);
	free(c.next);
}

int
main(void)
{
	struct play p = {0};
	read_play(&p);
	for (unsigned share = 5; p.requests && share <= 40; share *= 2)
		run(&p, share);
	free(p.order);
	free(p.next);
	free(p.sizes);
	return !p.requests;
}
