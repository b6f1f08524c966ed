/* packing.c - sizes of batches, fragments and footers. */
#include "proxy/cache/store/packing.h"

#include "proxy/cache/store/segment.h"

enum { MAX_BATCH = 1 << 20, MAX_FRAGMENT = 256 << 10 };

uint32_t
packing_batch_bytes(uint64_t segment_bytes)
{
	uint64_t batch = segment_bytes / 2;
	batch = batch < MAX_BATCH ? batch : MAX_BATCH;
	return (uint32_t)(batch - batch % SEGMENT_PAGE);
}

uint32_t
packing_fragment_bytes(uint64_t segment_bytes)
{
	uint64_t fragment = segment_bytes / 16;
	return (uint32_t)(fragment < MAX_FRAGMENT ? fragment : MAX_FRAGMENT);
}

uint64_t
packing_max_body(uint64_t log_bytes, uint64_t segment_bytes)
{
	uint64_t batch = packing_batch_bytes(segment_bytes);
	uint64_t room = batch < RECORD_MAX_BYTES ? batch : RECORD_MAX_BYTES;
	uint64_t named =
		room * 3 / 4 / FRAGMENT_ENTRY_BYTES * packing_fragment_bytes(segment_bytes);
	uint64_t share = log_bytes / 8 * 3;
	return share < named ? share : named;
}

bool
packing_fits(const struct packing *p, uint64_t room, uint64_t bytes)
{
	uint64_t used = p->used ? p->used : SEGMENT_HEADER_BYTES;
	uint64_t table = (p->entries + 1) * SEGMENT_ENTRY_BYTES;
	uint64_t all = round_up(used + round_up(bytes, SEGMENT_ALIGN) + table, SEGMENT_PAGE);
	return all <= p->batch_bytes && all + footer_bytes(p->sealed + p->entries + 1) <= room;
}

void
packing_add(struct packing *p, uint64_t bytes)
{
	p->used = (p->used ? p->used : SEGMENT_HEADER_BYTES) + round_up(bytes, SEGMENT_ALIGN);
	p->entries++;
}

uint64_t
packing_closed_bytes(const struct packing *p)
{
	return round_up(p->used + p->entries * SEGMENT_ENTRY_BYTES, SEGMENT_PAGE);
}
