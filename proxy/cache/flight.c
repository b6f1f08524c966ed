/* flight.c - one flight: its head, its body's window, and who is woken when. */
#include "proxy/cache/flight_inside.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

enum {
	BLOCK_FIRST = 16 << 10,
	BLOCK_NEXT = 64 << 10,
	BLOCK_EXACT = 256 << 10,
	WINDOW_TIGHT = 64 << 10,
	/* What fast readers may lose to slow ones: so many ms, and a part of the flight's time. */
	LOSS_MS = 250,
	LOSS_PART = 8
};

/* ---- life ---------------------------------------------------------------------------------- */

struct flight *
flight_create(struct flights *fs, struct flight *spare, struct key_hash hash, struct str key,
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
	buf_fini(&f->head_memory);
	buf_fini(&f->key);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* The last reference is gone: what it held is let go, the struct is kept for another. */
static void
give_back(struct flight *f)
{
	struct flights *fs = f->all;
	assert(!f->reader_count && !f->leader.home);
	window_take_back(&f->window, &f->pieces, &f->piece_cap);
	window_fini(&f->window);
	object_unref(&f->stored);
	flight_unref(&f->before);
	buf_fini(&f->head_memory);
	f->head_memory = f->head.head;
	f->head_memory.n = 0;
	buf_fini(&f->head.asker);
	buf_fini(&f->head.vary);
	buf_fini(&f->head.variant);
	object_unref(&f->head.object);
	buf_fini(&f->interim);
	atomic_fetch_sub_explicit(&fs->count, 1, memory_order_relaxed);
	flights_keep_spare(fs, f);
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

/* ---- readers ------------------------------------------------------------------------------- */

/* Under the lock: from now on a wake reaches r. */
static void
arm(struct flight_reader *r)
{
	struct flight *f = r->flight;
	if (r->armed || r->posted || r->left)
		return;
	r->armed = true;
	TAILQ_REMOVE(&f->busy, r, link);
	TAILQ_INSERT_TAIL(&f->armed, r, link);
}

/* The last of a reader. */
static void
leave_seat(struct flight_reader *r)
{
	struct flight *f = r->flight;
	if (r != &f->seat)
		free(r);
	flight_unref(&f);
}

static void
open_reader(struct letter *l)
{
	struct flight_reader *r = (struct flight_reader *)l;
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	r->posted = false;
	bool left = r->left;
	/* Before the head nobody asks for more by flight_read. */
	if (!left && flight_state(f) == FLIGHT_WAITING)
		arm(r);
	pthread_mutex_unlock(&f->lock);
	if (!left) {
		r->wake(r->ctx);
		return;
	}
	leave_seat(r);
}

static void wake_leader(struct flight *f);

static struct flight_reader *
new_seat(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = f->seat_taken ? NEW(struct flight_reader) : &f->seat;
	f->seat_taken = true;
	r->letter.open = open_reader;
	r->flight = flight_ref(f);
	r->home = home;
	r->wake = wake;
	r->ctx = ctx;
	r->interim_at = f->interim.n;
	f->reader_count++;
	if (f->awaits_reader)
		wake_leader(f);
	f->awaits_reader = false;
	return r;
}

struct flight_reader *
flight_seat(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = new_seat(f, home, wake, ctx);
	window_enter(&f->window, &r->mark);
	r->armed = true;
	TAILQ_INSERT_TAIL(&f->armed, r, link);
	return r;
}

struct flight_reader *
flight_seat_late(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = new_seat(f, home, wake, ctx);
	assert(window_lost(&f->window, &r->mark)); /* it stands nowhere */
	r->late = true;
	f->late_count++;
	TAILQ_INSERT_TAIL(&f->busy, r, link);
	return r;
}

struct flight *
flight_of(const struct flight_reader *r)
{
	return r->flight;
}

static void
open_leader(struct letter *letter)
{
	struct flight_leader *l = (struct flight_leader *)letter;
	struct flight *f = l->flight;
	pthread_mutex_lock(&f->lock);
	l->posted = false;
	bool leads = l->home != NULL;
	pthread_mutex_unlock(&f->lock);
	if (leads)
		l->wake(l->ctx);
	flight_unref(&f);
}

/* Under the flight's lock. */
static void
wake_leader(struct flight *f)
{
	struct flight_leader *l = &f->leader;
	if (!l->home || l->posted)
		return;
	l->posted = true;
	l->flight = flight_ref(f);
	mailbox_post(l->home, &l->letter);
}

/* Only those who wait for it: what the others do next shows them the news. */
static void
wake_readers(struct flight *f)
{
	struct flight_reader *r;
	while ((r = TAILQ_FIRST(&f->armed))) {
		TAILQ_REMOVE(&f->armed, r, link);
		TAILQ_INSERT_TAIL(&f->busy, r, link);
		r->armed = false;
		r->posted = true;
		mailbox_post(r->home, &r->letter);
	}
}

/* Under the lock: the end is here. */
static void
wake_late(struct flight *f)
{
	struct flight_reader *r;
	TAILQ_FOREACH (r, &f->busy, link) {
		if (!r->late || r->posted)
			continue;
		r->posted = true;
		mailbox_post(r->home, &r->letter);
	}
}

/* Over total_bytes every flight holds little, so that many slow readers do not hold much. */
static bool
is_tight(const struct flight *f)
{
	return atomic_load_explicit(&f->all->bytes, memory_order_relaxed) > f->all->o.total_bytes;
}

/* How far the leader may run ahead of the slowest reader. */
static uint64_t
window(const struct flight *f)
{
	uint64_t most = f->all->o.window_bytes;
	return most > WINDOW_TIGHT && is_tight(f) ? WINDOW_TIGHT : most;
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
		wake_leader(f);
	}
}

void
flight_leave(struct flight_reader **rp)
{
	struct flight_reader *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	if (r->armed)
		TAILQ_REMOVE(&f->armed, r, link);
	else
		TAILQ_REMOVE(&f->busy, r, link);
	window_leave(&f->window, &r->mark);
	r->left = true;
	f->reader_count--;
	f->late_count -= r->late;
	trim(f);
	if (f->reader_count == 0)
		wake_leader(f);
	bool posted = r->posted;
	pthread_mutex_unlock(&f->lock);
	if (posted)
		return; /* open_reader will free it */
	leave_seat(r);
}

/* ---- leader -------------------------------------------------------------------------------- */

void
flight_set_leader(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	pthread_mutex_lock(&f->lock);
	assert(!f->leader.wake); /* one in the life of a flight */
	f->leader = (struct flight_leader){
		.letter.open = open_leader, .home = home, .wake = wake, .ctx = ctx};
	pthread_mutex_unlock(&f->lock);
}

void
flight_drop_leader(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	f->leader.home = NULL; /* a letter that is under way finds that nobody leads */
	pthread_mutex_unlock(&f->lock);
}

void
flight_interim(struct flight *f, struct str head)
{
	pthread_mutex_lock(&f->lock);
	if (f->interim.n + head.n <= 16 << 10) { /* more hints than that help nobody */
		buf_add_str(&f->interim, head);
		atomic_store_explicit(&f->interim_bytes, f->interim.n, memory_order_release);
		wake_readers(f);
	}
	pthread_mutex_unlock(&f->lock);
}

struct buf
flight_lend_head(struct flight *f)
{
	struct buf b = f->head_memory;
	f->head_memory = (struct buf){0};
	return b;
}

/* Those who wait for the fetches that f overtook. good: f has an answer for them; else the next of
 * them may try at once. */
static void
tell_overtaken(struct flight *g, bool good)
{
	while (g) { /* a reference */
		pthread_mutex_lock(&g->lock);
		if (good)
			g->overtaken = true;
		else
			g->next_try_ms = 0;
		if (flight_state(g) == FLIGHT_WAITING)
			wake_readers(g);
		struct flight *next = g->before ? flight_ref(g->before) : NULL;
		pthread_mutex_unlock(&g->lock);
		flight_unref(&g);
		g = next;
	}
}

void
flight_publish(struct flight *f, struct flight_head *head)
{
	bool good = head->status < 400 || head->storable;
	pthread_mutex_lock(&f->lock);
	assert(atomic_load(&f->state) == FLIGHT_WAITING);
	f->head = *head;
	*head = (struct flight_head){0};
	atomic_store_explicit(&f->state, FLIGHT_ARRIVING, memory_order_release);
	wake_readers(f);
	struct flight *before = f->before ? flight_ref(f->before) : NULL;
	pthread_mutex_unlock(&f->lock);
	tell_overtaken(before, good);
}

/* How large a block for the next bytes is. */
static uint32_t
block_bytes(const struct flight *f)
{
	uint64_t whole = f->head.body_bytes, left = whole - f->window.total;
	uint32_t cap = f->window.total ? BLOCK_NEXT : BLOCK_FIRST;
	if (whole != UINT64_MAX && left <= BLOCK_EXACT)
		cap = left ? (uint32_t)left : 1;
	else if (whole != UINT64_MAX)
		cap = BLOCK_NEXT;
	return cap > BLOCK_FIRST && is_tight(f) ? BLOCK_FIRST : cap;
}

/* Under the lock. */
static void
take(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at, uint32_t *got)
{
	*filled = window_add(&f->window, p, n, block_bytes(f), at, got);
	wake_readers(f);
}

/* Too large to be kept whole, or there is too much of everything: a window from now on. */
static bool
outgrows(const struct flight *f, size_t n)
{
	const struct flights_options *o = &f->all->o;
	uint64_t whole = f->head.body_bytes, total = f->window.total;
	return total + n > o->retain_bytes || (whole != UINT64_MAX && whole > o->retain_bytes) ||
	       (total && is_tight(f));
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

/* The window is full: of the time since it was found so, fast readers lost what they spent waiting.
 */
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
	pthread_mutex_unlock(&f->lock);
	return !full;
}

void
flight_append_now(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at,
		  uint32_t *got)
{
	pthread_mutex_lock(&f->lock);
	take(f, p, n, filled, at, got);
	pthread_mutex_unlock(&f->lock);
}

static void
finish(struct flight *f, enum flight_state state, int status, const char *word, uint64_t blame)
{
	pthread_mutex_lock(&f->lock);
	f->fail_blame = blame;
	struct flight *before = f->before;
	f->before = NULL;
	f->fail_status = status;
	f->fail_word = word;
	atomic_store_explicit(&f->state, (int)state, memory_order_release);
	wake_readers(f);
	if (f->late_count)
		wake_late(f);
	pthread_mutex_unlock(&f->lock);
	if (state == FLIGHT_FAILED)
		tell_overtaken(before, false);
	else
		flight_unref(&before);
}

void
flight_end(struct flight *f, struct object *stored)
{
	f->stored = stored; /* read only once the state says so */
	finish(f, FLIGHT_WHOLE, 0, NULL, 0);
}

struct object *
flight_stored(struct flight *f)
{
	assert(flight_state(f) == FLIGHT_WHOLE);
	return f->stored;
}

void
flight_fail(struct flight *f, int status, const char *word, uint64_t blame)
{
	finish(f, FLIGHT_FAILED, status, word, blame);
}

void
flight_want(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	f->wanted = true;
	pthread_mutex_unlock(&f->lock);
}

bool
flight_is_wanted(struct flight *f)
{
	return atomic_load(&f->wanted);
}

bool
flight_awaits_reader(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	bool here = f->reader_count > 0;
	f->awaits_reader = !here;
	pthread_mutex_unlock(&f->lock);
	return here;
}

int64_t
flight_begun_ms(const struct flight *f)
{
	return f->begun_ms;
}

unsigned
flight_readers(struct flight *f)
{
	return atomic_load(&f->reader_count);
}

void
flight_count(struct flight_reader *r)
{
	atomic_fetch_add(&r->flight->follower_count, 1);
}

unsigned
flight_followers(struct flight *f)
{
	return atomic_load(&f->follower_count);
}

/* ---- readers' view ------------------------------------------------------------------------- */

enum flight_state
flight_state(struct flight *f)
{
	return (enum flight_state)atomic_load_explicit(&f->state, memory_order_acquire);
}

const struct flight_head *
flight_head(struct flight *f)
{
	return &f->head;
}

void
flight_failure(struct flight *f, int *status, const char **word, uint64_t *blame)
{
	pthread_mutex_lock(&f->lock);
	*blame = f->fail_blame;
	*status = f->fail_status;
	*word = f->fail_word;
	pthread_mutex_unlock(&f->lock);
}

bool
flight_is_overtaken(struct flight *f)
{
	return atomic_load(&f->overtaken);
}

void
flight_read_interim(struct flight_reader *r, struct buf *out)
{
	struct flight *f = r->flight;
	if (atomic_load_explicit(&f->interim_bytes, memory_order_acquire) == r->interim_at)
		return; /* nearly always */
	pthread_mutex_lock(&f->lock);
	buf_add(out, f->interim.p + r->interim_at, f->interim.n - r->interim_at);
	r->interim_at = f->interim.n;
	pthread_mutex_unlock(&f->lock);
}

/* What becomes of a reader that was left behind. */
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
		arm(r);
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
