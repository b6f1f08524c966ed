/* flight_life.c - a flight's memory, which is used again, and who still holds it. */
#include "proxy/cache/flight/flight_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/store/object_facts.h"

#include <assert.h>
#include <stdlib.h>

/* Of each shard, and of what a spare one holds. */
enum { SPARES = 16, SPARE_BYTES = 4096, BLOCK_MOST = 16 << 10, BLOCKS_MOST = 64 << 10 };

static void
check(const struct flight *f)
{
	int state = atomic_load_explicit(&f->state, memory_order_relaxed);
	bool nobody = TAILQ_EMPTY(&f->armed) && TAILQ_EMPTY(&f->busy);
	assert(atomic_load_explicit(&f->refs, memory_order_relaxed) > 0);
	assert(state >= FLIGHT_WAITING && state <= FLIGHT_FAILED);
	assert(nobody == (f->reader_count == 0) && f->late_count <= f->reader_count);
	assert(f->doubted_count <= f->reader_count);
	assert(!f->seat.flight || f->seat_taken);
	assert(f->interim.n == atomic_load_explicit(&f->interim_bytes, memory_order_relaxed));
	/* Without a head there is no body; only a body that is too large makes its leader wait. */
	assert(state != FLIGHT_WAITING || f->window.total == f->window.base);
	assert(f->windowed || (!f->leader_waits && !f->refused_ms && !f->lost_ms));
	assert(!f->leader.posted || f->leader.flight == f);
	assert(!f->rival.after || (f->rival.overtaken && f->reader_count > 1));
	assert(!f->rival.unproven || (f->rival.before && state == FLIGHT_ARRIVING));
}

static void
check_shard(const struct flight_shard *s)
{
	assert(s->spare_count <= SPARES && (s->spare != NULL) == (s->spare_count > 0));
	assert(s->block_bytes <= BLOCKS_MOST && (s->spare || !s->block_bytes));
	assert(!s->first || atomic_load_explicit(&s->first->in_table, memory_order_relaxed));
}

void
flight_unlock(struct flight *f)
{
	check(f);
	pthread_mutex_unlock(&f->lock);
}

void
flight_shard_unlock(struct flight_shard *s)
{
	check_shard(s);
	pthread_mutex_unlock(&s->lock);
}

/* Under the shard's lock. */
struct flight *
flight_take_spare(struct flight_shard *s)
{
	struct flight *f = s->spare;
	if (f) {
		s->spare = f->next;
		s->spare_count--;
		s->block_bytes -= f->spare ? f->spare->cap : 0;
	}
	return f;
}

struct flight *
flight_create(struct flights *fs, struct flight *spare, struct twice_key_hash hash, struct str key,
	      uint64_t at, int64_t now_ms)
{
	struct flight *f = spare ? spare : NEW(struct flight);
	if (spare)
		memset((char *)f + offsetof(struct flight, refs), 0,
		       sizeof *f - offsetof(struct flight, refs));
	else
		pthread_mutex_init(&f->lock, NULL);
	atomic_init(&f->refs, 1);
	f->all = fs;
	f->hash = hash;
	f->key.n = 0;
	buf_add_str(&f->key, key);
	f->begun = fs->o.cache ? cache_now(fs->o.cache) : 0;
	f->begun_ms = now_ms;
	TAILQ_INIT(&f->armed);
	TAILQ_INIT(&f->busy);
	window_init(&f->window, at, &fs->bytes);
	window_lend(&f->window, &f->pieces, &f->piece_cap);
	atomic_fetch_add_explicit(&fs->count, 1, memory_order_relaxed);
	return f;
}

void
flight_destroy(struct flight **fp)
{
	struct flight *f = *fp;
	*fp = NULL;
	free(f->pieces);
	block_unref(&f->spare);
	buf_fini(&f->head_memory);
	buf_fini(&f->key);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Takes a flight to which nobody has a reference. */
static void
keep_spare(struct flights *fs, struct flight *f)
{
	struct flight_shard *s = flight_shard_of(fs, f->hash);
	struct block *too_many = NULL;
	pthread_mutex_lock(&s->lock);
	bool keep =
		s->spare_count < SPARES &&
		f->key.cap + f->head_memory.cap + f->piece_cap * sizeof *f->pieces <= SPARE_BYTES;
	if (keep) {
		f->next = s->spare;
		s->spare = f;
		s->spare_count++;
		if (f->spare && s->block_bytes + f->spare->cap > BLOCKS_MOST) {
			too_many = f->spare;
			f->spare = NULL;
		}
		s->block_bytes += f->spare ? f->spare->cap : 0;
	}
	flight_shard_unlock(s);
	block_unref(&too_many);
	if (!keep)
		flight_destroy(&f);
}

/* The last reference is gone: what it held is let go, the struct is kept for another. */
static void
give_back(struct flight *f)
{
	struct flights *fs = f->all;
	assert(!f->reader_count && !f->leader.home);
	if (!f->spare)
		f->spare = window_take_block(&f->window);
	if (f->spare && f->spare->cap > BLOCK_MOST)
		block_unref(&f->spare);
	window_take_back(&f->window, &f->pieces, &f->piece_cap);
	window_fini(&f->window);
	object_unref(&f->stored);
	flight_unref(&f->rival.before);
	assert(!f->rival.after);
	buf_fini(&f->head_memory);
	f->head_memory = f->head.head;
	f->head_memory.n = 0;
	buf_fini(&f->head.asker);
	buf_fini(&f->head.vary);
	buf_fini(&f->head.tags);
	buf_fini(&f->head.variant);
	object_unref(&f->head.object);
	buf_fini(&f->interim);
	buf_fini(&f->trailers);
	atomic_fetch_sub_explicit(&fs->count, 1, memory_order_relaxed);
	keep_spare(fs, f);
}

struct flight *
flight_ref(struct flight *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void
flight_unref(struct flight **fp)
{
	struct flight *f = *fp;
	*fp = NULL;
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	give_back(f);
}

enum flight_state
flight_state(struct flight *f)
{
	return (enum flight_state)atomic_load_explicit(&f->state, memory_order_acquire);
}

struct flight *
flight_of(const struct flight_reader *r)
{
	return r->flight;
}
