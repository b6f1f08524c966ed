/* packed.h - an array of n cells of w bits each, packed without gaps.
 *
 * The one kind of storage the family has: a Bloom filter is cells of one bit,
 * a counting filter of four, Bloom's first method of a hash code.
 *
 * Memory    owns its words; packed_bytes says how much that is.
 * Lifetime  packed_init zeroes the cells; packed_fini leaves it zeroed.
 * Errors    init: -1 for an impossible shape or when memory is out.
 */
#ifndef FILTER_PACKED_H
#define FILTER_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "filter/family/seal.h"

#define PACKED_WIDTH_MOST 32
#define PACKED_CELLS_MOST (UINT64_C(1) << 48)

struct packed {
	uint64_t *words; /* owned */
	uint64_t n;
	unsigned width;
};

int packed_init(struct packed *p, uint64_t n, unsigned width);
void packed_fini(struct packed *p);

/* Bytes of words that n cells of this width take. */
uint64_t packed_bytes(uint64_t n, unsigned width);

/* Cells that are not zero. */
uint64_t packed_used(const struct packed *p);

/* Saves the cells in one seal. All params but the last two are the caller's. */
int packed_save(const struct packed *p, const struct seal_sink *to, enum seal_kind kind,
		const uint64_t params[]);

/* Makes the cells that the head, already opened, promises; fills them from its payload. */
int packed_load(struct packed *p, struct seal_source *from, const struct seal_head *head);

static inline uint64_t
packed_top(const struct packed *p)
{
	return (UINT64_C(1) << p->width) - 1;
}

static inline uint64_t
packed_get(const struct packed *p, uint64_t i)
{
	uint64_t bit = i * p->width;
	unsigned shift = bit & 63;
	const uint64_t *w = &p->words[bit >> 6];
	uint64_t x = w[0] >> shift;
	if (shift + p->width > 64)
		x |= w[1] << (64 - shift);
	return x & packed_top(p);
}

static inline void
packed_set(struct packed *p, uint64_t i, uint64_t x)
{
	uint64_t bit = i * p->width, top = packed_top(p);
	unsigned shift = bit & 63;
	uint64_t *w = &p->words[bit >> 6];
	w[0] = (w[0] & ~(top << shift)) | x << shift;
	if (shift + p->width > 64) {
		unsigned done = 64 - shift;
		w[1] = (w[1] & ~(top >> done)) | x >> done;
	}
}

#endif
