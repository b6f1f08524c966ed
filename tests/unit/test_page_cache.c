/* test_page_cache.c - which bytes of a file the kernel holds.
 * rooms: base
 */
#include "proxy/base/page_cache.h"

#include "tests/kit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PAGES = 64 };

/* clang-format off */
static const struct {
	const char *says;
	uint64_t at;
	size_t n;
	bool has;
} ranges[] = {
	{"all that is there",          0,                 PAGES / 2 * PAGE_BYTES, true},
	{"a byte of it",               PAGE_BYTES + 7,          1,                true},
	{"up to its end",              PAGE_BYTES - 1,          (PAGES / 2 - 1) * PAGE_BYTES + 1, true},
	{"a byte more",                PAGE_BYTES - 1,          (PAGES / 2 - 1) * PAGE_BYTES + 2, false},
	{"nothing of what was dropped", (PAGES / 2) * PAGE_BYTES, PAGES / 2 * PAGE_BYTES, false},
	{"a byte of that",             (PAGES - 1) * PAGE_BYTES, 1,               false},
	{"no bytes",                   (PAGES - 1) * PAGE_BYTES, 0,               true},
	{"more than is asked about",   0,                 5 << 20,          false},
};
/* clang-format on */

/* On a disk: a tmpfs drops nothing. */
static int
open_half(const void **view)
{
	static char bytes[PAGES * PAGE_BYTES];
	char name[] = "/var/tmp/twice-page-cache.XXXXXX";
	int fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	unlink(name);
	memset(bytes, 'x', sizeof bytes);
	ck_assert_int_eq(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	ck_assert_int_eq(pread(fd, bytes, sizeof bytes / 2, 0), sizeof bytes / 2);
	*view = mmap(NULL, sizeof bytes, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(*view, MAP_FAILED);
	return fd;
}

static bool
can_drop(int fd)
{
	struct statfs s;
	ck_assert_int_eq(fstatfs(fd, &s), 0);
	return s.f_type != 0x01021994 && s.f_type != 0x794c7630; /* tmpfs, overlayfs */
}

/* By cachestat where the kernel has it; without a descriptor by mincore alone. */
START_TEST(holds)
{
	const void *view;
	int fd = open_half(&view);
	if (ranges[_i].has || can_drop(fd)) {
		bool both = page_cache_has(fd, view, ranges[_i].at, ranges[_i].n);
		bool by_view = page_cache_has(-1, view, ranges[_i].at, ranges[_i].n);
		ck_assert_msg(both == ranges[_i].has, "%s", ranges[_i].says);
		ck_assert_msg(by_view == ranges[_i].has, "%s, by mincore", ranges[_i].says);
	}
	munmap((void *)(uintptr_t)view, PAGES * PAGE_BYTES);
	close(fd);
}
END_TEST

/* cachestat counts pages whose bytes are on their way, so it is not believed alone then. */
START_TEST(while_the_file_is_read_its_pages_are_looked_at_each)
{
	const void *view;
	int fd = open_half(&view);
	bool alone = page_cache_has(fd, NULL, 0, 1);
	page_cache_begin_read(fd);
	ck_assert(!page_cache_has(fd, NULL, 0, 1));
	ck_assert(page_cache_has(fd, view, 0, 1));
	page_cache_end_read(fd);
	ck_assert_int_eq(page_cache_has(fd, NULL, 0, 1), alone);
	munmap((void *)(uintptr_t)view, PAGES * PAGE_BYTES);
	close(fd);
}
END_TEST

START_TEST(without_both_nothing_is_held)
{
	ck_assert(!page_cache_has(-1, NULL, 0, 1));
	ck_assert(page_cache_has(-1, NULL, 0, 0));
}
END_TEST

UNIT("page_cache", LOOP(holds, ranges), TEST(while_the_file_is_read_its_pages_are_looked_at_each),
     TEST(without_both_nothing_is_held))
