/* fuzz_purge_log.c - a purge log that somebody else wrote.
 * rooms: cache http base filter
 *
 * With bit 0 of the first byte the checksums of all pages are made right first, so that the rest of
 * the reader is reached. What is believed is written to a new file and must be told the same.
 */
#include "filter/hash_equal.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/forget/purge_log.h"
#include "proxy/cache/store/segment.h"
#include "tests/kit/tmpdir.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { MOST = 1 << 16 };

struct list {
	struct purge_entry e[MOST / PURGE_ENTRY];
	size_t n;
};

static void
tell(void *ctx, const struct purge_entry *e)
{
	struct list *l = ctx;
	if (e->kind < FORGET_URL || e->kind >= FORGET_KINDS || l->n == MOST / PURGE_ENTRY)
		abort();
	l->e[l->n++] = *e;
}

static bool
is_same(const struct list *a, const struct list *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++)
		if (a->e[i].at != b->e[i].at || a->e[i].kind != b->e[i].kind ||
		    a->e[i].flags != b->e[i].flags || a->e[i].when_s != b->e[i].when_s ||
		    a->e[i].prefix_bytes != b->e[i].prefix_bytes ||
		    !key_hash_equal(a->e[i].hash, b->e[i].hash))
			return false;
	return a->n == b->n;
}

static void
mend(char *page)
{
	uint32_t n;
	memcpy(&n, page + 4, 4);
	if (n > PURGE_PER_PAGE)
		return;
	uint64_t sums[2] = {segment_checksum(page, 56),
			    segment_checksum(page + PURGE_HEADER, (size_t)n * PURGE_ENTRY)};
	uint64_t sum = segment_checksum(sums, sizeof sums);
	memcpy(page + 56, &sum, 8);
}

static void
write_and_read(const struct purge_head *head, const struct list *list)
{
	static char dir[256], back[2 * MOST + 65536];
	static struct list again;
	struct purge_head head_again;
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	tmpdir_make(dir, sizeof dir);
	struct purge_log l = {.ops = &diskio_system, .fd = -1};
	l.dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	uint64_t bytes = purge_log_bytes(list->n);
	if (purge_log_rewrite(&l, head, bytes, list->e, list->n) != 0)
		abort();
	if (pread(l.fd, back, sizeof back, 0) != (ssize_t)bytes)
		abort();
	again.n = 0;
	if (!purge_log_parse(back, bytes, &head_again, tell, &again) || !is_same(&again, list) ||
	    memcmp(&head_again, head, sizeof *head) != 0)
		abort();
	purge_log_close(&l);
	close(l.dir_fd);
	tmpdir_remove(dir);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct list list;
	struct purge_head head;
	if (n < 1 || n > MOST)
		return 0;
	char *p = malloc(n); /* exactly, so that a look behind the end is noticed */
	memcpy(p, data + 1, n - 1);
	for (size_t at = 0; (data[0] & 1) && at + PURGE_PAGE <= n - 1; at += PURGE_PAGE)
		mend(p + at);
	memset(&list, 0, sizeof list);
	if (purge_log_parse(p, n - 1, &head, tell, &list))
		write_and_read(&head, &list);
	free(p);
	return 0;
}
