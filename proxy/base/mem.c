/* mem.c - small requests take from a reserve where the system has nothing; when that is used up it is the end, said
 * in one line.
 */
#include "proxy/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* PIECE: less than malloc would map by itself, so that a reserve can be made of what a heap has got back. TELLING: of a
 * request for more there may be no room in one piece, and much in all.
 */
enum { PIECE = 32 << 10, TELLING = 256 << 10, MAPPED = 8 << 20 };

static struct {
	pthread_mutex_t lock;
	void *mapped;	 /* under lock; a range of addresses for what is larger than a piece */
	void **piece;	 /* under lock */
	unsigned pieces; /* under lock */
	_Atomic unsigned most; /* of them */
	atomic_bool is_short;
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
give_up_reserve(void)
{
	pthread_mutex_lock(&reserve.lock);
	while (reserve.pieces > 0)
		free(reserve.piece[--reserve.pieces]);
	if (reserve.mapped)
		munmap(reserve.mapped, MAPPED);
	reserve.mapped = NULL;
	atomic_store(&reserve.is_short, reserve.most > 0);
	pthread_mutex_unlock(&reserve.lock);
}

void
mem_reserve(size_t bytes)
{
	give_up_reserve();
	pthread_mutex_lock(&reserve.lock);
	unsigned most = (unsigned)(bytes / PIECE);
	free(reserve.piece);
	reserve.piece = most ? malloc(most * sizeof *reserve.piece) : NULL;
	reserve.most = reserve.piece ? most : 0;
	pthread_mutex_unlock(&reserve.lock);
	mem_refill();
}

void
mem_refill(void)
{
	pthread_mutex_lock(&reserve.lock);
	void *p = NULL;
	while (reserve.pieces < reserve.most && (p = malloc(PIECE)))
		reserve.piece[reserve.pieces++] = p;
	bool whole = reserve.pieces == reserve.most;
	if (whole && reserve.most > 0 && !reserve.mapped) {
		p = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		reserve.mapped = p == MAP_FAILED ? NULL : p;
	}
	atomic_store(&reserve.is_short, !whole);
	pthread_mutex_unlock(&reserve.lock);
}

bool
mem_is_short(void)
{
	return atomic_load_explicit(&reserve.is_short, memory_order_relaxed);
}

/* There was nothing; the reserve is given up for it, by this thread or by one that was faster. */
static void *
again(void *p, size_t n)
{
	give_up_reserve();
	void *q = realloc(p, n ? n : 1);
	if (!q) {
		fprintf(stderr, "twice: out of memory (%zu bytes)\n", n);
		abort();
	}
	return q;
}

void *
mem_alloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		p = again(NULL, n);
	return p;
}

/* glibc's calloc does not use the thread's own cache of small pieces; malloc does. */
enum { SMALL = 1024 };

void *
mem_zalloc(size_t n)
{
	if (n - 1 < SMALL)
		return memset(mem_alloc(n), 0, n);
	void *p = calloc(1, n ? n : 1);
	if (!p)
		p = memset(again(NULL, n), 0, n);
	return p;
}

void *
mem_realloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);
	if (!q)
		q = again(p, n);
	return q;
}

void *
mem_realloc_try(void *p, size_t n)
{
	void *q = mem_is_short() ? NULL : realloc(p, n ? n : 1);
	if (!q && n <= TELLING)
		atomic_store(&reserve.is_short, reserve.most > 0);
	return q;
}

char *
mem_strdup(const char *z)
{
	return mem_strndup(z, strlen(z));
}

char *
mem_strndup(const char *p, size_t n)
{
	char *z = mem_alloc(n + 1);
	if (n)
		memcpy(z, p, n);
	z[n] = 0;
	return z;
}
