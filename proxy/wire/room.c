/* room.c - a number for each worker, and clients on their way from one worker to another. */
#include "proxy/wire/room.h"

#include "proxy/base/mailbox.h"
#include "proxy/base/mem.h"
#include "proxy/wire/listener.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a worker said, as one number that orders: the rank above the time. */
enum { TIME_BITS = 56, ON_THEIR_WAY_MOST = 256 };
static const int64_t nothing = (int64_t)ROOM_NONE << TIME_BITS;

struct place {
	_Alignas(64) _Atomic int64_t said;
	_Atomic unsigned on_their_way; /* clients handed over, not arrived */
	struct wire *wire;	       /* its worker's; NULL once it left */
	room_arrive_fn *arrive;
	struct mailbox *mailbox;
};

struct room {
	struct place *places;
	unsigned count;
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
	for (unsigned i = 0; i < workers; i++)
		atomic_init(&r->places[i].said, nothing);
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
}

void
room_leave(struct room *r, unsigned worker)
{
	r->places[worker].wire = NULL;
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

static void
arrive(struct letter *l)
{
	struct newcomer *n = (struct newcomer *)((char *)l - offsetof(struct newcomer, letter));
	atomic_fetch_sub(&n->to->on_their_way, 1);
	if (n->to->wire)
		n->to->arrive(n->to->wire, &n->client);
	else
		close(n->client.fd);
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
