/* forget_bound.c - the time, what must hold of it, and how many entries are kept: what is outlived
 * goes, and then the older half. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

#include <assert.h>
#include <stdlib.h>

static const uint64_t PASSING_ENTRIES = 1 << 16, UNORDERED_ENTRIES = 1 << 18;

uint64_t
forget_now(const struct forget *f)
{
	return atomic_load_explicit(&f->newest, memory_order_acquire);
}

void
forget_check(const struct forget *f)
{
	uint64_t floor = atomic_load(&f->floor); /* first: both only grow */
	assert(floor <= atomic_load(&f->fetch_floor) && floor <= forget_now(f));
	assert(f->durable <= f->tried && f->tried <= forget_now(f));
	assert(f->queue.pending.n <= f->queue.pending.room &&
	       (f->queue.pending.of != NULL) == (f->queue.pending.room > 0));
	assert(f->queue.gathered.n <= f->queue.gathered.room &&
	       (!f->queue.gathered.n || (!f->resting && !f->heir)));
	assert(!f->heir || (!f->resting && !f->anew)); /* whoever has one writes no log */
	assert(f->starts < FORGET_STARTS_MOST && forget_now(f) >> FORGET_STARTS_SHIFT == f->starts);
}

static void
raise_to(_Atomic uint64_t *p, uint64_t to)
{
	uint64_t was = atomic_load(p);
	while (was < to && !atomic_compare_exchange_weak(p, &was, to))
		continue;
}

void
forget_raise_fetch_floor(struct forget *f, uint64_t to)
{
	raise_to(&f->fetch_floor, to);
}

void
forget_raise_floor(struct forget *f, uint64_t to)
{
	raise_to(&f->fetch_floor, to);
	raise_to(&f->floor, to);
}

/* Into the table, and the hints. */
void
forget_enter(struct forget *f, const struct purge_entry *e, uint32_t host, bool lasting)
{
	if (e->kind == FORGET_ALL && !(e->flags & FORGET_SOFT)) {
		forget_raise_floor(f, e->at);
		return;
	}
	forget_table_put(f->table, e, host, lasting);
	forget_hints_note(&f->hints, e);
	if (f->fresh)
		forget_hints_note(f->fresh, e);
}

uint64_t
forget_unordered_room(const struct forget *f)
{
	uint64_t ordered = forget_table_count(f->table, FORGET_CLASS_ORDERED);
	uint64_t least = f->max_entries / 4;
	return ordered < f->max_entries - least ? f->max_entries - ordered : least;
}

/* How many of a class are kept: of what was ordered so many as the log has room for; of what clients' requests
 * changed more, so that no client makes the others' pages be forgotten; those that are only for fetches under way
 * apart, so that a small log does not shed the fetches. */
static uint64_t
most_of(const struct forget *f, enum forget_class class)
{
	uint64_t most = f->max_entries;
	switch (class) {
	case FORGET_CLASS_PASSING:
		return PASSING_ENTRIES;
	case FORGET_CLASS_UNORDERED:
		return most > UNORDERED_ENTRIES ? most : UNORDERED_ENTRIES;
	default:
		return most;
	}
}

bool
forget_is_beyond(const struct forget *f, enum forget_class class, unsigned quarters)
{
	return forget_table_count(f->table, class) >= most_of(f, class) / 4 * quarters;
}

bool
forget_is_crowded(const struct forget *f, unsigned quarters)
{
	for (int class = 0; class < FORGET_CLASSES; class ++)
		if (forget_is_beyond(f, class, quarters))
			return true;
	return false;
}

struct purge_entry
forget_all_softly(uint64_t at, uint32_t since_s)
{
	return (struct purge_entry){.at = at,
				    .hash = forget_softly((struct twice_key_hash){0}),
				    .kind = FORGET_ALL,
				    .flags = FORGET_SOFT,
				    .when_s = since_s};
}

/* Entries that come before the thread has merged what was there are borne for a while: of one order there may be
 * thousands. */
static bool
is_overrun(const struct forget *f, enum forget_class class)
{
	uint64_t most = most_of(f, class);
	uint64_t more = class == FORGET_CLASS_ORDERED ? most + (1 << 15) : 0;
	return forget_table_count(f->table, class) >= most + more && f->recent >= most / 2;
}

/* Under the lock: work for the thread, when there are too many entries; if it does not keep up,
 * everything is forgotten at once. */
void
forget_mind_the_bound(struct forget *f, uint64_t now)
{
	int class = FORGET_CLASSES;
	f->recent++;
	while (class --&&!is_overrun(f, (enum forget_class) class))
		continue;
	if (class == FORGET_CLASS_ORDERED) {
		forget_raise_floor(f, now);
		atomic_fetch_add(&f->shed, forget_table_count(f->table, class));
	} else if (class == FORGET_CLASS_UNORDERED) {
		struct purge_entry all = forget_all_softly(now, (uint32_t)now_s());
		forget_enter(f, &all, 0, true);
	} else if (class == FORGET_CLASS_PASSING) {
		raise_to(&f->fetch_floor, now);
	}
	if (class >= 0)
		f->recent = 0;
	bool warns = !f->warned && forget_is_beyond(f, FORGET_CLASS_ORDERED, 2);
	if (warns || forget_is_crowded(f, 3))
		f->crowded = true;
}

int
forget_by_time(const void *pa, const void *pb)
{
	const struct purge_entry *a = pa, *b = pb;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The hints are built anew, for what is in the table. Whoever forgets meanwhile notes it in both. */
void
forget_build_hints(struct forget *f)
{
	struct forget_hints fresh;
	forget_hints_init(&fresh, f->max_entries);
	pthread_mutex_lock(&f->lock);
	f->fresh = &fresh;
	pthread_mutex_unlock(&f->lock);
	for (int class = 0; class < FORGET_CLASSES; class ++) {
		struct purge_entry *list;
		size_t n = forget_table_list(f->table, class, &list);
		for (size_t i = 0; i < n; i++)
			forget_hints_note(&fresh, &list[i]);
		free(list);
	}
	pthread_mutex_lock(&f->lock);
	f->fresh = NULL;
	forget_hints_replace(&f->hints, &fresh);
	pthread_mutex_unlock(&f->lock);
	forget_hints_fini(&fresh);
}

/* Entries older than all records on disk need not be kept. Objects in RAM that nobody asked for
 * since then are lost with them: that is why this waits until room is needed. */
void
forget_drop_outlived(struct forget *f)
{
	uint64_t oldest = f->oldest ? f->oldest(f->oldest_ctx) : forget_now(f), now = forget_now(f);
	oldest = oldest < now ? oldest : now;
	if (oldest <= atomic_load(&f->floor))
		return;
	forget_raise_floor(f, oldest);
	forget_table_drop(f->table, (uint64_t[FORGET_CLASSES]){oldest, oldest, oldest});
	forget_build_hints(f);
}
