/* earnings.c - the rows of earnings.h. */
#include "proxy/cache/store/earnings.h"

#include "proxy/base/le.h"
#include "proxy/cache/store/segment.h"

#include <string.h>

enum { HEAD = 24, ROW = 16, SUM = 8 };

static const char MAGIC[8] = "TWearn01";
/* No log earns as much; sums of it do not run over. */
static const uint64_t MOST = UINT64_C(1) << 56;

static void
save_row(const struct ledger *l, uint32_t slot, struct buf *out)
{
	char *row = buf_room(out, ROW);
	le_put32(row, slot);
	le_put32(row + 4, l->slots[slot].generation);
	le_put64(row + 8, atomic_load_explicit(&l->earned[slot], memory_order_relaxed));
	buf_added(out, ROW);
}

void
earnings_save(const struct ledger *l, uint64_t tag, struct buf *out)
{
	size_t at = out->n;
	uint32_t rows = 0;
	char head[HEAD] = {0}, sum[SUM];
	buf_add(out, head, HEAD);
	for (uint32_t i = 0; i < l->slots_n; i++)
		if (l->slots[i].state >= SEGMENT_OPEN) {
			save_row(l, i, out);
			rows++;
		}
	memcpy(out->p + at, MAGIC, sizeof MAGIC);
	le_put64(out->p + at + 8, tag);
	le_put32(out->p + at + 16, rows);
	le_put32(out->p + at + 20, (uint32_t)l->small_bytes);
	le_put64(sum, segment_checksum(out->p + at, out->n - at));
	buf_add(out, sum, SUM);
}

static void
load_row(struct ledger *l, const char *row)
{
	uint32_t slot = le_get32(row), generation = le_get32(row + 4);
	uint64_t earned = le_get64(row + 8);
	if (slot >= l->slots_n || l->slots[slot].state < SEGMENT_OPEN ||
	    l->slots[slot].generation != generation)
		return;
	atomic_store_explicit(&l->earned[slot], earned < MOST ? earned : MOST,
			      memory_order_relaxed);
}

const char *
earnings_load(struct ledger *l, uint64_t tag, struct str bytes)
{
	if (bytes.n < HEAD + SUM || memcmp(bytes.p, MAGIC, sizeof MAGIC) != 0)
		return "it is none";
	if (le_get64(bytes.p + 8) != tag)
		return "it is of another cache";
	uint64_t rows = le_get32(bytes.p + 16);
	if (bytes.n != HEAD + rows * ROW + SUM ||
	    le_get64(bytes.p + bytes.n - SUM) != segment_checksum(bytes.p, bytes.n - SUM))
		return "it is damaged";
	uint32_t small = le_get32(bytes.p + 20);
	if (small)
		ledger_set_small(l, small);
	for (uint64_t i = 0; i < rows; i++)
		load_row(l, bytes.p + HEAD + i * ROW);
	return NULL;
}
