/* flight_body.c - the body on its way: how far the leader may run ahead, and who is left behind. */
#include "proxy/cache/flight/flight_inside.h"

#include <assert.h>

enum {
	BLOCK_NARROW = 512,
	BLOCK_FIRST = 16 << 10,
	BLOCK_NEXT = 64 << 10,
	BLOCK_EXACT = 256 << 10,
	WINDOW_TIGHT = 64 << 10,
	WINDOW_LEAST = BLOCK_FIRST,
	/* Fast readers may lose so many ms to slow ones, and a part of the flight's time. */
	LOSS_MS = 250,
	LOSS_PART = 8
};

/* Where flights hold much all together, each holds little, so that many slow readers do not hold
 * much: from three quarters of total_bytes on less, and beyond it as little as can be. */
static uint64_t
window_by_use(const struct flight *f)
{
	const struct flights_options *o = &f->all->o;
	uint64_t bytes = atomic_load_explicit(&f->all->bytes, memory_order_relaxed);
	return bytes > o->total_bytes		? WINDOW_LEAST
	       : bytes > o->total_bytes / 4 * 3 ? WINDOW_TIGHT
						: o->window_bytes;
}

static bool
is_tight(const struct flight *f)
{
	return window_by_use(f) <= WINDOW_TIGHT;
}

/* How far the leader may run ahead of the slowest reader. */
static uint64_t
window(const struct flight *f)
{
	uint64_t most = window_by_use(f);
	return f->head.narrow && most > WINDOW_TIGHT ? WINDOW_TIGHT : most;
}

/* Lets go what every reader is done with, once the body is too large to be kept; tells a waiting
 * leader when that made room. Under the lock. */
static void
trim(struct flight *f)
{
	if (!f->windowed)
		return;
	window_trim(&f->window);
	if (f->leader_waits && window_behind(&f->window) <= window(f) / 2) {
		f->leader_waits = false;
		flight_wake_leader(f);
	}
}

void
flight_leave(struct flight_reader **rp)
{
	struct flight_reader *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	struct flight *f = r->flight, *after = NULL;
	pthread_mutex_lock(&f->lock);
	assert(!r->left && !(r->armed && (r->posted || r->late)) && f->reader_count > 0);
	if (r->armed)
		TAILQ_REMOVE(&f->armed, r, link);
	else
		TAILQ_REMOVE(&f->busy, r, link);
	window_leave(&f->window, &r->mark);
	r->left = true;
	f->reader_count--;
	f->late_count -= r->late;
	f->doubted_count -= r->doubted;
	trim(f);
	if (f->reader_count == f->doubted_count)
		flight_wake_leader(f);
	if (f->reader_count <= 1) { /* nobody is left who might go there */
		after = f->rival.after;
		f->rival.after = NULL;
	}
	bool posted = r->posted;
	flight_unlock(f);
	flight_unref(&after);
	if (posted)
		return; /* open_reader will free it */
	flight_leave_seat(r);
}

/* Of what has no end, for one reader: the last block stays, perhaps for hours, behind a few bytes. */
static uint32_t
narrow_block_bytes(size_t n)
{
	return n < BLOCK_NARROW ? BLOCK_NARROW : n < BLOCK_FIRST ? (uint32_t)n : BLOCK_FIRST;
}

/* How large a block for the next n bytes is. */
static uint32_t
block_bytes(const struct flight *f, size_t n)
{
	if (f->head.narrow)
		return narrow_block_bytes(n);
	uint64_t whole = f->head.body_bytes, left = whole - f->window.total;
	uint32_t cap = f->window.total ? BLOCK_NEXT : BLOCK_FIRST;
	if (whole != UINT64_MAX && left <= BLOCK_EXACT)
		cap = left ? (uint32_t)left : 1;
	else if (whole != UINT64_MAX)
		cap = BLOCK_NEXT;
	return cap > BLOCK_FIRST && is_tight(f) ? BLOCK_FIRST : cap;
}

/* Kept bodies get blocks of their own size. */
static void
lend_block(struct flight *f)
{
	if (f->spare && !f->head.narrow && !f->window.total && !f->head.kept && !f->head.sliced)
		window_lend_block(&f->window, &f->spare);
}

/* Under the lock. */
static void
take(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at, uint32_t *got)
{
	/* Before its head, or behind its end, nobody would be told of it. */
	assert(flight_state(f) == FLIGHT_ARRIVING);
	lend_block(f);
	*filled = window_add(&f->window, p, n, block_bytes(f, n), at, got);
	flight_wake_readers(f);
}

/* Too large to be kept whole, or there is too much of everything: a window from now on. */
static bool
outgrows(const struct flight *f, size_t n)
{
	const struct flights_options *o = &f->all->o;
	uint64_t whole = f->head.body_bytes, total = f->window.total;
	return f->head.narrow || total + n > o->retain_bytes ||
	       (whole != UINT64_MAX && whole > o->retain_bytes) || (total && is_tight(f));
}

/* Somebody has read everything and waits for more, or waits for the end. */
static bool
somebody_starves(const struct flight *f)
{
	const struct flight_reader *r;
	if (f->late_count)
		return true;
	TAILQ_FOREACH (r, &f->armed, link)
		if (!window_lost(&f->window, &r->mark))
			return true;
	return false;
}

/* The window is full: of the time since it was found so,
 * fast readers lost what they spent waiting. */
static void
count_loss(struct flight *f, int64_t now_ms)
{
	if (f->refused_ms && somebody_starves(f))
		f->lost_ms += now_ms - f->refused_ms;
	f->refused_ms = 0;
}

static bool
is_full(const struct flight *f)
{
	return f->windowed && f->reader_count && window_behind(&f->window) >= window(f);
}

/* Under the lock: those in whose favour fast readers have waited long enough are left behind. They
 * are told when the body has come to its end, or now when it is kept nowhere. */
static void
leave_behind(struct flight *f, int64_t now_ms)
{
	count_loss(f, now_ms);
	if (!somebody_starves(f) || f->lost_ms <= LOSS_MS + (now_ms - f->begun_ms) / LOSS_PART)
		return;
	while (is_full(f) && window_shed(&f->window))
		window_trim(&f->window);
}

bool
flight_append(struct flight *f, const char *p, size_t n, int64_t now_ms, struct block **filled,
	      uint32_t *at, uint32_t *got)
{
	pthread_mutex_lock(&f->lock);
	f->windowed = f->windowed || outgrows(f, n);
	trim(f);
	if (is_full(f))
		leave_behind(f, now_ms);
	else if (f->refused_ms)
		count_loss(f, now_ms);
	bool full = is_full(f);
	f->leader_waits = full;
	if (full)
		f->refused_ms = now_ms;
	else
		take(f, p, n, filled, at, got);
	if (!full && f->head.body_bytes == UINT64_MAX)
		flight_note_pace(f, now_ms);
	bool proven = f->rival.unproven && flight_is_proven(f, now_ms);
	f->rival.unproven = f->rival.unproven && !proven;
	struct flight *before = proven ? flight_ref(f->rival.before) : NULL;
	flight_unlock(f);
	flight_tell(f, before, FLIGHT_NEWS_GOOD);
	return !full;
}

void
flight_append_now(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at,
		  uint32_t *got)
{
	pthread_mutex_lock(&f->lock);
	take(f, p, n, filled, at, got);
	flight_unlock(f);
}

/* A reader that was left behind goes on like this. */
static enum flight_step
lost_step(const struct flight *f, enum flight_state state)
{
	switch (state) {
	case FLIGHT_WAITING:
	case FLIGHT_ARRIVING:
		return f->head.kept ? FLIGHT_LATER : FLIGHT_LOST;
	case FLIGHT_WHOLE:
		return f->stored ? FLIGHT_STORED : FLIGHT_LOST;
	case FLIGHT_FAILED:
		break;
	}
	return FLIGHT_CUT;
}

enum flight_step
flight_read(struct flight_reader *r, uint64_t at, const char **p, size_t *n, struct block **block)
{
	struct flight *f = r->flight;
	enum flight_step step;
	pthread_mutex_lock(&f->lock);
	enum flight_state state = flight_state(f);
	if (at < f->window.base) {
		step = lost_step(f, state);
	} else if (at < f->window.total) {
		const struct piece *piece = window_find(&f->window, at);
		size_t skip = (size_t)(at - piece->at);
		assert(skip < piece->block->n);
		*block = block_ref(piece->block);
		*p = piece->block->p + skip;
		*n = piece->block->n - skip;
		step = FLIGHT_READY;
	} else {
		step = state == FLIGHT_WHOLE	? FLIGHT_OVER
		       : state == FLIGHT_FAILED ? FLIGHT_CUT
						: FLIGHT_LATER;
	}
	if (step == FLIGHT_LATER)
		flight_arm(r);
	pthread_mutex_unlock(&f->lock);
	return step;
}

void
flight_done_until(struct flight_reader *r, uint64_t at)
{
	struct flight *f = r->flight;
	if (flight_state(f) == FLIGHT_WHOLE && !atomic_load(&f->windowed))
		return; /* all of it is here, and none is let go while there are readers */
	pthread_mutex_lock(&f->lock);
	window_move(&f->window, &r->mark, at);
	trim(f);
	pthread_mutex_unlock(&f->lock);
}
