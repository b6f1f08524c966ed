/* ring.h - the other way to count sightings, for bench/kinds alone: a cache line is a ring of 36 fingerprints of 12 bits,
 * each with a count of two bits. What is new takes the place of the oldest.
 *
 *	byte 0..53   fingerprints, two in three bytes
 *	    54..62   counts, four in a byte; 0: the slot is empty
 *	    63       the slot that is written next (6 bits); bit 7: somebody is at it
 *
 * 64 bytes cannot be changed at once, so a line has a lock. A key that is known is counted where it is, or moved to the
 * front when it is in the older half. There are no generations: a line forgets by what comes to it, and nothing
 * can end its time from outside.
 */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filter/hash.h"

enum { RING_SLOTS = 36, RING_COUNTS = 54, RING_HEAD = 63, RING_LINE = 64, RING_MOST = 3 };

struct ring {
	unsigned char (*lines)[RING_LINE]; /* owned */
	uint64_t n;
};

/* 23.3 keys a line on average: one line in a hundred gets more than 36 within a window. */
static inline bool
ring_create(struct ring *r, uint64_t window)
{
	r->n = (uint64_t)((double)window / 23.3) + 1;
	r->lines = aligned_alloc(RING_LINE, r->n * RING_LINE);
	if (r->lines)
		memset(r->lines, 0, r->n * RING_LINE);
	return r->lines != NULL;
}

static inline unsigned char *
ring_line(const struct ring *r, struct twice_key_hash h)
{
	return r->lines[(uint64_t)((unsigned __int128)h.hi * r->n >> 64)];
}

static inline unsigned
ring_count(const unsigned char *line, unsigned slot)
{
	return line[RING_COUNTS + slot / 4] >> slot % 4 * 2 & 3;
}

static inline void
ring_put_count(unsigned char *line, unsigned slot, unsigned count)
{
	unsigned char *at = &line[RING_COUNTS + slot / 4];
	*at = (unsigned char)((*at & ~(3 << slot % 4 * 2)) | count << slot % 4 * 2);
}

/* The slot, or RING_SLOTS. */
static inline unsigned
ring_find(const unsigned char *line, unsigned print)
{
	uint32_t both = print | print << 12, is;
	for (unsigned i = 0; i < RING_SLOTS; i += 2) {
		memcpy(&is, line + i / 2 * 3, sizeof is);
		is ^= both;
		if (!(is & 0xfff) && ring_count(line, i))
			return i;
		if (!(is & 0xfff000) && ring_count(line, i + 1))
			return i + 1;
	}
	return RING_SLOTS;
}

static inline unsigned
ring_test(const struct ring *r, struct twice_key_hash h)
{
	const unsigned char *line = ring_line(r, h);
	unsigned at = ring_find(line, h.lo & 0xfff);
	return at < RING_SLOTS ? ring_count(line, at) : 0;
}

static inline void
ring_insert(unsigned char *line, unsigned head, unsigned print, unsigned count)
{
	unsigned char *at = line + head / 2 * 3;
	uint32_t both = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	unsigned shift = head % 2 * 12;
	both = (both & ~(0xfffu << shift)) | print << shift;
	at[0] = (unsigned char)both;
	at[1] = (unsigned char)(both >> 8);
	at[2] = (unsigned char)(both >> 16);
	ring_put_count(line, head, count);
}

/* How many sightings were known before. */
static inline unsigned
ring_record(struct ring *r, struct twice_key_hash h)
{
	unsigned char *line = ring_line(r, h);
	_Atomic unsigned char *lock = (_Atomic unsigned char *)(line + RING_HEAD);
	unsigned head;
	while ((head = atomic_fetch_or(lock, 128)) & 128)
		;
	unsigned print = h.lo & 0xfff, at = ring_find(line, print);
	unsigned known = at < RING_SLOTS ? ring_count(line, at) : 0;
	unsigned count = known < RING_MOST ? known + 1 : known;
	if (known && (head + RING_SLOTS - at) % RING_SLOTS <= RING_SLOTS / 2) {
		ring_put_count(line, at, count);
	} else {
		if (known)
			ring_put_count(line, at, 0);
		ring_insert(line, head, print, count);
		head = (head + 1) % RING_SLOTS;
	}
	atomic_store_explicit(lock, (unsigned char)head, memory_order_release);
	return known;
}

#endif
