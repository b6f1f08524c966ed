/* room.c - a number for each worker, and clients on their way from one worker to another. */
#include "proxy/wire/room.h"

#include "proxy/base/mailbox.h"
#include "proxy/base/mem.h"
#include "proxy/wire/arrival.h"
#include "proxy/wire/shares.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A worker's word is one number that orders: the rank above the time. */
enum { TIME_BITS = 56, ON_THEIR_WAY_MOST = 256 };
static const int64_t nothing = (int64_t)ROOM_NONE << TIME_BITS;

struct place {
	_Alignas(64) _Atomic int64_t said;
	_Atomic size_t held;
	_Atomic int64_t looked_ms;     /* INT64_MAX: has no connections to look at */
	_Atomic unsigned on_their_way; /* clients handed over, not arrived */
	struct wire *wire;	       /* its worker's; NULL once it left */
	room_arrive_fn *arrive;
	struct mailbox *mailbox;
};

struct room {
	struct place *places;
	unsigned count;
	uint64_t seed;
	_Atomic int held[SHARES_SLOTS]; /* places of addresses */
};

struct newcomer {
	struct letter letter;
	struct place *to;
	struct arrival client;
};

struct room *
room_create(unsigned workers)
{
	struct room *r = NEW(struct room);
	r->count = workers;
	if (posix_memalign((void **)&r->places, 64, workers * sizeof *r->places))
		abort();
	memset(r->places, 0, workers * sizeof *r->places);
	for (unsigned i = 0; i < workers; i++) {
		atomic_init(&r->places[i].said, nothing);
		atomic_init(&r->places[i].looked_ms, INT64_MAX);
	}
	if (getrandom(&r->seed, sizeof r->seed, 0) != (ssize_t)sizeof r->seed || r->seed == 0)
		r->seed = (uintptr_t)r; /* an old kernel without entropy: better than a constant */
	return r;
}

void
room_destroy(struct room **rp)
{
	struct room *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	for (unsigned i = 0; i < r->count; i++)
		assert(!r->places[i].wire);
	free(r->places);
	free(r);
}

void
room_join(struct room *r, unsigned worker, struct wire *w, room_arrive_fn *arrive,
	  struct mailbox *mailbox)
{
	assert(worker < r->count && !r->places[worker].wire);
	r->places[worker].wire = w;
	r->places[worker].arrive = arrive;
	r->places[worker].mailbox = mailbox;
	room_looked(r, worker, 0);
}

void
room_leave(struct room *r, unsigned worker)
{
	r->places[worker].wire = NULL;
	room_looked(r, worker, INT64_MAX);
	atomic_store_explicit(&r->places[worker].said, nothing, memory_order_relaxed);
}

void
room_say(struct room *r, unsigned worker, enum room_rank rank, int64_t from_ms)
{
	assert(from_ms >= 0 && from_ms < (int64_t)1 << TIME_BITS);
	int64_t said = rank == ROOM_NONE ? nothing : (int64_t)rank << TIME_BITS | from_ms;
	atomic_store_explicit(&r->places[worker].said, said, memory_order_relaxed);
}

int
room_find(const struct room *r, int64_t now)
{
	const int64_t time_of = ((int64_t)1 << TIME_BITS) - 1;
	int64_t least = nothing;
	int found = -1;
	for (unsigned i = 0; i < r->count; i++) {
		int64_t said = atomic_load_explicit(&r->places[i].said, memory_order_relaxed);
		if (said >= least || (said & time_of) > now)
			continue;
		least = said;
		found = (int)i;
	}
	return found;
}

void
room_hold(struct room *r, unsigned worker, size_t bytes)
{
	atomic_store_explicit(&r->places[worker].held, bytes, memory_order_relaxed);
}

size_t
room_held(const struct room *r)
{
	size_t all = 0;
	for (unsigned i = 0; i < r->count; i++)
		all += atomic_load_explicit(&r->places[i].held, memory_order_relaxed);
	return all;
}

unsigned
room_workers(const struct room *r)
{
	return r->count;
}

uint64_t
room_seed(const struct room *r)
{
	return r->seed;
}

void
room_add_places(struct room *r, size_t slot, int places)
{
	assert(slot < SHARES_SLOTS);
	atomic_fetch_add_explicit(&r->held[slot], places, memory_order_relaxed);
}

unsigned
room_places(const struct room *r, size_t slot)
{
	int n = slot < SHARES_SLOTS ? atomic_load_explicit(&r->held[slot], memory_order_relaxed)
				    : 0;
	return n > 0 ? (unsigned)n : 0; /* a worker may be in the middle of saying anew */
}

void
room_looked(struct room *r, unsigned worker, int64_t ms)
{
	atomic_store_explicit(&r->places[worker].looked_ms, ms, memory_order_relaxed);
}

int
room_unlooked(const struct room *r, int64_t since)
{
	for (unsigned i = 0; i < r->count; i++)
		if (atomic_load_explicit(&r->places[i].looked_ms, memory_order_relaxed) < since)
			return (int)i;
	return -1;
}

static void
arrive(struct letter *l)
{
	struct newcomer *n = (struct newcomer *)((char *)l - offsetof(struct newcomer, letter));
	atomic_fetch_sub(&n->to->on_their_way, 1);
	if (n->to->wire)
		n->to->arrive(n->to->wire, &n->client);
	else
		arrival_close(&n->client);
	free(n);
}

bool
room_hand_over(struct room *r, unsigned worker, const struct arrival *a)
{
	assert(worker < r->count);
	struct place *to = &r->places[worker];
	if (atomic_fetch_add(&to->on_their_way, 1) >= ON_THEIR_WAY_MOST) {
		atomic_fetch_sub(&to->on_their_way, 1);
		return false;
	}
	struct newcomer *n = NEW(struct newcomer);
	*n = (struct newcomer){.letter = {.open = arrive}, .to = to, .client = *a};
	n->client.hops++;
	mailbox_post(to->mailbox, &n->letter);
	return true;
}
