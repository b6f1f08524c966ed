/* packed.h - an array of n cells of w bits each, packed without gaps.
 *
 * The one kind of storage the family has: a Bloom filter is cells of one bit,
 * a counting filter of four, Bloom's first method of a hash code.
 *
 * Memory    owns its words; twice_packed_bytes says how much that is.
 * Lifetime  twice_packed_init zeroes the cells; twice_packed_fini leaves it zeroed.
 * Errors    init: -1 for an impossible shape or when memory is out.
 */
#ifndef TWICE_PACKED_H
#define TWICE_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "filter/family/snapshot.h"

#define TWICE_PACKED_WIDTH_MOST 32
#define TWICE_PACKED_CELLS_MOST (UINT64_C(1) << 48)

struct twice_packed {
	uint64_t *words; /* owned */
	uint64_t n;
	unsigned width;
};

int twice_packed_init(struct twice_packed *p, uint64_t n, unsigned width);
void twice_packed_fini(struct twice_packed *p);

/* Bytes of words that n cells of this width take. */
uint64_t twice_packed_bytes(uint64_t n, unsigned width);

/* Cells that are not zero. */
uint64_t twice_packed_used(const struct twice_packed *p);

/* Saves the cells in one envelope. All params but the last two are the caller's. */
int twice_packed_save(const struct twice_packed *p, const struct twice_snapshot_sink *to,
		      enum twice_snapshot_kind kind, const uint64_t params[]);

/* Makes the cells that the head, already opened, promises; fills them from its payload. */
int twice_packed_load(struct twice_packed *p, struct twice_snapshot_source *from,
		      const struct twice_snapshot_head *head);

static inline uint64_t
twice_packed_top(const struct twice_packed *p)
{
	return (UINT64_C(1) << p->width) - 1;
}

static inline uint64_t
twice_packed_get(const struct twice_packed *p, uint64_t i)
{
	uint64_t bit = i * p->width;
	unsigned shift = bit & 63;
	const uint64_t *w = &p->words[bit >> 6];
	uint64_t x = w[0] >> shift;
	if (shift + p->width > 64)
		x |= w[1] << (64 - shift);
	return x & twice_packed_top(p);
}

static inline void
twice_packed_prefetch(const struct twice_packed *p, uint64_t i)
{
	__builtin_prefetch(&p->words[i * p->width >> 6]);
}

static inline void
twice_packed_set(struct twice_packed *p, uint64_t i, uint64_t x)
{
	uint64_t bit = i * p->width, top = twice_packed_top(p);
	unsigned shift = bit & 63;
	uint64_t *w = &p->words[bit >> 6];
	w[0] = (w[0] & ~(top << shift)) | x << shift;
	if (shift + p->width > 64) {
		unsigned done = 64 - shift;
		w[1] = (w[1] & ~(top >> done)) | x >> done;
	}
}

#endif
