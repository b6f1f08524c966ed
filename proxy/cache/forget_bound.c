/* forget_bound.c - the time, what must hold of it, and how many entries are kept: what is outlived
 * goes, and then the older half. */
#include "proxy/cache/forget_inside.h"

#include "proxy/base/log.h"

#include <assert.h>
#include <stdlib.h>

static const uint64_t PASSING_ENTRIES = 1 << 16;

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
	assert(f->pending_n <= f->pending_room && (f->pending != NULL) == (f->pending_room > 0));
	assert(!f->heir || (!f->resting && !f->anew)); /* whoever has one writes no log */
	assert(f->starts < FORGET_STARTS_MOST && forget_now(f) >> FORGET_STARTS_SHIFT == f->starts);
}

static void
forget_raise(_Atomic uint64_t *p, uint64_t to)
{
	uint64_t was = atomic_load(p);
	while (was < to && !atomic_compare_exchange_weak(p, &was, to))
		continue;
}

void
forget_raise_floor(struct forget *f, uint64_t to)
{
	forget_raise(&f->fetch_floor, to);
	forget_raise(&f->floor, to);
}

/* Into the table, and the hints. */
void
forget_enter(struct forget *f, const struct purge_entry *e, bool lasting)
{
	if (e->kind == FORGET_ALL && !(e->flags & FORGET_SOFT)) {
		forget_raise_floor(f, e->at);
		return;
	}
	forget_table_put(f->table, e, lasting);
	forget_hints_note(&f->hints, e);
	if (f->fresh)
		forget_hints_note(f->fresh, e);
}

/* The entries that are there, and how many there may be: those of the log by its size; those that
 * are only for fetches under way apart, so that many of them (requests that change something) shed
 * no purge, and a small log does not shed the fetches. */
struct crowd {
	uint64_t n, most;
};

static struct crowd
crowd_of(const struct forget *f, bool lasting)
{
	uint64_t kept, passing;
	forget_table_count(f->table, &kept, &passing);
	return lasting ? (struct crowd){kept, f->max_entries}
		       : (struct crowd){passing, PASSING_ENTRIES};
}

static bool
is_beyond(struct crowd c, unsigned quarters)
{
	return c.n >= c.most / 4 * quarters;
}

bool
forget_is_crowded(const struct forget *f, unsigned quarters)
{
	return is_beyond(crowd_of(f, true), quarters) || is_beyond(crowd_of(f, false), quarters);
}

/* Under the lock: work for the thread, when there are too many entries; if it does not keep up,
 * everything is forgotten at once. */
void
forget_mind_the_bound(struct forget *f, uint64_t now)
{
	struct crowd lasting = crowd_of(f, true), passing = crowd_of(f, false);
	f->recent++;
	if (is_beyond(lasting, 4) && f->recent >= lasting.most / 2) {
		forget_raise_floor(f, now);
		atomic_fetch_add(&f->shed, lasting.n);
		f->recent = 0;
	} else if (is_beyond(passing, 4) && f->recent >= passing.most / 2) {
		forget_raise(&f->fetch_floor, now);
		f->recent = 0;
	}
	if (forget_is_crowded(f, 3))
		f->crowded = true;
}

int
forget_by_time(const void *pa, const void *pb)
{
	const struct purge_entry *a = pa, *b = pb;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The time of the middle one of so many entries. */
static uint64_t
median(struct purge_entry *list, size_t n)
{
	qsort(list, n, sizeof *list, forget_by_time);
	return n ? list[n / 2].at : 0;
}

/* The hints are built anew, for what is in the table. Whoever forgets meanwhile notes it in both. */
static void
build_hints(struct forget *f)
{
	struct forget_hints fresh;
	forget_hints_init(&fresh, f->max_entries);
	pthread_mutex_lock(&f->lock);
	f->fresh = &fresh;
	pthread_mutex_unlock(&f->lock);
	for (int lasting = 0; lasting < 2; lasting++) {
		struct purge_entry *list;
		size_t n = forget_table_list(f->table, lasting, &list);
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

/* What no record on disk is older than need not be kept. What sits in RAM since then without being
 * asked for is lost with it: that is why this waits until room is needed. */
void
forget_drop_outlived(struct forget *f)
{
	uint64_t oldest = f->oldest ? f->oldest(f->oldest_ctx) : forget_now(f), now = forget_now(f);
	oldest = oldest < now ? oldest : now;
	if (oldest <= atomic_load(&f->floor))
		return;
	forget_raise_floor(f, oldest);
	forget_table_drop(f->table, oldest, oldest);
	build_hints(f);
}

/* Are all up to a time soft? They are in order. *since_s: of the earliest one. */
static bool
are_soft(const struct purge_entry *list, size_t n, uint64_t upto, uint32_t *since_s)
{
	*since_s = UINT32_MAX;
	for (size_t i = 0; i < n && list[i].at <= upto; i++) {
		if (!(list[i].flags & FORGET_SOFT))
			return false;
		*since_s = list[i].when_s < *since_s ? list[i].when_s : *since_s;
	}
	return true;
}

/* What is not clean as of then is stale: instead of all soft entries up to then. The entry's own
 * time is one later, so that it outlives them. */
static void
everything_is_stale(struct forget *f, uint64_t upto, uint32_t since_s)
{
	struct purge_entry e = {.at = upto + 1,
				.hash = forget_softly((struct twice_key_hash){0}),
				.kind = FORGET_ALL,
				.flags = FORGET_SOFT,
				.when_s = since_s};
	pthread_mutex_lock(&f->lock);
	forget_enter(f, &e, true);
	pthread_mutex_unlock(&f->lock);
}

/* The older half goes: of the passing ones while these are many, else of the lasting ones. */
void
forget_shed(struct forget *f)
{
	struct purge_entry *list;
	if (is_beyond(crowd_of(f, true), 2)) /* else what was forgotten lately is for fetches */
		forget_drop_outlived(f);
	forget_table_drop(f->table, atomic_load(&f->floor), atomic_load(&f->fetch_floor));
	if (!forget_is_crowded(f, 2))
		return;
	bool drop_lasting = !is_beyond(crowd_of(f, false), 2);
	size_t n = forget_table_list(f->table, drop_lasting, &list);
	uint64_t upto = median(list, n);
	uint32_t since_s;
	bool soft = drop_lasting && upto < forget_now(f) && are_soft(list, n, upto, &since_s);
	free(list);
	forget_raise(&f->fetch_floor, upto);
	if (drop_lasting) {
		if (!soft)
			forget_raise_floor(f, upto);
		atomic_fetch_add(&f->shed, n / 2);
		log_warning("cache %s: more purges than are kept apart: what was stored before the "
			    "newest %zu of them is %s",
			    f->o.dir ? f->o.dir : "in memory", n - n / 2,
			    soft ? "validated" : "fetched anew");
	}
	if (soft)
		everything_is_stale(f, upto, since_s);
	forget_table_drop(f->table, drop_lasting ? upto : 0, upto);
	build_hints(f);
}
