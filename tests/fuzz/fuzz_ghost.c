/* fuzz_ghost.c - a snapshot of the ghost that somebody else wrote, restored and used.
 * rooms: cache http base filter
 *
 * Bit 0 of the first byte: magic, tag, count and checksum are made right, so that the rows are
 * believed. Bit 1: sizes too, so that they are taken as they are. The rows are a journal as well, which is
 * replayed behind the snapshot. What is restored must hold together, and be of use.
 */
#include "proxy/cache/ghost/baseline_file.h"
#include "proxy/cache/ghost/ghost.h"
#include "proxy/cache/store/segment.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { HEAD = 56, SIZES = 40, ROW = 32, TAG = 5 };

static struct ghost *
make(uint64_t memory_bytes)
{
	return ghost_create(&(struct ghost_options){
		.disk_bytes = 8 << 20, .memory_bytes = memory_bytes, .max_entries = 1024});
}

/* The sizes of this ghost's log, and no entries. */
static void
put_sizes(char *to)
{
	struct ghost *g = make(0);
	struct buf b = {0};
	ghost_snapshot_save(g, TAG, 1 << 20, &b);
	memcpy(to, b.p + SIZES, HEAD - SIZES);
	buf_fini(&b);
	ghost_destroy(&g);
}

static struct str
made_right(const unsigned char *data, size_t n, char *to)
{
	uint32_t rows = (uint32_t)((n - HEAD) / ROW), weight = 1u << (data[0] >> 5);
	uint64_t tag = TAG, threshold = UINT64_MAX / weight;
	size_t whole = HEAD + (size_t)rows * ROW;
	memcpy(to, data, whole);
	memcpy(to, "TWghost4", 8);
	memcpy(to + 8, &tag, 8);
	memcpy(to + 16, &weight, 4);
	memcpy(to + 20, &rows, 4);
	memcpy(to + 24, &threshold, 8);
	if (data[0] & 2)
		put_sizes(to + SIZES);
	uint64_t sum = segment_checksum(to, whole);
	memcpy(to + whole, &sum, 8);
	return (struct str){to, whole + 8};
}

static void
use(struct ghost *g)
{
	struct ghost_event e = {.record_bytes = 3000, .body_bytes = 3000, .whole = true};
	for (uint64_t i = 0; i < 2000; i++) {
		e.key = e.url = i * 0x9e3779b97f4a7c15u;
		e.deed = (uint8_t)(i % 5);
		e.refused = i % 7 == 0;
		ghost_see(g, &e);
	}
	ghost_forget(g, 0x9e3779b97f4a7c15u);
	ghost_check(g);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct ghost *g = make(1 << 20);
	struct buf again = {0};
	char *copy = malloc(n + 16);
	struct str bytes = {copy, n};
	if (n)
		memcpy(copy, data, n);
	if (n >= HEAD && (data[0] & 1))
		bytes = made_right(data, n, copy);
	ghost_snapshot_load(g, TAG, bytes);
	ghost_check(g);
	if (n >= HEAD + 2 * ROW) /* rows of another kind, too */
		ghost_journal_replay(g, str_from((struct str){copy, n}, HEAD));
	ghost_check(g);
	struct buf parsed = {0};
	if (baseline_file_parse(&(struct baseline_file){0}, (struct str){copy, n}, &parsed) > n ||
	    parsed.n > n)
		abort();
	buf_fini(&parsed);
	ghost_journal_begin(g);
	use(g);
	ghost_snapshot_save(g, TAG, 1 << 20, &again);
	struct ghost *h = make(0);
	if (ghost_snapshot_load(h, TAG, buf_str(&again)) != NULL)
		abort();
	ghost_check(h);
	struct buf rows = {0};
	if (ghost_journal_take(g, &rows))
		ghost_journal_replay(h, buf_str(&rows));
	ghost_check(h);
	buf_fini(&rows);
	ghost_destroy(&g);
	ghost_destroy(&h);
	buf_fini(&again);
	free(copy);
	return 0;
}
