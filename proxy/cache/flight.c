/* flight.c - the table of flights, and the shared stream inside each.
 *
 * Lock order: shard, then flight. Wakes are posted under the flight's lock, so that a reader that
 * leaves knows for certain whether a letter of its own is still under way; the letter then frees
 * it.
 */
#include "proxy/cache/flight.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	SHARDS = 64,
	BLOCK_FIRST = 16 << 10,
	BLOCK_NEXT = 64 << 10,
	BLOCK_EXACT = 256 << 10,
	WINDOW_TIGHT = 64 << 10
};

struct flight_reader {
	struct letter letter; /* first: the letter is the reader */
	struct flight *flight;
	struct mailbox *home;
	flight_wake_fn *wake;
	void *ctx;
	uint64_t at;	   /* bytes before are released */
	size_t interim_at; /* of flight->interim */
	bool posted;	   /* under the flight's lock */
	bool left;
	struct flight_reader *next, **prev;
};

struct leader { /* counted by its letter: heap, so that a late wake finds it */
	struct letter letter;
	struct flight *flight; /* a reference, while posted */
	struct mailbox *home;
	flight_wake_fn *wake;
	void *ctx;
	bool posted, left;
};

struct piece {
	uint64_t at;
	struct block *block;
};

struct flight {
	_Atomic unsigned refs;
	struct flights *all;
	struct key_hash hash;
	char *key;
	size_t key_bytes;
	uint64_t begun;	     /* cache_now() */
	struct flight *next; /* in the shard */
	bool in_table;	     /* under the shard's lock */

	pthread_mutex_t lock;
	_Atomic int state;
	struct flight_head head;
	struct buf interim;
	int fail_status;
	const char *fail_word;
	struct flight_reader *readers;
	unsigned reader_count, follower_count;
	struct leader *leader;
	bool leader_waits;

	struct piece *pieces; /* ring-less: a deque in an array, first at pieces[first] */
	unsigned first, count, cap;
	uint64_t base;	/* offset of the first byte still held */
	uint64_t total; /* bytes appended */
	bool windowed;	/* some bytes were let go or may be */
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct flight *first;
};

struct flights {
	struct flights_options o;
	_Atomic uint64_t bytes, count;
	struct shard shards[SHARDS];
};

/* ---- table --------------------------------------------------------------------------------- */

struct flights *
flights_create(const struct flights_options *o)
{
	struct flights *fs = NULL;
	/* A block is let go when it is full: the window must outlast the one that is being filled.
	 */
	assert(o->window_bytes >= 4 * BLOCK_NEXT);
	if (posix_memalign((void **)&fs, 64, sizeof *fs))
		abort();
	memset(fs, 0, sizeof *fs);
	fs->o = *o;
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&fs->shards[i].lock, NULL);
	return fs;
}

void
flights_destroy(struct flights **fs)
{
	if (!*fs)
		return;
	for (int i = 0; i < SHARDS; i++) {
		assert(!(*fs)->shards[i].first);
		pthread_mutex_destroy(&(*fs)->shards[i].lock);
	}
	free(*fs);
	*fs = NULL;
}

uint64_t
flights_retain_bytes(const struct flights *fs)
{
	return fs->o.retain_bytes;
}

void
flights_count(struct flights *fs, uint64_t *flights, uint64_t *bytes)
{
	*flights = atomic_load(&fs->count);
	*bytes = atomic_load(&fs->bytes);
}

static struct shard *
shard_of(struct flights *fs, struct key_hash h)
{
	return &fs->shards[h.hi % SHARDS];
}

static struct flight *
flight_new(struct flights *fs, struct key_hash hash, struct str key)
{
	struct flight *f = NEW(struct flight);
	atomic_init(&f->refs, 1);
	f->all = fs;
	f->hash = hash;
	f->key = mem_strndup(key.p, key.n);
	f->key_bytes = key.n;
	f->begun = fs->o.cache ? cache_now(fs->o.cache) : 0;
	pthread_mutex_init(&f->lock, NULL);
	atomic_fetch_add_explicit(&fs->count, 1, memory_order_relaxed);
	return f;
}

static void
drop_pieces(struct flight *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct piece *p = &f->pieces[f->first + i];
		f->base = p->at + p->block->n;
		atomic_fetch_sub_explicit(&f->all->bytes, p->block->cap, memory_order_relaxed);
		block_unref(&p->block);
	}
	f->first += n;
	f->count -= n;
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
	assert(!f->readers && !f->leader);
	drop_pieces(f, f->count);
	atomic_fetch_sub_explicit(&f->all->count, 1, memory_order_relaxed);
	free(f->pieces);
	buf_fini(&f->head.head);
	buf_fini(&f->head.asker);
	buf_fini(&f->head.vary);
	buf_fini(&f->head.variant);
	object_unref(&f->head.object);
	buf_fini(&f->interim);
	pthread_mutex_destroy(&f->lock);
	free(f->key);
	free(f);
}

static struct flight **
find(struct shard *s, struct key_hash hash, struct str key)
{
	struct flight **at = &s->first;
	while (*at) {
		struct flight *f = *at;
		if (f->hash.lo == hash.lo && f->hash.hi == hash.hi &&
		    str_eq((struct str){f->key, f->key_bytes}, key))
			break;
		at = &f->next;
	}
	return at;
}

/* Takes the flight at *at out of the shard's list; the table's reference is the caller's. */
static struct flight *
take_out(struct flight **at)
{
	struct flight *f = *at;
	*at = f->next;
	f->next = NULL;
	f->in_table = false;
	return f;
}

static struct flight *
put_in(struct flights *fs, struct shard *s, struct key_hash hash, struct str key)
{
	struct flight *f = flight_new(fs, hash, key);
	f->next = s->first;
	s->first = flight_ref(f); /* the table's */
	f->in_table = true;
	return f;
}

/* ---- readers ------------------------------------------------------------------------------- */

static void
open_reader(struct letter *l)
{
	struct flight_reader *r = (struct flight_reader *)l;
	pthread_mutex_lock(&r->flight->lock);
	r->posted = false;
	bool left = r->left;
	pthread_mutex_unlock(&r->flight->lock);
	if (!left) {
		r->wake(r->ctx);
		return;
	}
	flight_unref(&r->flight);
	free(r);
}

/* Under the flight's lock. Takes a reference of its own. */
static struct flight_reader *
add_reader(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = NEW(struct flight_reader);
	r->letter.open = open_reader;
	r->flight = flight_ref(f);
	r->home = home;
	r->wake = wake;
	r->ctx = ctx;
	r->interim_at = f->interim.n;
	r->next = f->readers;
	r->prev = &f->readers;
	if (r->next)
		r->next->prev = &r->next;
	f->readers = r;
	f->reader_count++;
	return r;
}

static bool
is_clean(const struct flight *f)
{
	struct cache *c = f->all->o.cache;
	return !c || cache_is_clean(c, f->hash, (struct str){f->key, f->key_bytes}, f->begun);
}

static bool
may_join(struct flight *f)
{
	int state = atomic_load(&f->state);
	return state != FLIGHT_FAILED && f->base == 0 && is_clean(f);
}

bool
flight_enter(struct flights *fs, struct key_hash hash, struct str key, struct mailbox *home,
	     flight_wake_fn *wake, void *ctx, struct flight_reader **reader)
{
	struct shard *s = shard_of(fs, hash);
	struct flight *gone = NULL, *f;
	bool lead = true;
	*reader = NULL;
	pthread_mutex_lock(&s->lock);
	struct flight **at = find(s, hash, key);
	if (*at) {
		f = *at;
		pthread_mutex_lock(&f->lock);
		if (may_join(f)) {
			*reader = add_reader(f, home, wake, ctx);
			f->follower_count++;
			lead = false;
		}
		pthread_mutex_unlock(&f->lock);
		if (lead)
			gone = take_out(at);
	}
	if (lead) {
		f = put_in(fs, s, hash, key);
		pthread_mutex_lock(&f->lock);
		*reader = add_reader(f, home, wake, ctx);
		pthread_mutex_unlock(&f->lock);
		flight_unref(&f); /* the reader's and the table's references stay */
	}
	pthread_mutex_unlock(&s->lock);
	flight_unref(&gone);
	return lead;
}

bool
flight_is_there(struct flights *fs, struct key_hash hash, struct str key)
{
	struct shard *s = shard_of(fs, hash);
	pthread_mutex_lock(&s->lock);
	struct flight *f = *find(s, hash, key);
	bool there = f && is_clean(f);
	pthread_mutex_unlock(&s->lock);
	return there;
}

struct flight *
flight_lead(struct flights *fs, struct key_hash hash, struct str key)
{
	struct shard *s = shard_of(fs, hash);
	struct flight *f = NULL, *gone = NULL;
	pthread_mutex_lock(&s->lock);
	struct flight **at = find(s, hash, key);
	if (*at && !is_clean(*at))
		gone = take_out(at);
	if (!*find(s, hash, key))
		f = put_in(fs, s, hash, key);
	pthread_mutex_unlock(&s->lock);
	flight_unref(&gone);
	return f;
}

struct flight_reader *
flight_enter_alone(struct flights *fs, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight *f = flight_new(fs, (struct key_hash){0}, STR(""));
	pthread_mutex_lock(&f->lock);
	struct flight_reader *r = add_reader(f, home, wake, ctx);
	pthread_mutex_unlock(&f->lock);
	flight_unref(&f);
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
	struct leader *l = (struct leader *)letter;
	struct flight *f = l->flight;
	pthread_mutex_lock(&f->lock);
	l->posted = false;
	bool left = l->left;
	pthread_mutex_unlock(&f->lock);
	if (!left)
		l->wake(l->ctx);
	else
		free(l);
	flight_unref(&f);
}

/* Under the flight's lock. */
static void
wake_leader(struct flight *f)
{
	struct leader *l = f->leader;
	if (!l || l->posted)
		return;
	l->posted = true;
	l->flight = flight_ref(f);
	mailbox_post(l->home, &l->letter);
}

static void
wake_readers(struct flight *f)
{
	for (struct flight_reader *r = f->readers; r; r = r->next)
		if (!r->posted) {
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

/* What the slowest reader is done with. */
static uint64_t
slowest(const struct flight *f)
{
	uint64_t least = f->total;
	for (const struct flight_reader *r = f->readers; r; r = r->next)
		if (r->at < least)
			least = r->at;
	return least;
}

/* Lets go what every reader is done with, once the body is too large to be kept; tells a waiting
 * leader when that made room. Under the lock. */
static void
trim(struct flight *f)
{
	if (!f->windowed)
		return;
	uint64_t least = slowest(f);
	unsigned n = 0;
	while (n < f->count) {
		struct piece *p = &f->pieces[f->first + n];
		bool open = n + 1 == f->count && p->block->n < p->block->cap;
		if (open || p->at + p->block->n > least)
			break;
		n++;
	}
	drop_pieces(f, n);
	if (f->leader_waits && f->total - least <= window(f) / 2) {
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
	*r->prev = r->next;
	if (r->next)
		r->next->prev = r->prev;
	r->left = true;
	f->reader_count--;
	trim(f);
	if (f->reader_count == 0)
		wake_leader(f);
	bool posted = r->posted;
	pthread_mutex_unlock(&f->lock);
	if (posted)
		return; /* open_reader will free it */
	flight_unref(&r->flight);
	free(r);
}

/* ---- leader -------------------------------------------------------------------------------- */

void
flight_set_leader(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct leader *l = NEW(struct leader);
	l->letter.open = open_leader;
	l->home = home;
	l->wake = wake;
	l->ctx = ctx;
	pthread_mutex_lock(&f->lock);
	assert(!f->leader);
	f->leader = l;
	pthread_mutex_unlock(&f->lock);
}

void
flight_drop_leader(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	struct leader *l = f->leader;
	f->leader = NULL;
	bool posted = l && l->posted;
	if (posted)
		l->left = true;
	pthread_mutex_unlock(&f->lock);
	if (!posted)
		free(l);
}

void
flight_interim(struct flight *f, struct str head)
{
	pthread_mutex_lock(&f->lock);
	if (f->interim.n + head.n <= 16 << 10) { /* more hints than that help nobody */
		buf_add_str(&f->interim, head);
		wake_readers(f);
	}
	pthread_mutex_unlock(&f->lock);
}

void
flight_publish(struct flight *f, struct flight_head *head)
{
	pthread_mutex_lock(&f->lock);
	assert(atomic_load(&f->state) == FLIGHT_WAITING);
	f->head = *head;
	*head = (struct flight_head){0};
	atomic_store_explicit(&f->state, FLIGHT_ARRIVING, memory_order_release);
	wake_readers(f);
	pthread_mutex_unlock(&f->lock);
}

/* The block that takes the next bytes, made when the last one is full. */
static struct block *
open_block(struct flight *f)
{
	if (f->count) {
		struct block *last = f->pieces[f->first + f->count - 1].block;
		if (last->n < last->cap)
			return last;
	}
	uint64_t whole = f->head.body_bytes, left = whole - f->total;
	uint32_t cap = f->total ? BLOCK_NEXT : BLOCK_FIRST;
	if (whole != UINT64_MAX && left <= BLOCK_EXACT)
		cap = left ? (uint32_t)left : 1;
	else if (whole != UINT64_MAX)
		cap = BLOCK_NEXT;
	if (cap > BLOCK_FIRST && is_tight(f))
		cap = BLOCK_FIRST;
	if (f->first + f->count == f->cap) {
		if (f->first) {
			memmove(f->pieces, f->pieces + f->first, f->count * sizeof *f->pieces);
			f->first = 0;
		} else {
			f->cap = f->cap ? f->cap * 2 : 4;
			f->pieces = mem_realloc(f->pieces, f->cap * sizeof *f->pieces);
		}
	}
	struct block *b = block_create(cap);
	f->pieces[f->first + f->count++] = (struct piece){f->total, b};
	atomic_fetch_add_explicit(&f->all->bytes, cap, memory_order_relaxed);
	return b;
}

/* Under the lock. */
static void
take(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at, uint32_t *got)
{
	struct block *b = open_block(f);
	uint32_t room = b->cap - b->n;
	*got = n < room ? (uint32_t)n : room;
	*at = b->n;
	*filled = b;
	memcpy(b->p + b->n, p, *got);
	b->n += *got;
	f->total += *got;
	wake_readers(f);
}

/* Too large to be kept whole, or there is too much of everything: a window from now on. */
static bool
outgrows(const struct flight *f, size_t n)
{
	const struct flights_options *o = &f->all->o;
	uint64_t whole = f->head.body_bytes;
	return f->total + n > o->retain_bytes || (whole != UINT64_MAX && whole > o->retain_bytes) ||
	       (f->total && is_tight(f));
}

bool
flight_append(struct flight *f, const char *p, size_t n, struct block **filled, uint32_t *at,
	      uint32_t *got)
{
	pthread_mutex_lock(&f->lock);
	f->windowed = f->windowed || outgrows(f, n);
	trim(f);
	bool full = f->windowed && f->reader_count && f->total - slowest(f) >= window(f);
	if (full)
		f->leader_waits = true;
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
finish(struct flight *f, enum flight_state state, int status, const char *word)
{
	pthread_mutex_lock(&f->lock);
	f->fail_status = status;
	f->fail_word = word;
	atomic_store_explicit(&f->state, (int)state, memory_order_release);
	wake_readers(f);
	pthread_mutex_unlock(&f->lock);
}

void
flight_end(struct flight *f)
{
	finish(f, FLIGHT_WHOLE, 0, NULL);
}

void
flight_fail(struct flight *f, int status, const char *word)
{
	finish(f, FLIGHT_FAILED, status, word);
}

void
flight_close(struct flight *f)
{
	struct shard *s = shard_of(f->all, f->hash);
	struct flight *gone = NULL;
	pthread_mutex_lock(&s->lock);
	if (f->in_table) {
		struct flight **at = &s->first;
		while (*at != f)
			at = &(*at)->next;
		gone = take_out(at);
	}
	pthread_mutex_unlock(&s->lock);
	flight_unref(&gone);
}

unsigned
flight_readers(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	unsigned n = f->reader_count;
	pthread_mutex_unlock(&f->lock);
	return n;
}

unsigned
flight_followers(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	unsigned n = f->follower_count;
	pthread_mutex_unlock(&f->lock);
	return n;
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
flight_failure(struct flight *f, int *status, const char **word)
{
	pthread_mutex_lock(&f->lock);
	*status = f->fail_status;
	*word = f->fail_word;
	pthread_mutex_unlock(&f->lock);
}

void
flight_read_interim(struct flight_reader *r, struct buf *out)
{
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	buf_add(out, f->interim.p + r->interim_at, f->interim.n - r->interim_at);
	r->interim_at = f->interim.n;
	pthread_mutex_unlock(&f->lock);
}

/* The piece that holds offset at; base <= at < total. */
static const struct piece *
piece_at(const struct flight *f, uint64_t at)
{
	unsigned low = f->first, high = f->first + f->count;
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;
		if (f->pieces[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return &f->pieces[low];
}

enum flight_step
flight_read(struct flight_reader *r, uint64_t at, const char **p, size_t *n, struct block **block)
{
	struct flight *f = r->flight;
	enum flight_step step;
	pthread_mutex_lock(&f->lock);
	enum flight_state state = flight_state(f);
	if (at < f->base) {
		step = FLIGHT_CUT;
	} else if (at < f->total) {
		const struct piece *piece = piece_at(f, at);
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
	pthread_mutex_unlock(&f->lock);
	return step;
}

void
flight_done_until(struct flight_reader *r, uint64_t at)
{
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	r->at = at;
	trim(f);
	pthread_mutex_unlock(&f->lock);
}
