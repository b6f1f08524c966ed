/* fuzz_history.c - a snapshot of the history that somebody else wrote, restored, shown, saved again.
 * rooms: admin cache http base filter
 *
 * Bit 0 of the first byte: the rest is a body, and what stands around it is made right, so that
 * it is believed.
 */
#include "proxy/admin/history.h"
#include "proxy/base/le.h"
#include "proxy/cache/store/segment.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { TAG = 5, HEAD = 24 };

/* Around a body: magic, tag, sizes, checksum. */
static void
make_right(const unsigned char *data, size_t n, struct buf *to)
{
	char head[HEAD] = "TWhist01", sum[8];
	size_t most = ZSTD_compressBound(n);
	le_put64(head + 8, TAG);
	le_put32(head + 16, (uint32_t)n);
	buf_add(to, head, sizeof head);
	size_t packed = ZSTD_compress(buf_room(to, most), most, data, n, 1);
	le_put32(to->p + 20, (uint32_t)packed);
	buf_added(to, packed);
	le_put64(sum, segment_checksum(to->p, to->n));
	buf_add(to, sum, sizeof sum);
}

static void
show(struct history *h)
{
	static const int64_t steps[] = {1, 10, 300};
	struct buf text = {0};
	for (int i = 0; i < 3; i++)
		assert(history_json(h, steps[i], i - 1, &text));
	for (size_t i = 0; i < text.n; i++)
		assert(text.p[i] != '\0');
	buf_fini(&text);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct report r;
	struct history *h = history_create(1000000200), *again = history_create(0);
	struct buf bytes = {0}, saved = {0};
	if (n && (data[0] & 1))
		make_right(data + 1, n - 1, &bytes);
	else
		buf_add(&bytes, data, n);
	r = (struct report){.uptime_s = 1};
	history_load(h, TAG, buf_str(&bytes));
	for (int i = 0; i < 3; i++)
		history_add(h, &r, 1000000200 + i, i * 1000000);
	show(h);
	history_lifetime(h, &r);
	for (int i = 0; i < REPORT_RATES; i++)
		assert(isfinite(r.lifetime[i]) && r.lifetime[i] >= 0);
	assert(history_save(h, TAG, &saved));
	assert(history_load(again, TAG, buf_str(&saved)) == NULL);
	history_destroy(&h);
	history_destroy(&again);
	buf_fini(&bytes);
	buf_fini(&saved);
	return 0;
}
