/* fuzz_whatif.c - a snapshot of what-if that somebody else wrote, restored, used, saved again.
 * rooms: cache http base filter
 *
 * Bit 0 of the first byte: the rest is a body, and what is around it is made right, so that it is
 * believed. Bit 1: the body is one row, whose ghost and memory the rest is cut into.
 */
#include "proxy/base/le.h"
#include "proxy/cache/store/segment.h"
#include "proxy/cache/ghost/whatif.h"

#include <stdlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { HEAD = 24 };

static void
add_part(struct buf *to, const unsigned char *data, size_t n)
{
	char size[4];
	le_put32(size, (uint32_t)n);
	buf_add(to, size, sizeof size);
	buf_add(to, data, n);
}

static void
make_right(const struct twice_seed *seed, struct str body, struct buf *to)
{
	char head[HEAD] = "TWwhat01", sum[8];
	size_t most = ZSTD_compressBound(body.n);
	le_put64(head + 8, twice_seed_fingerprint(seed));
	le_put32(head + 16, (uint32_t)body.n);
	buf_add(to, head, sizeof head);
	size_t packed = ZSTD_compress(buf_room(to, most), most, body.p, body.n, 1);
	le_put32(to->p + 20, (uint32_t)packed);
	buf_added(to, packed);
	le_put64(sum, segment_checksum(to->p, to->n));
	buf_add(to, sum, sizeof sum);
}

static void
use(struct whatif *w)
{
	struct ghost_event e = {
		.record_bytes = 3000, .body_bytes = 3000, .whole = true, .sightings = 1};
	struct whatif_stats s;
	for (uint64_t i = 0; i < 40; i++) {
		e.key = e.url = i % 20 * 0x9e3779b97f4a7c15u;
		e.deed = (uint8_t)(i % 5);
		whatif_see(w, &e);
	}
	whatif_forget(w, 0x9e3779b97f4a7c15u);
	whatif_stats(w, &s);
	if (!(s.sample_share > 0) || !s.rows[WHATIF_NOW].told)
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	const struct whatif_options o = {
		.ghost = {.disk_bytes = 8 << 20, .memory_bytes = 1 << 20},
		.memory = {.sightings = 2, .capacity = 1000, .false_positives = 0.01, .seed = 1}};
	struct twice_seed seed;
	struct buf bytes = {0}, body = {0}, again = {0};
	twice_seed_init(&seed, "0123456789abcdef", 16);
	struct twice_filter_place here = {&seed, 100};
	if (n > 2 && (data[0] & 3) == 3) {
		char row[4];
		size_t cut = (n - 2) * data[1] / 255;
		le_put32(row, (data[0] >> 2) % WHATIF_ROWS);
		buf_add(&body, row, sizeof row);
		add_part(&body, data + 2, cut);
		add_part(&body, data + 2 + cut, n - 2 - cut);
		make_right(&seed, buf_str(&body), &bytes);
	} else if (n && (data[0] & 1)) {
		make_right(&seed, (struct str){(const char *)data + 1, n - 1}, &bytes);
	} else {
		buf_add(&bytes, data, n);
	}
	struct whatif *w = whatif_create(&o), *other = whatif_create(&o);
	whatif_load(w, &here, buf_str(&bytes));
	use(w);
	whatif_save(w, &here, 16 << 20, &again);
	if (!again.n || whatif_load(other, &here, buf_str(&again)))
		abort();
	whatif_destroy(&w);
	whatif_destroy(&other);
	buf_fini(&bytes);
	buf_fini(&body);
	buf_fini(&again);
	return 0;
}
