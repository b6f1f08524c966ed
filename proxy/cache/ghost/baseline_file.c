/* baseline_file.c - a head, and blocks with their checksums; and how much room the files have. */
#include "proxy/cache/ghost/baseline_file.h"

#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/store/segment.h"

#include <stddef.h>
#include <string.h>

static const char MAGIC[8] = "TWbaseL1";
static const uint64_t SNAPSHOT_LEAST = 64 << 10, SNAPSHOT_MOST = 64 << 20;
static const uint64_t SMALL_RESERVE = 8 << 20; /* the others have room in it */
static const uint64_t EARNED_MOST = 1 << 20;   /* earnings.h */

struct head {
	char magic[8];
	uint64_t snapshot, tag, sum;
};
_Static_assert(sizeof(struct head) == BASELINE_FILE_HEAD, "as the file has it");

struct block {
	uint32_t bytes, zero;
	uint64_t sum;
};
_Static_assert(sizeof(struct block) == BASELINE_BLOCK_HEAD, "as the file has it");

static struct head
head_of(const struct baseline_file *f)
{
	struct head h = {.snapshot = f->snapshot, .tag = f->tag};
	memcpy(h.magic, MAGIC, sizeof MAGIC);
	h.sum = segment_checksum((const char *)&h, offsetof(struct head, sum));
	return h;
}

static uint64_t
sum_of(const struct head *h, uint64_t at, const char *rows, size_t n)
{
	return segment_checksum(rows, n) + h->sum + at;
}

void
baseline_file_format(const struct baseline_file *f, char to[BASELINE_FILE_HEAD])
{
	struct head h = head_of(f);
	memcpy(to, &h, sizeof h);
}

void
baseline_block_format(const struct baseline_file *f, uint64_t at, char *block, size_t n)
{
	struct head h = head_of(f);
	struct block b = {.bytes = (uint32_t)(n - sizeof b)};
	b.sum = sum_of(&h, at, block + sizeof b, b.bytes);
	memcpy(block, &b, sizeof b);
}

size_t
baseline_file_parse(const struct baseline_file *f, struct str bytes, struct buf *rows)
{
	struct head h = head_of(f);
	struct block b;
	size_t at = sizeof h;
	if (bytes.n < sizeof h || memcmp(bytes.p, &h, sizeof h) != 0)
		return 0;
	while (bytes.n - at >= sizeof b) {
		memcpy(&b, bytes.p + at, sizeof b);
		const char *from = bytes.p + at + sizeof b;
		if (!b.bytes || b.bytes > bytes.n - at - sizeof b ||
		    b.sum != sum_of(&h, at, from, b.bytes))
			break;
		buf_add(rows, from, b.bytes);
		at += sizeof b + b.bytes;
	}
	return at;
}

uint64_t
baseline_snapshot_bytes(uint64_t disk_bytes)
{
	uint64_t most = disk_bytes / 100;
	most = most < SNAPSHOT_MOST ? most : SNAPSHOT_MOST;
	return most > SNAPSHOT_LEAST ? most : SNAPSHOT_LEAST;
}

uint64_t
baseline_what_if_bytes(uint64_t disk_bytes)
{
	uint64_t most = baseline_snapshot_bytes(disk_bytes);
	return most < BASELINE_WHAT_IF_MOST ? most : BASELINE_WHAT_IF_MOST;
}

uint64_t
baseline_reserve_bytes(uint64_t disk_bytes, uint64_t capacity)
{
	uint64_t want = 2 * (capacity / 8 * 26 + baseline_snapshot_bytes(disk_bytes) +
			     baseline_what_if_bytes(disk_bytes) + EARNED_MOST);
	uint64_t small = disk_bytes / 16, most = disk_bytes / 32;
	if (most < SMALL_RESERVE)
		most = small < SMALL_RESERVE ? small : SMALL_RESERVE;
	return want < most ? want : most;
}
