/* store.c - the log on disk: its life and its facts (store_inside.h lists the other files). */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/earnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 100,
	BATCH_AGE_MS = 1000, /* a batch that does not fill is written after this */
	READERS = 8,
	LOADERS = 4,	 /* and at most half of the readers */
	FIRST_FILES = 8, /* made before serving */
};

/* ---- life ---------------------------------------------------------------------------------- */

static void
tick(void *ctx)
{
	struct store *st = ctx;
	int64_t now = now_ms();
	pthread_mutex_lock(&st->lock);
	if (st->open && now - st->open->born_ms >= BATCH_AGE_MS)
		store_close_batch(st);
	if (!atomic_load(&st->health.failing) || now >= st->health.retry_ms)
		store_ask_for_room(st);
	if (st->duty == STORE_WORKS && store_may_write(st))
		store_ask_for_scrub(st);
	pthread_mutex_unlock(&st->lock);
}

static void
fill_random(void *p, size_t n)
{
	while (getrandom(p, n, 0) != (ssize_t)n)
		continue;
}

static void
size_parts(struct store *st)
{
	st->batch_bytes = packing_batch_bytes(st->o.segment_bytes);
	st->fragment_bytes = packing_fragment_bytes(st->o.segment_bytes);
}

/* The files that are needed to begin; others follow as the log fills. A disk too full for them is
 * no reason not to serve: it is tried again later. */
static void
make_first_files(struct store *st)
{
	for (int i = 0; i < FIRST_FILES && ledger_absent(&st->ledger) >= 0; i++)
		if (!store_add_segment(st, (uint32_t)ledger_absent(&st->ledger)))
			break;
}

static void
dispose(struct store *st)
{
	for (uint32_t i = 0; i < st->ledger.slots_n; i++)
		if (atomic_load(&st->slots.fds[i]) >= 0)
			close(atomic_load(&st->slots.fds[i]));
	store_direct_fini(st);
	store_view_fini(st);
	for (struct batch *b; (b = st->pool);) {
		st->pool = b->next;
		store_batch_free(b);
	}
	free(st->unread.list);
	free(st->slots.lives);
	free(st->codes);
	free(st->holds);
	free(st->losses.holes);
	free(st->clean_as_of);
	free(st->slots.written);
	free(st->slots.fds);
	buf_fini(&st->table);
	store_scrub_fini(st);
	ledger_fini(&st->ledger);
	index_destroy(&st->index);
	pthread_cond_destroy(&st->drained);
	pthread_mutex_destroy(&st->lock);
	free(st);
}

int
store_open(struct store **out, const struct store_options *o, char *err, size_t err_bytes)
{
	struct store *st = NEW(struct store);
	st->o = *o;
	if (!st->o.ops)
		st->o.ops = &diskio_system;
	if (!st->o.unread)
		st->o.unread = &st->own_unread;
	if (!st->o.max_pending_bytes)
		st->o.max_pending_bytes = 64 << 20;
	fill_random(&st->opening, sizeof st->opening);
	st->last = &st->pending;
	st->making = -1;
	st->duty = o->rests ? STORE_RESTS : STORE_WORKS;
	st->prepare.run = store_prepare;
	st->clean = store_clean_taken;
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->drained, NULL);
	index_create(&st->index);
	if (store_restore(st, err, err_bytes) != 0) {
		dispose(st);
		return -1;
	}
	size_parts(st);
	store_view_init(st);
	store_direct_init(st);
	if (st->o.most_forgets)
		ledger_set_forgets(&st->ledger, (uint32_t)(st->o.most_forgets / st->ledger.limit));
	if (st->duty != STORE_RESTS)
		make_first_files(st);
	store_scrub_init(st);
	unsigned readers = o->io_threads ? o->io_threads : READERS;
	struct diskio_options threads = {
		.readers = readers,
		.tick = tick,
		.ctx = st,
		.tick_ms = TICK_MS,
	};
	if (diskio_start(&st->io, &threads)) {
		snprintf(err, err_bytes,
			 "cannot start the %u threads of a disk; lower cache.io_threads or raise "
			 "the limit on threads",
			 readers + 1);
		dispose(st);
		return -1;
	}
	store_load_go_on(st, readers < 2 * LOADERS ? (readers + 1) / 2 : LOADERS);
	*out = st;
	return 0;
}

void
store_stop(struct store *st)
{
	if (!st->io)
		return;
	pthread_mutex_lock(&st->lock);
	st->closing = true;
	if (st->open)
		store_close_batch(st);
	pthread_mutex_unlock(&st->lock);
	diskio_stop(&st->io);
}

void
store_close(struct store **pst)
{
	struct store *st = *pst;
	*pst = NULL;
	if (!st)
		return;
	store_stop(st);
	dispose(st);
}

static bool
is_written(const struct store *st)
{
	return store_is_idle(st) && !st->pending && atomic_load(&st->footers_bytes) == 0;
}

/* Jobs end without a word, so they are looked for. Under the lock, which is let go meanwhile. */
static bool
await(struct store *st, bool (*yes)(const struct store *st), int64_t until)
{
	enum { LOOK_NS = 2000000 };
	while (!yes(st) && now_ms() < until) {
		pthread_mutex_unlock(&st->lock);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		pthread_mutex_lock(&st->lock);
	}
	return yes(st);
}

/* Records that are being moved find their place first: then nothing more is taken. */
static bool
come_to_rest(struct store *st, int64_t until)
{
	st->duty = STORE_KEEPS;
	if (!await(st, store_is_idle, until))
		return false;
	st->duty = STORE_RESTS;
	if (st->open)
		store_close_batch(st);
	return await(st, is_written, until);
}

bool
store_set_duty(struct store *st, enum store_duty duty, int64_t limit_ms)
{
	pthread_mutex_lock(&st->lock);
	enum store_duty before = st->duty;
	bool yes = duty != STORE_RESTS || come_to_rest(st, now_ms() + limit_ms);
	st->duty = yes ? duty : before;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

void
store_release(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	if (st->duty == STORE_KEEPS)
		st->duty = STORE_WORKS;
	pthread_mutex_unlock(&st->lock);
}

void
store_flush(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	if (st->open)
		store_close_batch(st);
	while (st->pending != st->open) /* what is carried over may open a new one */
		pthread_cond_wait(&st->drained, &st->lock);
	pthread_mutex_unlock(&st->lock);
}

unsigned
store_number(const struct store *st)
{
	return st->o.number;
}

bool
store_takes(const struct store *st)
{
	return atomic_load_explicit(st->o.unread, memory_order_relaxed) == 0 &&
	       (!atomic_load_explicit(&st->health.failing, memory_order_relaxed) ||
		now_ms() >= atomic_load_explicit(&st->health.retry_ms, memory_order_relaxed));
}

uint32_t
store_fragment_bytes(const struct store *st)
{
	return st->fragment_bytes;
}

uint64_t
store_max_body(const struct store *st)
{
	return packing_max_body(st->o.log_bytes, st->o.segment_bytes);
}

uint64_t
store_oldest(struct store *st)
{
	uint64_t oldest = UINT64_MAX;
	pthread_mutex_lock(&st->lock);
	if (st->taken_n) /* its bytes are still there */
		oldest = st->taken_clean_as_of;
	for (uint32_t i = 0; i < st->ledger.slots_n; i++)
		if (st->ledger.slots[i].state >= SEGMENT_OPEN && st->clean_as_of[i] < oldest)
			oldest = st->clean_as_of[i];
	pthread_mutex_unlock(&st->lock);
	return oldest;
}

void
store_save_earnings(struct store *st, uint64_t tag, struct buf *out)
{
	pthread_mutex_lock(&st->lock);
	earnings_save(&st->ledger, tag, out);
	pthread_mutex_unlock(&st->lock);
}

const char *
store_load_earnings(struct store *st, uint64_t tag, struct str bytes)
{
	pthread_mutex_lock(&st->lock);
	const char *why = earnings_load(&st->ledger, tag, bytes);
	pthread_mutex_unlock(&st->lock);
	return why;
}

bool
store_fails(const struct store *st)
{
	return atomic_load(&st->health.failing);
}

void
store_stats(struct store *st, struct store_stats *out)
{
	pthread_mutex_lock(&st->lock);
	*out = (struct store_stats){
		.used_bytes = st->ledger.used,
		.file_bytes = st->ledger.exist * st->o.segment_bytes,
		.limit_bytes = st->o.log_bytes,
		.pending_bytes = st->pending_bytes + atomic_load(&st->footers_bytes),
		.unread_segments = st->unread.known,
	};
	if (!atomic_load(&st->health.failing) && (st->is_cramped || ledger_absent(&st->ledger) < 0))
		out->turn_bytes = out->file_bytes;
	pthread_mutex_unlock(&st->lock);
	out->written_bytes = atomic_load(&st->counts.written_bytes);
	out->objects = index_count(st->index);
	out->evicted_objects = atomic_load(&st->counts.evicted);
	out->carried_bytes = atomic_load(&st->counts.carried_bytes);
	uint64_t appended = atomic_load(&st->counts.appended_bytes);
	out->admitted_bytes = appended > out->carried_bytes ? appended - out->carried_bytes : 0;
	out->scrubbed_bytes = atomic_load(&st->counts.scrubbed_bytes);
	out->scrub_damaged = atomic_load(&st->counts.scrub_damaged);
	out->io_errors = atomic_load(&st->counts.io_errors);
	out->refused_writes = atomic_load(&st->counts.refused);
	out->index_bytes = index_memory(st->index);
	out->failing = store_fails(st);
}
