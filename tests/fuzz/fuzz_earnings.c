/* fuzz_earnings.c - what segments are said to have earned, by somebody else.
 * rooms: cache http base filter
 *
 * Bit 0 of the first byte: magic, tag, count and checksum are made right, so that the rows are
 * believed. The ledger must hold together, and what it saves is read again.
 */
#include "proxy/base/le.h"
#include "proxy/cache/store/earnings.h"
#include "proxy/cache/store/segment.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { HEAD = 24, ROW = 16, SEGMENTS = 32, TAG = 5 };

static struct str
made_right(const unsigned char *data, size_t n, char *to)
{
	size_t rows = (n - HEAD) / ROW, whole = HEAD + rows * ROW;
	memcpy(to, data, whole);
	memcpy(to, "TWearn01", 8);
	le_put64(to + 8, TAG);
	le_put32(to + 16, (uint32_t)rows);
	le_put64(to + whole, segment_checksum(to, whole));
	return (struct str){to, whole + 8};
}

static void
use(struct ledger *l)
{
	for (int i = 0; i < 3 * SEGMENTS; i++) {
		int64_t victim = ledger_victim(l);
		if (l->free == 0 && victim >= 0)
			ledger_free(l, (uint32_t)victim);
		if (!ledger_open_next(l))
			abort();
		ledger_pay(l, (uint32_t)l->open, 1000, 1);
		ledger_use(l, 100);
		ledger_seal(l);
		ledger_check(l);
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct ledger l;
	struct buf again = {0};
	char *copy = malloc(n + 16);
	struct str bytes = {copy, n};
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	if (n > HEAD && (data[0] & 1))
		bytes = made_right(data, n, copy);
	ledger_init(&l, SEGMENTS, SEGMENTS, 1000);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		ledger_add(&l, i);
		if (i % 4 == 0)
			continue;
		ledger_open_next(&l);
		ledger_seal(&l);
	}
	const char *why = earnings_load(&l, TAG, bytes);
	if (why && n > HEAD && (data[0] & 1))
		abort();
	earnings_save(&l, TAG, &again);
	if (earnings_load(&l, TAG, buf_str(&again)))
		abort();
	use(&l);
	ledger_fini(&l);
	buf_fini(&again);
	free(copy);
	return 0;
}
