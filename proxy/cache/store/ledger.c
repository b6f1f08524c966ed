/* ledger.c - the log as numbers. */
#include "proxy/cache/store/ledger.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Between counting answers (0), which favours small objects, and counting bytes (1). Small ones move on. */
static const double PAY_POWER = 0.6;
static const uint64_t MIB = 1 << 20;
static const uint64_t MIN_SEGMENT = 256 << 10;
static const uint64_t AT_HAND_BYTES = 2 << 20;

enum {
	SEGMENTS = 256,
	YOUNG_SHARE = 4, /* the youngest quarter of the log stays */
	FADES = 4,	 /* in a turn of the log */
	MOST_TURNS = 16, /* that a segment stays, whatever it earns */
	PAY_UNITS = 16,	 /* of earnings, so that the root of one byte counts */
	CARRY_SHARE = 4, /* at most a quarter of a victim moves on */
	CARRY_MEAN = 10, /* and of most about a tenth: */
	CARRY_STEP = 5,	 /* else the bound changes by a fifth */
	HIT_WORTH = 3,	 /* one that was hit once may be four times as large */
	FIRST_SMALL = 8 << 10,
	LEAST_SMALL = 256, /* less than any record has */
	HEADS_SHARE = 4, /* and of heads all but a quarter: each stands for a body elsewhere */
	CREDIT_SHARE = 8,
	FORGETS_SHARE = 4, /* of what may be forgotten in a turn of the log, at once */
	MAX_CARRIED = 8 << 20,
	SMALL_FILES = 64 << 10 /* seed, format, lock, the directory itself */
};

static uint64_t
at_most(uint64_t n, uint64_t most)
{
	return n < most ? n : most;
}

uint64_t
ledger_purge_bytes(uint64_t disk_bytes)
{
	uint64_t bytes = at_most(disk_bytes / 128, 48 * MIB);
	return bytes - bytes % 8192;
}

uint64_t
ledger_log_bytes(uint64_t disk_bytes, uint64_t reserve_bytes)
{
	uint64_t beside = (reserve_bytes ? reserve_bytes : disk_bytes / 32) +
			  2 * ledger_purge_bytes(disk_bytes) + SMALL_FILES;
	return disk_bytes > beside ? disk_bytes - beside : 0;
}

uint64_t
ledger_segment_bytes(uint64_t log_bytes)
{
	uint64_t bytes = at_most(log_bytes / SEGMENTS, 1024 * MIB);
	bytes -= bytes % 65536;
	return bytes < MIN_SEGMENT ? MIN_SEGMENT : bytes;
}

static uint64_t
most_credit(const struct ledger *l)
{
	return l->limit * l->segment_bytes / CREDIT_SHARE;
}

void
ledger_init(struct ledger *l, uint32_t limit, uint32_t slots_n, uint64_t segment_bytes)
{
	assert(slots_n >= limit);
	*l = (struct ledger){
		.slots = mem_zalloc(slots_n * sizeof *l->slots),
		.slots_n = slots_n,
		.limit = limit,
		.open = -1,
		.segment_bytes = segment_bytes,
		.earned = mem_zalloc((slots_n + 1) * sizeof *l->earned),
		.small_bytes = FIRST_SMALL,
	};
	l->large_credit = most_credit(l);
}

void
ledger_fini(struct ledger *l)
{
	free(l->slots);
	free(l->earned);
	*l = (struct ledger){.open = -1};
}

uint64_t
ledger_room(const struct ledger *l)
{
	return l->open < 0 ? 0 : l->segment_bytes - l->slots[l->open].used;
}

void
ledger_use(struct ledger *l, uint64_t bytes)
{
	assert(bytes <= ledger_room(l));
	l->slots[l->open].used += bytes;
	l->used += bytes;
}

void
ledger_seal(struct ledger *l)
{
	assert(l->open >= 0);
	l->slots[l->open].state = SEGMENT_SEALED;
	l->open = -1;
}

void
ledger_replaces(struct ledger *l)
{
	l->slots[l->open].replaced++;
}

static uint64_t
most_forgets(const struct ledger *l)
{
	return l->forget_share * (1 + (uint64_t)l->limit / FORGETS_SHARE);
}

void
ledger_set_forgets(struct ledger *l, uint32_t each)
{
	l->forget_share = each ? each : 1;
	l->forget_credit = most_forgets(l);
}

void
ledger_forgot(struct ledger *l, uint64_t n)
{
	l->forget_credit -= at_most(n, l->forget_credit);
}

void
ledger_pay(struct ledger *l, uint32_t slot, uint64_t bytes, uint32_t times)
{
	uint64_t pay = (uint64_t)(PAY_UNITS * pow((double)bytes, PAY_POWER)) * times;
	atomic_fetch_add_explicit(&l->earned[slot], pay, memory_order_relaxed);
}

uint32_t
ledger_fades(const struct ledger *l)
{
	return atomic_load_explicit(&l->fades, memory_order_relaxed);
}

/* Payments meanwhile are not lost. */
static void
fade(struct ledger *l)
{
	for (uint32_t i = 0; i < l->slots_n; i++) {
		uint64_t had = atomic_load_explicit(&l->earned[i], memory_order_relaxed);
		atomic_fetch_sub_explicit(&l->earned[i], had - had / 2, memory_order_relaxed);
	}
	l->opened = 0;
	atomic_fetch_add_explicit(&l->fades, 1, memory_order_relaxed);
}

bool
ledger_open_next(struct ledger *l)
{
	assert(l->open < 0);
	for (uint32_t i = 0; l->free && i < l->slots_n; i++) {
		if (l->slots[i].state != SEGMENT_FREE)
			continue;
		l->slots[i] =
			(struct ledger_slot){.state = SEGMENT_OPEN, .generation = ++l->generation};
		atomic_store_explicit(&l->earned[i], 0, memory_order_relaxed);
		l->free--;
		l->open = i;
		if (++l->opened * FADES >= l->limit)
			fade(l);
		return true;
	}
	return false;
}

uint32_t
ledger_at_hand(const struct ledger *l)
{
	uint64_t n = AT_HAND_BYTES / l->segment_bytes;
	if (l->limit < 16)
		return 1;
	return n < 2 || l->limit < 64 ? 2 : (uint32_t)at_most(n, l->limit / 32);
}

bool
ledger_wants_free(const struct ledger *l)
{
	return l->free < ledger_at_hand(l);
}

int64_t
ledger_absent_but(const struct ledger *l, int64_t slot)
{
	for (uint32_t i = 0; l->exist < l->limit && i < l->slots_n; i++)
		if (l->slots[i].state == SEGMENT_ABSENT && i != slot)
			return i;
	return -1;
}

int64_t
ledger_absent(const struct ledger *l)
{
	return ledger_absent_but(l, -1);
}

void
ledger_add(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].state == SEGMENT_ABSENT && l->exist < l->limit);
	l->slots[slot].state = SEGMENT_FREE;
	l->exist++;
	l->free++;
}

static bool
is_older(const struct ledger *l, uint32_t a, uint32_t b)
{
	return l->slots[a].generation < l->slots[b].generation;
}

static bool
is_mature(const struct ledger *l, const struct ledger_slot *s)
{
	return s->generation + l->limit / YOUNG_SHARE <= l->generation &&
	       s->replaced != UINT32_MAX &&
	       (l->forget_share == 0 || s->replaced <= l->forget_credit);
}

/* A segment that stays for ever would keep all purges since from being dropped (forget.h). */
static uint64_t
earned(const struct ledger *l, uint32_t slot)
{
	if (l->slots[slot].generation + MOST_TURNS * (uint64_t)l->limit < l->generation)
		return 0;
	return atomic_load_explicit(&l->earned[slot], memory_order_relaxed);
}

static bool
may_go(const struct ledger_slot *s)
{
	return s->state == SEGMENT_SEALED && !s->leases && !s->holds;
}

int64_t
ledger_victim(const struct ledger *l)
{
	int64_t oldest = -1, least = -1;
	uint64_t least_earned = 0;
	for (uint32_t i = 0; i < l->slots_n; i++) {
		const struct ledger_slot *s = &l->slots[i];
		if (!may_go(s))
			continue;
		if (oldest < 0 || is_older(l, i, (uint32_t)oldest))
			oldest = i;
		if (!is_mature(l, s))
			continue;
		uint64_t e = earned(l, i);
		if (least < 0 || e < least_earned ||
		    (e == least_earned && is_older(l, i, (uint32_t)least))) {
			least = i;
			least_earned = e;
		}
	}
	return least >= 0 ? least : oldest;
}

int64_t
ledger_victim_at_once(const struct ledger *l)
{
	int64_t least = -1;
	uint64_t least_earned = 0, all = 0, n = 0;
	for (uint32_t i = 0; i < l->slots_n; i++) {
		const struct ledger_slot *s = &l->slots[i];
		if (!may_go(s) || !is_mature(l, s))
			continue;
		uint64_t e = earned(l, i);
		all += e;
		n++;
		if (s->replaced == 0 && (least < 0 || e < least_earned)) {
			least = i;
			least_earned = e;
		}
	}
	return least >= 0 && least_earned <= all / n ? least : ledger_victim(l);
}

bool
ledger_is_oldest(const struct ledger *l, uint32_t generation)
{
	for (uint32_t i = 0; i < l->slots_n; i++)
		if (l->slots[i].state >= SEGMENT_OPEN && l->slots[i].generation < generation)
			return false;
	return true;
}

bool
ledger_lease(struct ledger *l, uint32_t slot)
{
	struct ledger_slot *s = &l->slots[slot];
	if (s->state < SEGMENT_OPEN)
		return false;
	if (s->leases == 0 && (l->leased + 1) * 2 > l->limit)
		return false;
	l->leased += s->leases++ == 0;
	return true;
}

void
ledger_unlease(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].leases > 0);
	l->leased -= --l->slots[slot].leases == 0;
}

bool
ledger_hold(struct ledger *l, uint32_t slot)
{
	struct ledger_slot *s = &l->slots[slot];
	if (s->state != SEGMENT_OPEN && s->state != SEGMENT_SEALED)
		return false;
	if (s->holds == 0 && (l->held + 1) * 16 > (uint64_t)l->limit * 7)
		return false;
	l->held += s->holds++ == 0;
	return true;
}

void
ledger_unhold(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].holds > 0);
	l->held -= --l->slots[slot].holds == 0;
}

void
ledger_retire(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].state == SEGMENT_SEALED && l->slots[slot].leases == 0);
	assert(l->slots[slot].holds == 0);
	l->slots[slot].state = SEGMENT_GOING;
}

void
ledger_return(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].state == SEGMENT_GOING);
	l->slots[slot].state = SEGMENT_SEALED;
}

void
ledger_free(struct ledger *l, uint32_t slot)
{
	struct ledger_slot *s = &l->slots[slot];
	assert(s->state == SEGMENT_SEALED || s->state == SEGMENT_GOING);
	assert(s->leases == 0 && s->holds == 0);
	l->used -= s->used;
	*s = (struct ledger_slot){.state = SEGMENT_FREE};
	l->free++;
	l->forget_credit = at_most(l->forget_credit + l->forget_share, most_forgets(l));
}

void
ledger_restore(struct ledger *l, uint32_t slot, enum ledger_state state, uint32_t generation,
	       uint64_t used, uint32_t replaced)
{
	struct ledger_slot *s = &l->slots[slot];
	assert(s->state == SEGMENT_ABSENT);
	*s = (struct ledger_slot){.state = state};
	l->exist++;
	if (state == SEGMENT_FREE) {
		l->free++;
		return;
	}
	s->generation = generation;
	s->used = used;
	s->replaced = replaced;
	l->used += used;
	if (generation > l->generation)
		l->generation = generation;
	if (state == SEGMENT_OPEN) {
		assert(l->open < 0);
		l->open = slot;
	}
}

void
ledger_drop(struct ledger *l, uint32_t slot)
{
	assert(l->slots[slot].state == SEGMENT_FREE);
	l->slots[slot].state = SEGMENT_ABSENT;
	l->exist--;
	l->free--;
}

/* So many count as fitting if this much fits. */
static uint64_t
least_of(uint64_t bytes, unsigned weight)
{
	return weight > 1 ? bytes * weight / 2 : bytes;
}

static uint64_t
small_bytes(const struct ledger *l)
{
	return atomic_load_explicit(&l->small_bytes, memory_order_relaxed);
}

bool
ledger_carries(const struct ledger *l, unsigned hits, uint64_t bytes, unsigned weight,
	       uint64_t carried)
{
	return bytes <= small_bytes(l) * (1 + HIT_WORTH * (uint64_t)hits) &&
	       carried + least_of(bytes, weight) <= l->segment_bytes / CARRY_SHARE;
}

bool
ledger_carries_head(const struct ledger *l, uint64_t bytes, uint64_t carried)
{
	return carried + bytes <= l->segment_bytes - l->segment_bytes / HEADS_SHARE;
}

bool
ledger_carries_large(struct ledger *l, uint64_t body_bytes, unsigned weight)
{
	if (body_bytes > MAX_CARRIED || least_of(body_bytes, weight) > l->large_credit)
		return false;
	l->large_credit -= at_most(body_bytes * weight, l->large_credit);
	return true;
}

void
ledger_set_small(struct ledger *l, uint64_t bytes)
{
	uint64_t small = at_most(bytes, l->segment_bytes / CARRY_SHARE);
	small = small < LEAST_SMALL ? LEAST_SMALL : small;
	atomic_store_explicit(&l->small_bytes, small, memory_order_relaxed);
}

void
ledger_emptied(struct ledger *l, uint64_t carried)
{
	uint64_t small = small_bytes(l), step = small / CARRY_STEP;
	bool much = carried > l->segment_bytes / CARRY_MEAN;
	ledger_set_small(l, much ? small - step : small + step);
	l->large_credit =
		at_most(l->large_credit + l->segment_bytes / CREDIT_SHARE, most_credit(l));
}

void
ledger_check(const struct ledger *l)
{
	uint32_t exist = 0, free_n = 0, open = 0, leased = 0, held = 0;
	uint64_t used = 0;
	for (uint32_t i = 0; i < l->slots_n; i++) {
		const struct ledger_slot *s = &l->slots[i];
		exist += s->state != SEGMENT_ABSENT;
		free_n += s->state == SEGMENT_FREE;
		open += s->state == SEGMENT_OPEN;
		assert((s->state == SEGMENT_OPEN) == (l->open == i));
		assert(s->used <= l->segment_bytes);
		assert(s->state >= SEGMENT_OPEN || s->used == 0);
		used += s->used;
		leased += s->leases > 0;
		held += s->holds > 0;
	}
	assert(leased == l->leased && held == l->held && l->large_credit <= most_credit(l));
	assert(l->forget_credit <= most_forgets(l) && l->small_bytes >= LEAST_SMALL);
	assert(exist == l->exist && free_n == l->free && used == l->used && open <= 1);
}
