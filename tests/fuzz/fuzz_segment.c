/* fuzz_segment.c - a whole segment file that somebody else wrote, restored and used.
 * rooms: cache http base filter
 *
 * The input is the start of a segment; with bit 0 of its first byte, the last 4 KiB of it are the
 * end of the segment (a footer). Bit 1: seals and table checksums are made right first. Whatever
 * is restored is looked up, read, and written on.
 */
#include "proxy/base/log.h"
#include "proxy/cache/store/doubled.h"
#include "proxy/cache/store/store.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/own_store.h"
#include "tests/kit/tmpdir.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { SEGMENT = 128 << 10 };

static char dir[256];
static int dir_fd;

static void
make_dir(void)
{
	log_set_level(LOG_ERROR);
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0); /* a disk would be a hundred times slower */
	tmpdir_make(dir, sizeof dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
}

/* Makes a header right for its place, as far as its numbers allow. */
static void
mend(char *p, size_t n, size_t at)
{
	uint32_t bytes, table_at, entries;
	memcpy(&bytes, p + at + 16, 4);
	memcpy(&table_at, p + at + 20, 4);
	memcpy(&entries, p + at + 24, 4);
	size_t start = memcmp(p + at, "TWF2", 4) == 0 ? n - (bytes < n ? bytes : n) : at;
	uint64_t table = (uint64_t)entries * SEGMENT_ENTRY_BYTES;
	uint64_t sum = 0;
	if (start + table_at <= n && table <= n - start - table_at)
		sum = segment_checksum(p + start + table_at, table);
	memcpy(p + at + 32, &sum, 8);
	sum = segment_checksum(p + at, SEGMENT_HEADER_BYTES - 8);
	memcpy(p + at + SEGMENT_HEADER_BYTES - 8, &sum, 8);
}

static void
put_file(const char *name, const void *p, size_t n)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	close(fd);
}

static bool
look(void *ctx, const struct index_entry *e)
{
	struct index_entry *list = ctx;
	for (int i = 0; i < 16; i++)
		if (!list[i].hash_hi) {
			list[i] = *e;
			break;
		}
	return true;
}

static void
use(struct store *st)
{
	check_store(st);
	struct index_entry list[17] = {{0}};
	index_sweep(st->index, 0, st->codes[0], look, list);
	for (struct index_entry *e = list; e->hash_hi; e++) {
		struct twice_key_hash hash = {0, e->hash_hi};
		struct locator at;
		unsigned hits;
		struct block *b = NULL;
		struct record r;
		if (store_find(st, hash, &at, &hits) && store_read(st, &at, &b) == STORE_READ &&
		    !record_parse(b->p, b->n, &r))
			(void)record_body_is_right(&r);
		block_unref(&b);
	}
	struct record r = {.hash = {1, 1}, .is_inline = true};
	r.body_checksum = segment_checksum("", 0);
	for (int i = 0; i < 3; i++)
		store_put(st, &r, NULL);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static const char format[] = "twice cache format 2, segments of 131072 bytes\n";
	static char segment[SEGMENT];
	if (n < 2 || n > SEGMENT)
		return 0;
	make_dir();
	size_t tail = (data[0] & 1) && n > 4096 ? 4096 : 0;
	memset(segment, 0, sizeof segment);
	memcpy(segment, data + 1, n - 1 - tail);
	memcpy(segment + SEGMENT - tail, data + n - tail, tail);
	for (size_t at = 0; (data[0] & 2) && at < SEGMENT; at += 4096)
		mend(segment, SEGMENT, at);
	if (data[0] & 2)
		mend(segment, SEGMENT, SEGMENT - SEGMENT_HEADER_BYTES);
	if (doubled_write(dir_fd, "format", format, sizeof format - 1) != 0)
		abort();
	put_file("segment.00000", segment, sizeof segment);
	struct store *st;
	char err[256];
	struct store_options o = {.dir = dir, .dir_fd = dir_fd, .log_bytes = 4 * SEGMENT};
	if (store_open(&st, &o, err, sizeof err) != 0)
		abort();
	use(st);
	store_close(&st);
	close(dir_fd);
	tmpdir_remove(dir); /* now: libFuzzer never comes to an end that says so */
	return 0;
}
