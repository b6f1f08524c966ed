/* flight_seat.c - who leads and who reads a flight, and the letters by
 * which they are told of news. */
#include "proxy/cache/flight/flight_inside.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

/* Under the lock: from now on a wake reaches r. */
void
flight_arm(struct flight_reader *r)
{
	struct flight *f = r->flight;
	if (r->armed || r->posted || r->left)
		return;
	r->armed = true;
	TAILQ_REMOVE(&f->busy, r, link);
	TAILQ_INSERT_TAIL(&f->armed, r, link);
}

bool
flight_awaits(struct flight_reader *r, uint64_t bytes)
{
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	bool over = flight_state(f) != FLIGHT_ARRIVING || f->window.total >= bytes;
	if (!over)
		flight_arm(r);
	pthread_mutex_unlock(&f->lock);
	return over;
}

/* The last of a reader. */
void
flight_leave_seat(struct flight_reader *r)
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
	assert(r->posted && !r->armed); /* else it would be freed twice, or never */
	r->posted = false;
	bool left = r->left;
	/* Before the head nobody asks for more by flight_read. */
	if (!left && flight_state(f) == FLIGHT_WAITING)
		flight_arm(r);
	pthread_mutex_unlock(&f->lock);
	if (!left) {
		r->wake(r->ctx);
		return;
	}
	flight_leave_seat(r);
}

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
		flight_wake_leader(f);
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

void
flight_doubt(struct flight_reader *r)
{
	struct flight *f = r->flight;
	pthread_mutex_lock(&f->lock);
	f->doubted_count += !r->doubted;
	r->doubted = true;
	if (f->reader_count == f->doubted_count)
		flight_wake_leader(f);
	flight_unlock(f);
}

bool
flight_is_doubted(struct flight *f)
{
	if (atomic_load_explicit(&f->doubted_count, memory_order_relaxed) == 0)
		return false; /* nearly always */
	pthread_mutex_lock(&f->lock);
	bool doubted = f->reader_count && f->reader_count == f->doubted_count;
	pthread_mutex_unlock(&f->lock);
	return doubted;
}

/* f drips too: the next of those who read g may try at once. */
static void
forget_after(struct flight *g, struct flight *f)
{
	struct flight *gone = NULL;
	pthread_mutex_lock(&g->lock);
	if (g->rival.after == f) {
		gone = g->rival.after;
		g->rival.after = NULL;
		g->rival.overtaken = false;
		g->rival.tries_left++;
	}
	flight_unlock(g);
	flight_unref(&gone);
}

struct flight_reader *
flight_join_after(const struct flight_reader *r, int64_t now_ms, int64_t patience_ms)
{
	struct flight *g = r->flight;
	struct flight_reader *joined = NULL;
	pthread_mutex_lock(&g->lock);
	struct flight *f = g->rival.after ? flight_ref(g->rival.after) : NULL;
	pthread_mutex_unlock(&g->lock);
	if (!f)
		return NULL;
	pthread_mutex_lock(&f->lock);
	bool drips = flight_is_dripping(f, now_ms, patience_ms);
	if (flight_state(f) != FLIGHT_FAILED && f->window.base == 0 && !drips)
		joined = flight_seat(f, r->home, r->wake, r->ctx);
	flight_unlock(f);
	if (drips)
		forget_after(g, f);
	flight_unref(&f);
	return joined;
}

struct flight_reader *
flight_seat_late(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx)
{
	struct flight_reader *r = new_seat(f, home, wake, ctx);
	assert(window_lost(&f->window, &r->mark)); /* it is at no piece */
	r->late = true;
	f->late_count++;
	TAILQ_INSERT_TAIL(&f->busy, r, link);
	return r;
}

/* Only those who wait for it: what the others do next shows them the news. */
void
flight_wake_readers(struct flight *f)
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
void
flight_wake_late(struct flight *f)
{
	struct flight_reader *r;
	TAILQ_FOREACH (r, &f->busy, link) {
		if (!r->late || r->posted)
			continue;
		r->posted = true;
		mailbox_post(r->home, &r->letter);
	}
}

static void
open_leader(struct letter *letter)
{
	struct flight_leader *l = (struct flight_leader *)letter;
	struct flight *f = l->flight;
	pthread_mutex_lock(&f->lock);
	assert(l->posted);
	l->posted = false;
	bool leads = l->home != NULL;
	pthread_mutex_unlock(&f->lock);
	if (leads)
		l->wake(l->ctx);
	flight_unref(&f);
}

/* Under the flight's lock. */
void
flight_wake_leader(struct flight *f)
{
	struct flight_leader *l = &f->leader;
	if (!l->home || l->posted)
		return;
	l->posted = true;
	l->flight = flight_ref(f);
	mailbox_post(l->home, &l->letter);
}

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
