/* flights.c - the flights in the air by their keys: who leads, who joins. */
#include "proxy/cache/flight/flight_inside.h"

#include "filter/hash_equal.h"
#include "proxy/base/clock.h"
#include "proxy/cache/cache_forget.h"

#include <assert.h>
#include <stdlib.h>

/* A block is let go when it is full: the window must outlast the one that is being filled. */
enum { WINDOW_LEAST = 256 << 10 };

/* Beside a fetch that hangs there are 1, 1, 2, 2, 4, 4, 8, 8, 8, ... tries, a patience apart: whoever
 * makes the origin hang on purpose, with many requests, holds up the others for a few patiences; and
 * an origin that is slow for all does not get what all of them ask for at once. */
enum { ROUNDS_MOST = 6 };

struct flights *
flights_create(const struct flights_options *o)
{
	struct flights *fs = NULL;
	assert(o->window_bytes >= WINDOW_LEAST);
	if (posix_memalign((void **)&fs, 64, sizeof *fs))
		abort();
	memset(fs, 0, sizeof *fs);
	fs->o = *o;
	for (int i = 0; i < FLIGHT_SHARDS; i++)
		pthread_mutex_init(&fs->shards[i].lock, NULL);
	return fs;
}

void
flights_destroy(struct flights **fs)
{
	if (!*fs)
		return;
	for (int i = 0; i < FLIGHT_SHARDS; i++) {
		assert(!(*fs)->shards[i].first);
		for (struct flight *f; (f = flight_take_spare(&(*fs)->shards[i])) != NULL;)
			flight_destroy(&f);
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

static struct flight **
find(struct flight_shard *s, struct twice_key_hash hash, struct str key)
{
	struct flight **at = &s->first;
	while (*at) {
		struct flight *f = *at;
		if (key_hash_equal(f->hash, hash) && str_eq(buf_str(&f->key), key))
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
	assert(f->in_table); /* the table's reference goes once */
	*at = f->next;
	f->next = NULL;
	f->in_table = false;
	return f;
}

static struct flight *
put_in(struct flights *fs, struct flight_shard *s, struct twice_key_hash hash, struct str key,
       int64_t now_ms)
{
	struct flight *f = flight_create(fs, flight_take_spare(s), hash, key, 0, now_ms);
	f->next = s->first;
	s->first = flight_ref(f); /* the table's */
	f->in_table = true;
	return f;
}

/* Nothing that covers its key was forgotten since it began. */
static bool
is_clean(const struct flight *f)
{
	struct cache *c = f->all->o.cache;
	bool waits = atomic_load_explicit(&f->state, memory_order_acquire) == FLIGHT_WAITING;
	struct str tags = waits ? (struct str){NULL, 0} : buf_str(&f->head.tags);
	return !c || cache_is_clean(c, f->hash, buf_str(&f->key), tags, f->begun);
}

bool
flights_is_clean(const struct flight *f)
{
	return is_clean(f);
}

static bool
may_join(struct flight *f)
{
	int state = atomic_load(&f->state);
	return state != FLIGHT_FAILED && f->window.base == 0 && is_clean(f);
}

bool
flights_enter(struct flights *fs, struct twice_key_hash hash, struct str key, struct mailbox *home,
	      flight_wake_fn *wake, void *ctx, int64_t now_ms, struct flight_reader **reader)
{
	struct flight_shard *s = flight_shard_of(fs, hash);
	struct flight *gone = NULL, *f;
	bool lead = true, drips = false;
	*reader = NULL;
	pthread_mutex_lock(&s->lock);
	struct flight **at = find(s, hash, key);
	if (*at) {
		f = *at;
		pthread_mutex_lock(&f->lock);
		drips = flight_is_dripping(f, now_ms, FLIGHT_DRIP_MS);
		if (may_join(f) && !drips) {
			*reader = flight_seat(f, home, wake, ctx);
			lead = false;
		}
		flight_unlock(f);
		if (lead)
			gone = take_out(at);
	}
	if (lead) {
		f = put_in(fs, s, hash, key, now_ms);
		f->rival.before = drips ? flight_ref(gone) : NULL; /* others still wait for that one */
		*reader =
			flight_seat(f, home, wake, ctx); /* nobody else knows it before we unlock */
		flight_unref(&f); /* the reader's and the table's references stay */
	}
	flight_shard_unlock(s);
	flight_unref(&gone);
	return lead;
}

/* Under the flight's lock: what it brings is kept. */
static bool
is_kept(struct flight *f)
{
	return flight_state(f) == FLIGHT_ARRIVING && f->head.kept && is_clean(f);
}

/* Its beginning is gone, and at its pace the end comes within most_ms. */
static bool
ends_soon(struct flight *f, int64_t now_ms, int64_t most_ms)
{
	uint64_t whole = f->head.body_bytes, total = f->window.total;
	if (f->window.base == 0 || whole == UINT64_MAX)
		return false;
	double so_far_ms = (double)(now_ms - f->begun_ms);
	return so_far_ms * (double)(whole - total) <= (double)most_ms * (double)total;
}

struct flight_reader *
flights_wait(struct flights *fs, struct twice_key_hash hash, struct str key, struct mailbox *home,
	     flight_wake_fn *wake, void *ctx, int64_t now_ms, int64_t most_ms)
{
	struct flight_shard *s = flight_shard_of(fs, hash);
	struct flight_reader *r = NULL;
	pthread_mutex_lock(&s->lock);
	struct flight *f = *find(s, hash, key);
	if (f) {
		pthread_mutex_lock(&f->lock);
		if (is_kept(f) && ends_soon(f, now_ms, most_ms))
			r = flight_seat_late(f, home, wake, ctx);
		flight_unlock(f);
	}
	flight_shard_unlock(s);
	return r;
}

struct flight_reader *
flight_wait(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = NULL;
	pthread_mutex_lock(&f->lock);
	if (is_kept(f))
		r = flight_seat_late(f, home, wake, ctx);
	flight_unlock(f);
	return r;
}

/* Whether one more fetch may begin beside f now. */
static bool
takes_try(struct flight *f, int64_t now_ms, int64_t patience_ms)
{
	pthread_mutex_lock(&f->lock);
	bool waits = flight_state(f) == FLIGHT_WAITING
			     ? !f->rival.overtaken
			     : !f->rival.after && flight_is_dripping(f, now_ms, patience_ms);
	if (waits && now_ms >= f->rival.next_try_ms) {
		f->rival.tries_left = 1u << f->rival.rounds / 2;
		f->rival.rounds += f->rival.rounds < ROUNDS_MOST;
		f->rival.next_try_ms = now_ms + patience_ms;
	}
	bool may = waits && f->rival.tries_left > 0;
	f->rival.tries_left -= may;
	pthread_mutex_unlock(&f->lock);
	return may;
}

struct flight_reader *
flights_try_beside(struct flights *fs, const struct flight_reader *old, int64_t now_ms,
		   int64_t patience_ms)
{
	struct flight_reader *r = NULL;
	struct flight *slow = old->flight, *gone = NULL;
	struct str key = buf_str(&slow->key);
	struct flight_shard *s = flight_shard_of(fs, slow->hash);
	pthread_mutex_lock(&s->lock);
	bool may = key.n && takes_try(slow, now_ms, patience_ms);
	if (may) {
		struct flight **at = find(s, slow->hash, key);
		if (*at)
			gone = take_out(at);
		struct flight *f = put_in(fs, s, slow->hash, key, now_ms);
		/* The replaced flight may itself have overtaken the slow one. */
		f->rival.before = flight_ref(gone && gone->rival.before ? gone : slow);
		pthread_mutex_lock(&f->lock);
		r = flight_seat(f, old->home, old->wake, old->ctx);
		flight_unlock(f);
		flight_unref(&f);
	}
	flight_shard_unlock(s);
	flight_unref(&gone);
	return r;
}

bool
flights_overtake(struct flights *fs, struct flight_reader **reader, int64_t now_ms,
		 int64_t patience_ms)
{
	struct flight_reader *r = flights_try_beside(fs, *reader, now_ms, patience_ms);
	if (!r)
		return false;
	flight_leave(reader);
	*reader = r;
	return true;
}

bool
flights_has(struct flights *fs, struct twice_key_hash hash, struct str key)
{
	struct flight_shard *s = flight_shard_of(fs, hash);
	pthread_mutex_lock(&s->lock);
	struct flight *f = *find(s, hash, key);
	bool there = f && is_clean(f);
	flight_shard_unlock(s);
	return there;
}

struct flight *
flights_lead(struct flights *fs, struct twice_key_hash hash, struct str key, int64_t now_ms)
{
	struct flight_shard *s = flight_shard_of(fs, hash);
	struct flight *f = NULL, *gone = NULL;
	pthread_mutex_lock(&s->lock);
	struct flight **at = find(s, hash, key);
	if (*at && !is_clean(*at))
		gone = take_out(at);
	if (!*find(s, hash, key))
		f = put_in(fs, s, hash, key, now_ms);
	flight_shard_unlock(s);
	flight_unref(&gone);
	return f;
}

struct flight_reader *
flights_enter_alone(struct flights *fs, uint64_t at, struct mailbox *home, flight_wake_fn *wake,
		    void *ctx, int64_t now_ms)
{
	/* Each worker has a shard of its own for the spares. */
	struct twice_key_hash nobody = {.hi = (uintptr_t)home / sizeof *home};
	struct flight_shard *s = flight_shard_of(fs, nobody);
	pthread_mutex_lock(&s->lock);
	struct flight *spare = flight_take_spare(s);
	flight_shard_unlock(s);
	struct flight *f = flight_create(fs, spare, nobody, STR(""), at, now_ms);
	pthread_mutex_lock(&f->lock);
	struct flight_reader *r = flight_seat(f, home, wake, ctx);
	flight_unlock(f);
	flight_unref(&f);
	return r;
}

void
flights_close(struct flight *f)
{
	struct flight_shard *s = flight_shard_of(f->all, f->hash);
	struct flight *gone = NULL;
	if (!atomic_load(&f->in_table))
		return;
	pthread_mutex_lock(&s->lock);
	if (f->in_table) {
		struct flight **at = &s->first;
		while (*at != f)
			at = &(*at)->next;
		gone = take_out(at);
	}
	flight_shard_unlock(s);
	flight_unref(&gone);
}
