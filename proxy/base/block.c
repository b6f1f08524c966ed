/* block.c - one allocation per block, freed by the last reader. */
#include "proxy/base/block.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The system maps so many pieces for a process (65,530), and blocks are not its only ones: blocks
 * that came to stay (in the RAM tier) may use up these. */
enum { MAPPED_MOST = 4096, CLASSES = BLOCK_PASSING_MOST / BLOCK_UNIT + 1 };

#ifdef __has_feature
#define FEATURE(x) __has_feature(x)
#else
#define FEATURE(x) 0
#endif
/* AddressSanitizer watches what malloc gave, and nothing else. */
#if defined(__SANITIZE_ADDRESS__) || FEATURE(address_sanitizer)
static const bool maps = false;
#else
static const bool maps = true;
#endif

/* Mapped pieces that are not in use, by their size in units; any thread, under the lock. It is taken
 * for a read of 128 KiB and more. */
struct spare {
	struct spare *next;
};
static struct {
	pthread_mutex_t lock;
	struct spare *first[CLASSES];
	size_t spare_bytes;
	unsigned mapped; /* pieces, spare ones too */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t
bytes_of(uint32_t units)
{
	return (size_t)units * BLOCK_UNIT;
}

/* NULL: malloc has to do. */
static void *
take_mapped(uint32_t units)
{
	pthread_mutex_lock(&pool.lock);
	struct spare *s = pool.first[units];
	bool may_map = !s && pool.mapped < MAPPED_MOST;
	if (s) {
		pool.first[units] = s->next;
		assert(pool.spare_bytes >= bytes_of(units));
		pool.spare_bytes -= bytes_of(units);
	}
	pool.mapped += may_map;
	pthread_mutex_unlock(&pool.lock);
	if (!may_map)
		return s;
	void *p = mmap(NULL, bytes_of(units), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (p != MAP_FAILED)
		return p;
	pthread_mutex_lock(&pool.lock);
	pool.mapped--;
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static void
give_mapped(void *p, uint32_t units)
{
	struct spare *s = p;
	pthread_mutex_lock(&pool.lock);
	bool keep = pool.spare_bytes + bytes_of(units) <= BLOCK_SPARE_BYTES;
	if (keep) {
		s->next = pool.first[units];
		pool.first[units] = s;
		pool.spare_bytes += bytes_of(units);
	} else {
		assert(pool.mapped > 0);
		pool.mapped--;
	}
	pthread_mutex_unlock(&pool.lock);
	if (!keep)
		munmap(p, bytes_of(units));
}

static struct block *
begin(void *p, uint32_t cap, uint32_t mapped)
{
	struct block *b = p;
	atomic_init(&b->refs, 1);
	b->n = 0;
	b->cap = cap;
	b->mapped = mapped;
	return b;
}

struct block *
block_create(uint32_t cap)
{
	return begin(mem_alloc(sizeof(struct block) + cap), cap, 0);
}

struct block *
block_try(uint32_t cap)
{
	void *p = mem_realloc_try(NULL, sizeof(struct block) + cap);
	return p ? begin(p, cap, 0) : NULL;
}

struct block *
block_try_grow(struct block *b, uint32_t cap)
{
	assert(!b->mapped && b->cap <= cap);
	struct block *grown = mem_realloc_try(b, sizeof *b + cap);
	if (grown)
		grown->cap = cap;
	return grown;
}

struct block *
block_try_passing(uint32_t cap)
{
	size_t bytes = sizeof(struct block) + cap;
	uint32_t units = (uint32_t)((bytes + BLOCK_UNIT - 1) / BLOCK_UNIT);
	bool may = maps && cap >= BLOCK_PASSING_LEAST && units < CLASSES;
	void *p = may ? take_mapped(units) : NULL;
	return p ? begin(p, cap, units) : block_try(cap);
}

struct block *
block_ref(struct block *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

bool
block_renew(struct block *b)
{
	if (atomic_load_explicit(&b->refs, memory_order_acquire) != 1)
		return false;
	b->n = 0;
	return true;
}

void
block_let_go(struct block **b)
{
	struct block *old = *b;
	*b = NULL;
	if (atomic_fetch_sub_explicit(&old->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (old->mapped)
		give_mapped(old, old->mapped);
	else
		free(old);
}
