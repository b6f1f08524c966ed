/* page_cache.c - cachestat(2) where no read is under way, else mincore(2). */
#include "proxy/base/page_cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers are older than the call: its number is the same on all machines. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { PAGES_MOST = 1024, FILES = 256 };
enum answer { CANNOT_SAY, HAS, HAS_NOT };

struct pages {
	uint64_t at, n;
};

struct counts {
	uint64_t cached, dirty, written_back, evicted, lately_evicted;
};

/* Reads from the device that are under way, of all files whose descriptors share the place. */
static _Atomic unsigned reads[FILES];

void
page_cache_begin_read(int fd)
{
	atomic_fetch_add(&reads[(unsigned)fd % FILES], 1);
}

void
page_cache_end_read(int fd)
{
	atomic_fetch_sub(&reads[(unsigned)fd % FILES], 1);
}

/* After a look at the pages: who has not begun by then has added none of those that were seen. */
static bool
is_being_read(int fd)
{
	return fd >= 0 && atomic_load(&reads[(unsigned)fd % FILES]) > 0;
}

static size_t
page_bytes(void)
{
	static _Atomic size_t bytes;
	size_t n = atomic_load_explicit(&bytes, memory_order_relaxed);
	if (!n)
		atomic_store(&bytes, n = (size_t)sysconf(_SC_PAGESIZE));
	return n;
}

static int
ask_cachestat(int fd, uint64_t at, size_t n, uint64_t pages)
{
	static _Atomic bool refused;
	struct pages r = {at, n};
	struct counts c = {0};
	if (atomic_load_explicit(&refused, memory_order_relaxed))
		return CANNOT_SAY;
	if (syscall(SYS_cachestat, fd, &r, &c, 0) == 0)
		return c.cached >= pages ? HAS : HAS_NOT;
	if (errno == ENOSYS || errno == EPERM)
		atomic_store(&refused, true);
	return CANNOT_SAY; /* EOPNOTSUPP: a file system of huge pages */
}

static bool
ask_mincore(const void *view, uint64_t first, size_t pages)
{
	unsigned char there[PAGES_MOST];
	size_t page = page_bytes();
	if (!view || mincore((char *)(uintptr_t)view + first * page, pages * page, there) != 0)
		return false;
	for (size_t i = 0; i < pages; i++)
		if (!(there[i] & 1))
			return false;
	return true;
}

bool
page_cache_has(int fd, const void *view, uint64_t at, size_t n)
{
	uint64_t page = page_bytes(), first = at / page;
	uint64_t pages = n ? (at + n - 1) / page - first + 1 : 0;
	if (!n || pages > PAGES_MOST)
		return !n;
	enum answer answer = ask_cachestat(fd, at, n, pages);
	if (answer == HAS && is_being_read(fd))
		answer = CANNOT_SAY;
	return answer == CANNOT_SAY ? ask_mincore(view, first, (size_t)pages) : answer == HAS;
}
