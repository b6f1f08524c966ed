/* upstream.c - one word per origin says whether it is well: 0, or how long it is left alone and how
 * often in a row it failed. The thread that changes the word by compare-and-swap logs it, so each
 * change is told once.
 */
#include "proxy/origin/upstream.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LEVEL_BITS = 8, LEVEL_MOST = 6, SILENT_MOST = 3 };
/* The estimate rises by a 16th for a slower answer and falls by a 64th for a faster one, so it
 * rests where one answer in five is slower; how slow does not matter, so one hanging URL is one
 * step. */
enum { RISE = 16, FALL = 64, USUAL_LEAST_US = 500, USUAL_MOST_US = 60 * 1000 * 1000 };

struct member {
	_Alignas(64) struct origin *origin; /* owned */
	_Atomic uint64_t held;		    /* until_ms << LEVEL_BITS | level; 0: well */
	_Atomic unsigned silent;	    /* reads that timed out since the last answer */
	_Atomic uint32_t usual_us;
};

struct upstream {
	unsigned count;
	struct member members[];
};

struct upstream *
upstream_create(struct origin *const *origins, unsigned count)
{
	struct upstream *u = NULL;
	assert(count <= UPSTREAM_MOST);
	size_t bytes = sizeof *u + count * sizeof u->members[0];
	if (posix_memalign((void **)&u, _Alignof(struct member), bytes))
		abort();
	memset(u, 0, bytes);
	u->count = count;
	for (unsigned i = 0; i < count; i++)
		u->members[i].origin = origins[i];
	return u;
}

void
upstream_destroy(struct upstream **pu)
{
	struct upstream *u = *pu;
	*pu = NULL;
	if (!u)
		return;
	for (unsigned i = 0; i < u->count; i++)
		origin_destroy(&u->members[i].origin);
	free(u);
}

/* What must be true of a try whose turn it is. */
static void
check(const struct upstream *u, const struct upstream_try *t)
{
	assert(t->current < u->count && u->count <= UPSTREAM_MOST);
	assert(t->tried >> t->current & 1);
	assert(u->members[t->current].origin);
}

const struct origin *
upstream_origin(const struct upstream *u, const struct upstream_try *t)
{
	check(u, t);
	return u->members[t->current].origin;
}

/* ---- one origin's word --------------------------------------------------------------------- */

static int64_t
until_of(uint64_t held)
{
	return (int64_t)(held >> LEVEL_BITS);
}

static unsigned
level_of(uint64_t held)
{
	return (unsigned)(held & ((1u << LEVEL_BITS) - 1));
}

static uint64_t
held_word(int64_t until_ms, unsigned level)
{
	return (uint64_t)until_ms << LEVEL_BITS | level;
}

/* After so many failures in a row. */
static int64_t
hold_ms(unsigned level)
{
	assert(level >= 1 && level <= LEVEL_MOST);
	int64_t ms = (int64_t)UPSTREAM_HOLD_FIRST_MS << (level - 1);
	return ms < UPSTREAM_HOLD_MOST_MS ? ms : UPSTREAM_HOLD_MOST_MS;
}

/* Its time is up, and nobody else finds out: the time starts anew, long enough for the answer. */
static bool
wins_probe(struct member *m, uint64_t held, int64_t now_ms)
{
	int64_t hold = hold_ms(level_of(held)), dial = m->origin->connect_timeout_ms;
	uint64_t next = held_word(now_ms + (hold > dial ? hold : dial), level_of(held));
	return until_of(held) <= now_ms && atomic_compare_exchange_strong(&m->held, &held, next);
}

/* ---- which is asked ------------------------------------------------------------------------ */

static void
take(struct upstream_try *t, unsigned i, bool probe)
{
	t->tried |= (uint64_t)1 << i;
	t->current = i;
	t->probe = probe;
}

/* The untried one whose time is up first. */
static bool
take_held(struct upstream *u, struct upstream_try *t)
{
	uint64_t least = UINT64_MAX;
	unsigned best = 0;
	for (unsigned i = 0; i < u->count; i++) {
		uint64_t held = atomic_load_explicit(&u->members[i].held, memory_order_relaxed);
		if (!(t->tried >> i & 1) && held < least) {
			least = held;
			best = i;
		}
	}
	if (t->held_asked || least == UINT64_MAX)
		return false;
	t->held_asked = true;
	take(t, best, false);
	return true;
}

bool
upstream_pick(struct upstream *u, struct upstream_try *t, int64_t now_ms)
{
	for (unsigned i = 0; i < u->count; i++) {
		uint64_t held = atomic_load_explicit(&u->members[i].held, memory_order_relaxed);
		if (t->tried >> i & 1)
			continue;
		if (!held || wins_probe(&u->members[i], held, now_ms)) {
			take(t, i, held != 0);
			return true;
		}
	}
	return take_held(u, t);
}

/* ---- what came of it ----------------------------------------------------------------------- */

static void
learn(struct member *m, int64_t us)
{
	int64_t usual = atomic_load_explicit(&m->usual_us, memory_order_relaxed), was = usual;
	if (!usual)
		usual = us;
	else if (us > usual)
		usual += usual / RISE;
	else
		usual -= usual / FALL;
	usual = usual < USUAL_LEAST_US	? USUAL_LEAST_US
		: usual > USUAL_MOST_US ? USUAL_MOST_US
					: usual;
	if (usual != was)
		atomic_store_explicit(&m->usual_us, (uint32_t)usual, memory_order_relaxed);
}

void
upstream_answered(struct upstream *u, const struct upstream_try *t, int64_t wait_us)
{
	struct member *m = &u->members[t->current];
	check(u, t);
	learn(m, wait_us);
	if (atomic_load_explicit(&m->silent, memory_order_relaxed))
		atomic_store_explicit(&m->silent, 0, memory_order_relaxed);
	if (atomic_load_explicit(&m->held, memory_order_relaxed) && atomic_exchange(&m->held, 0))
		log_warning("origin %s answers again", origin_url(m->origin));
}

static bool
never_got_there(enum fetch_end end)
{
	return end == FETCH_DNS || end == FETCH_CONNECT || end == FETCH_CONNECT_TIMEOUT ||
	       end == FETCH_TLS;
}

/* Holds it back: true for the thread that did. */
static bool
hold(struct member *m, bool probe, int64_t now_ms)
{
	uint64_t held = atomic_load(&m->held);
	if (!held)
		return atomic_compare_exchange_strong(&m->held, &held,
						      held_word(now_ms + hold_ms(1), 1));
	unsigned level = level_of(held) < LEVEL_MOST ? level_of(held) + 1 : LEVEL_MOST;
	if (probe) /* only it raises the level: the others were told beforehand */
		atomic_compare_exchange_strong(&m->held, &held,
					       held_word(now_ms + hold_ms(level), level));
	return false;
}

bool
upstream_failed(struct upstream *u, const struct upstream_try *t, const struct fetch_result *r,
		int64_t now_ms)
{
	struct member *m = &u->members[t->current];
	check(u, t);
	bool away = never_got_there(r->end);
	bool silent = r->end == FETCH_READ_TIMEOUT && !r->head_seen;
	if (silent)
		silent = t->probe || atomic_fetch_add(&m->silent, 1) + 1 >= SILENT_MOST;
	if ((away || silent) && hold(m, t->probe, now_ms))
		log_warning("origin %s is left alone for a while: %s (%s)%s", origin_url(m->origin),
			    r->word, r->detail ? r->detail : "",
			    u->count > 1 ? "; the other origins are asked instead" : "");
	return away || r->end == FETCH_QUEUE_TIMEOUT;
}

int64_t
upstream_usual_ms(const struct upstream *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		const struct member *m = &u->members[i];
		if (!atomic_load_explicit(&m->held, memory_order_relaxed)) {
			return upstream_state(u, i).usual_ms;
		}
	}
	return 0;
}

unsigned
upstream_count(const struct upstream *u)
{
	return u->count;
}

struct upstream_state
upstream_state(const struct upstream *u, unsigned i)
{
	assert(i < u->count);
	const struct member *m = &u->members[i];
	uint32_t us = atomic_load_explicit(&m->usual_us, memory_order_relaxed);
	return (struct upstream_state){
		.url = origin_url(m->origin),
		.out = atomic_load_explicit(&m->held, memory_order_relaxed) != 0,
		.usual_ms = ((int64_t)us + 999) / 1000,
	};
}
