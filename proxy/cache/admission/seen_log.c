/* seen_log.c - stripes, what was gathered from them, and the job that writes it.
 *
 *	threads --note--> stripes --tick--> gathered --tick, when due--> out --job--> file
 *
 * gathered and the stripes' other ends are the keeper's; out is the job's while that is under way.
 */
#include "proxy/cache/admission/seen_log.h"

#include "proxy/base/buf.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/admission/seen_file.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char NAME[] = "sightings";

enum {
	STRIPES = 64,
	STRIPE_KEYS = 16384, /* of one thread, in a second */
	ENOUGH_BYTES = 64 << 10,
	MOST_BYTES = 1 << 20, /* gathered, while the disk does not take them */
	DUE_MS = 40000,	      /* leaves 20 s to a slow disk */
	RETRY_MS = 10000
};

struct slot {
	_Atomic uint64_t lo, hi; /* lo 0: it is free */
};

/* One thread's, or that of a few: they share a stripe, not a slot. */
struct stripe {
	alignas(64) _Atomic uint64_t next;
	_Atomic uint64_t missed;
	uint64_t emptied; /* the keeper's: next, when it was last looked at; */
	bool is_empty;	  /* and all slots that were drawn by then are known to be */
	struct slot slots[STRIPE_KEYS];
};

struct gathered {
	struct buf bytes;	/* whole blocks, and behind them the open one */
	size_t open_at;		/* where that begins */
	struct seen_block open; /* keys 0: there is none */
	uint64_t keys;		/* of all blocks */
	int64_t since_ms;	/* none of the keys came before */
};

struct seen_log {
	struct cache *cache;
	const struct twice_pair *pair; /* one of the two */
	const struct twice_filter *memory;
	struct seen_file file;
	uint64_t most_bytes;
	struct stripe *_Atomic stripes[STRIPES]; /* owned; NULL: nobody came yet */
	_Atomic uint64_t missed;		 /* of what was gathered */
	struct gathered now;
	int64_t ticked_ms;

	pthread_mutex_t lock; /* what is below */
	pthread_cond_t idle;
	bool busy; /* then all but this is the job's */
	bool failing, full;
	struct diskio_job job;
	struct buf out;
	uint64_t out_keys;
	int64_t again_ms; /* no job before */
	uint64_t end;	  /* of the file; 0: it is to be made */
};

/* ---- stripes --------------------------------------------------------------------------------- */

static _Thread_local unsigned mine; /* the stripe's number and one; 0: not drawn yet */

/* Apart from the hot path. False: there is no memory for it. */
static __attribute__((noinline, cold)) bool
stripe_make(struct seen_log *l)
{
	static _Atomic unsigned threads;
	if (!mine)
		mine = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % STRIPES;
	struct stripe *fresh = aligned_alloc(alignof(struct stripe), sizeof *fresh), *none = NULL;
	if (!fresh)
		return false;
	memset((void *)fresh, 0, sizeof *fresh);
	if (!atomic_compare_exchange_strong(&l->stripes[mine - 1], &none, fresh))
		free(fresh); /* another thread has the same number */
	return true;
}

static __attribute__((noinline, cold)) void
note_first(struct seen_log *l, struct twice_key_hash key)
{
	if (stripe_make(l))
		seen_log_note(l, key);
}

void
seen_log_note(struct seen_log *l, struct twice_key_hash key)
{
	struct stripe *stripe = NULL;
	if (mine)
		stripe = atomic_load_explicit(&l->stripes[mine - 1], memory_order_acquire);
	if (!stripe) {
		note_first(l, key);
		return;
	}
	uint64_t i = atomic_fetch_add_explicit(&stripe->next, 1, memory_order_relaxed);
	struct slot *s = &stripe->slots[i % STRIPE_KEYS];
	if (atomic_load_explicit(&s->lo, memory_order_acquire)) {
		atomic_fetch_add_explicit(&stripe->missed, 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&s->hi, key.hi, memory_order_relaxed);
	atomic_store_explicit(&s->lo, key.lo ? key.lo : 1, memory_order_release);
}

static bool
slot_take(struct slot *s, struct twice_key_hash *out)
{
	out->lo = atomic_load_explicit(&s->lo, memory_order_acquire);
	if (!out->lo)
		return false;
	out->hi = atomic_load_explicit(&s->hi, memory_order_relaxed);
	atomic_store_explicit(&s->lo, 0, memory_order_release);
	return true;
}

uint64_t
seen_log_missed(const struct seen_log *l)
{
	uint64_t sum = atomic_load_explicit(&l->missed, memory_order_relaxed);
	for (unsigned i = 0; i < STRIPES; i++) {
		const struct stripe *stripe =
			atomic_load_explicit(&l->stripes[i], memory_order_acquire);
		if (stripe)
			sum += atomic_load_explicit(&stripe->missed, memory_order_relaxed);
	}
	return sum;
}

/* ---- gathering ----------------------------------------------------------------------------- */

/* Its generation is asked for when all keys are there: none is of a later one. */
static void
close_block(struct seen_log *l)
{
	struct gathered *g = &l->now;
	if (!g->open.keys)
		return;
	g->open.generation = l->pair ? twice_pair_number(l->pair) : twice_filter_number(l->memory);
	seen_block_format(&l->file, &g->open, g->bytes.p + g->open_at);
	g->open.keys = 0;
}

static bool
has_room(const struct seen_log *l)
{
	return l->now.bytes.n + SEEN_BLOCK_HEAD + SEEN_KEY_MOST <= MOST_BYTES;
}

static void
gather(struct seen_log *l, struct twice_key_hash key)
{
	struct gathered *g = &l->now;
	if (l->pair)
		key = (struct twice_key_hash){.lo = twice_pair_pack_key(l->pair, key)};
	if (g->open.keys == SEEN_BLOCK_KEYS)
		close_block(l);
	if (!g->open.keys) {
		g->open_at = g->bytes.n;
		buf_room(&g->bytes, SEEN_BLOCK_HEAD);
		buf_added(&g->bytes, SEEN_BLOCK_HEAD);
	}
	buf_room(&g->bytes, l->file.key_bytes);
	seen_block_put_key(&l->file, g->bytes.p + g->open_at, g->open.keys++, key);
	buf_added(&g->bytes, l->file.key_bytes);
	g->keys++;
}

/* Once more after the last key came: who drew a slot before may have filled it since. */
static void
empty_stripe(struct seen_log *l, struct stripe *stripe)
{
	struct twice_key_hash key;
	uint64_t next = atomic_load_explicit(&stripe->next, memory_order_relaxed);
	if (next == stripe->emptied && stripe->is_empty)
		return;
	for (unsigned i = 0; i < STRIPE_KEYS && has_room(l); i++)
		if (slot_take(&stripe->slots[i], &key))
			gather(l, key);
	stripe->is_empty = next == stripe->emptied && has_room(l);
	stripe->emptied = next;
}

static void
empty_stripes(struct seen_log *l)
{
	for (unsigned i = 0; i < STRIPES; i++) {
		struct stripe *stripe = atomic_load_explicit(&l->stripes[i], memory_order_acquire);
		if (stripe)
			empty_stripe(l, stripe);
	}
	close_block(l);
}

static void
drop_gathered(struct seen_log *l)
{
	l->now.bytes.n = l->now.keys = l->now.open.keys = 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static int
fill_file(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct seen_log *l = ctx;
	char head[SEEN_FILE_HEAD];
	seen_file_format(&l->file, head);
	if (write(to, head, sizeof head) != 0)
		return -1;
	return l->out.n ? write(to, l->out.p, l->out.n) : 0;
}

/* Without the lock: out and end are the caller's. */
static bool
write_out(struct seen_log *l)
{
	bool right = l->end ? cache_append_file(l->cache, NAME, l->end, buf_str(&l->out)) == 0
			    : cache_save_file(l->cache, NAME, fill_file, l) == 0;
	if (!right && errno == ENOENT)
		l->end = 0; /* somebody removed it: it is made when this is tried again */
	if (!right && !l->failing)
		log_warning(
			"cache %s: cannot write the log of sightings: %s; after a crash URLs that "
			"were seen since the last snapshot would count as new",
			cache_directory(l->cache), strerror(errno));
	l->failing = !right;
	if (right)
		l->end += (l->end ? 0 : SEEN_FILE_HEAD) + l->out.n;
	if (right)
		l->out.n = l->out_keys = 0;
	return right;
}

static void
run(struct diskio_job *j)
{
	struct seen_log *l = (struct seen_log *)((char *)j - offsetof(struct seen_log, job));
	write_out(l);
	pthread_mutex_lock(&l->lock);
	l->busy = false;
	pthread_cond_signal(&l->idle);
	pthread_mutex_unlock(&l->lock);
}

/* The file takes no more before the next snapshot. Under the lock. */
static bool
is_full(struct seen_log *l)
{
	if (l->end + l->out.n <= l->most_bytes)
		return false;
	if (!l->full)
		log_info("cache %s: the log of sightings is full until the next snapshot of the "
			 "filter",
			 cache_directory(l->cache));
	l->full = true;
	atomic_fetch_add_explicit(&l->missed, l->out_keys, memory_order_relaxed);
	l->out.n = l->out_keys = 0;
	return true;
}

/* Under the lock, while no job is under way: what was gathered is to be written. */
static void
hand_out(struct seen_log *l)
{
	struct buf empty = l->out;
	l->out = l->now.bytes;
	l->out_keys = l->now.keys;
	l->now.bytes = empty;
	drop_gathered(l);
}

static bool
is_due(const struct seen_log *l, int64_t now_ms)
{
	const struct gathered *g = &l->now;
	return g->keys && (g->bytes.n >= ENOUGH_BYTES || now_ms - g->since_ms >= DUE_MS);
}

void
seen_log_tick(struct seen_log *l, int64_t now_ms)
{
	bool was_empty = l->now.keys == 0;
	empty_stripes(l);
	if (was_empty)
		l->now.since_ms = l->ticked_ms;
	l->ticked_ms = now_ms;
	pthread_mutex_lock(&l->lock);
	bool posts = false;
	if (!l->busy && !l->out.n && is_due(l, now_ms))
		hand_out(l);
	if (!l->busy && l->out.n && now_ms >= l->again_ms && !is_full(l) &&
	    *cache_directory(l->cache)) /* not while the only one is away */
		posts = l->busy = true;
	pthread_mutex_unlock(&l->lock);
	if (posts) {
		l->again_ms = now_ms + (l->failing ? RETRY_MS : 0);
		cache_post(l->cache, &l->job);
	}
}

/* ---- snapshots ----------------------------------------------------------------------------- */

static void
await_idle(struct seen_log *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->busy)
		pthread_cond_wait(&l->idle, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

void
seen_log_snapshot_begin(struct seen_log *l)
{
	await_idle(l);
	empty_stripes(l);
}

/* Keys that came meanwhile may be in the snapshot or not, and begin the new file. It is tried again if it cannot
 * be made; the old one then names what the snapshot knows too. */
void
seen_log_snapshot_end(struct seen_log *l, bool saved)
{
	if (!saved)
		return;
	drop_gathered(l);
	empty_stripes(l);
	l->end = 0;
	l->full = false;
	hand_out(l);
	write_out(l);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct seen_log *
seen_log_create(const struct seen_log_options *o)
{
	struct seen_log *l = NEW(struct seen_log);
	l->cache = o->cache;
	l->pair = o->pair;
	l->memory = o->memory;
	l->file = (struct seen_file){o->shape, o->pair ? 8 : SEEN_KEY_MOST};
	l->most_bytes = SEEN_FILE_HEAD + o->most_keys * l->file.key_bytes + MOST_BYTES;
	l->ticked_ms = o->now_ms;
	l->job.run = run;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->idle, NULL);
	return l;
}

void
seen_log_destroy(struct seen_log **pl)
{
	struct seen_log *l = *pl;
	*pl = NULL;
	if (!l)
		return;
	await_idle(l);
	for (unsigned i = 0; i < STRIPES; i++)
		free(atomic_load(&l->stripes[i]));
	buf_fini(&l->now.bytes);
	buf_fini(&l->out);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->idle);
	free(l);
}

/* Reads on, until so many bytes are there or no more come. False: a read failed. */
static bool
fill_to(int fd, struct buf *b, size_t n)
{
	ssize_t got = 1;
	while (b->n < n && (got = read(fd, buf_room(b, n - b->n), n - b->n)) > 0)
		buf_added(b, (size_t)got);
	return got >= 0;
}

/* A file, and the bytes of it that were read and not used yet. */
struct reading {
	int fd;
	struct buf b;
	size_t at;
};

/* The next block, or as much as there is of it. False: a read failed. */
static bool
read_on(struct reading *r)
{
	buf_consume(&r->b, r->at);
	r->at = 0;
	return fill_to(r->fd, &r->b, SEEN_BLOCK_MOST);
}

/* NULL, or why it ends early. */
static const char *
restore_blocks(struct seen_log *l, struct reading *r, seen_log_tell *tell, void *ctx)
{
	struct seen_block block;
	for (bool right = true;;) {
		struct str left = {r->b.p + r->at, r->b.n - r->at};
		size_t n = seen_block_parse(&l->file, left, &block);
		if (!n && left.n < SEEN_BLOCK_MOST && right) { /* is there more? */
			right = read_on(r);
			if (r->b.n > left.n)
				continue;
		}
		if (!n)
			return !right ? strerror(errno) : left.n ? "torn or damaged" : NULL;
		for (uint32_t i = 0; i < block.keys; i++)
			tell(ctx, block.generation, seen_block_key(&l->file, left.p, i));
		r->at += n;
		l->end += n;
	}
}

void
seen_log_restore(struct seen_log *l, seen_log_tell *tell, void *ctx)
{
	struct reading r = {.fd = cache_open_file(l->cache, NAME)};
	const char *why = NULL;
	if (r.fd < 0 && errno == ENOENT)
		return;
	if (r.fd < 0 || !fill_to(r.fd, &r.b, SEEN_FILE_HEAD))
		why = strerror(errno);
	else
		why = seen_file_fault(buf_str(&r.b), &l->file);
	if (!why) {
		l->end = r.at = SEEN_FILE_HEAD;
		why = restore_blocks(l, &r, tell, ctx);
	}
	if (why)
		log_warning(
			"cache %s: the log of sightings counts up to byte %llu (%s): URLs that it "
			"names behind that count as new",
			cache_directory(l->cache), (unsigned long long)l->end, why);
	buf_fini(&r.b);
	if (r.fd >= 0)
		close(r.fd);
}
