/* seen_turn.c - when a generation ends, and what else the keeper does about once a second.
 */
#include "proxy/cache/admission/seen_inside.h"

#include "filter/family/cascade.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/turn.h"

#include <assert.h>

void
seen_check(const struct seen *s)
{
	uint64_t turning = atomic_load(&s->turning); /* before the number that it follows */
	assert((s->pair != NULL) != (s->memory != NULL));
	assert(turning <= seen_generation(s->pair, s->memory));
	assert(atomic_load(&s->choice.asked) > 0);
}

void
seen_report(const struct seen *s, struct twice_pair_stats *out)
{
	if (s->pair) {
		twice_pair_stats(s->pair, out);
		return;
	}
	if (twice_filter_cascade(s->memory)) {
		twice_cascade_stats(twice_filter_cascade(s->memory), out);
		return;
	}
	struct twice_filter_stats m;
	twice_filter_stats(s->memory, &m);
	*out = (struct twice_pair_stats){
		.number = m.generation,
		.rotations = m.generation,
		.keys = m.keys,
		.capacity = s->memory_options.capacity,
		.fill_ratio = m.fill_ratio,
		.estimated_fpr = m.estimated_fpr,
		.memory_bytes = (size_t)m.bytes,
		.born_s = twice_filter_has_generations(s->memory) ? m.born_s : s->born_s,
	};
}

static bool
try_rotate(struct seen *s, uint64_t number)
{
	return s->pair ? twice_pair_try_rotate(s->pair, number)
		       : twice_filter_try_rotate(s->memory, number);
}

/* The count for generation `number` begins with nothing. admitted is 0 before turning says whose it is, or a
 * thread would end the new generation by the old one's bytes; what others charge between the two is not counted.
 */
static void
notice(struct seen *s, uint64_t number)
{
	uint64_t was = atomic_load(&s->turning);
	if (was >= number)
		return;
	atomic_store(&s->admitted, 0);
	atomic_compare_exchange_strong(&s->turning, &was, number);
}

/* Counts for the current generation; ends it when that is enough. Whoever is late for that finds
 * another number. It may have begun because the one before was full. */
static void
turn(struct seen *s, uint64_t bytes)
{
	uint64_t number = seen_generation(s->pair, s->memory);
	notice(s, number);
	int64_t more = (int64_t)bytes, admitted = atomic_fetch_add(&s->admitted, more) + more;
	uint64_t bytes_of_log = atomic_load_explicit(&s->turn_bytes, memory_order_relaxed);
	if (turn_is_over(bytes_of_log, admitted, 0) && try_rotate(s, number))
		notice(s, seen_generation(s->pair, s->memory));
}

/* Of a kind that takes locks and memory for it, the keeper ends generations. */
static bool
turns_at_once(const struct seen *s)
{
	return s->pair || twice_filter_is_lock_free(s->memory);
}

void
seen_charge(struct seen *s, const struct sighting *by, uint64_t bytes)
{
	budget_charge(&s->budget, bytes);
	if (by && by->alone)
		accounts_charge(s->accounts, by->from, bytes, 0, seen_second(s));
	if (s->by_turns && turns_at_once(s))
		turn(s, bytes);
	else if (s->by_turns)
		atomic_fetch_add(&s->admitted, (int64_t)bytes);
}

static int64_t
generation_born_s(const struct seen *s)
{
	struct twice_pair_stats is;
	seen_report(s, &is);
	return is.born_s;
}

static void
tick_turns(struct seen *s, int64_t now_s, uint64_t turn_bytes)
{
	atomic_store_explicit(&s->turn_bytes, turn_bytes, memory_order_relaxed);
	turn(s, 0);
	if (turn_bytes || !turn_is_over(0, 0, now_s - generation_born_s(s)))
		return;
	if (s->pair)
		twice_pair_rotate(s->pair, now_s);
	else
		twice_filter_rotate(s->memory, now_s);
}

/* How long RAM takes to be filled anew, by what left it in the last ten seconds or so; while nothing leaves it,
 * for ever. */
static void
tick_ram(struct seen *s, const struct cache_stats *cache)
{
	enum { LATELY_S = 10, EVER_S = 1 << 30 };
	uint64_t gone = cache->ram_evicted_objects - s->ram.evicted;
	double each =
		cache->ram_objects ? (double)cache->ram_used_bytes / (double)cache->ram_objects : 0;
	double turn = EVER_S;
	s->ram.evicted = cache->ram_evicted_objects;
	s->ram.evicted_s += ((double)gone * each - s->ram.evicted_s) / LATELY_S;
	if (s->ram.evicted_s > 0 && (double)cache->ram_limit_bytes / s->ram.evicted_s < turn)
		turn = (double)cache->ram_limit_bytes / s->ram.evicted_s;
	if (!cache->ram_limit_bytes)
		turn = 0;
	atomic_store_explicit(&s->ram.turn_s, (int64_t)turn, memory_order_relaxed);
}

/* Several may have ended since the last tick. */
static void
note_turn(struct seen *s, int64_t now_ms)
{
	uint64_t number = seen_generation(s->pair, s->memory), ended = number - s->ticked_number;
	if (!ended)
		return;
	if (s->turned_ms)
		atomic_store_explicit(&s->interval_s,
				      (double)(now_ms - s->turned_ms) / 1e3 / (double)ended,
				      memory_order_relaxed);
	s->ticked_number = number;
	s->turned_ms = now_ms;
}

double
seen_interval_s(const struct seen *s)
{
	return atomic_load_explicit(&s->interval_s, memory_order_relaxed);
}

void
seen_tick(struct seen *s, int64_t now_s, int64_t now_ms, const struct cache_stats *cache)
{
	seen_check(s);
	double share =
		cache->limit_bytes ? (double)cache->used_bytes / (double)cache->limit_bytes : 0;
	budget_fill(&s->budget, now_ms, cache->written_bytes);
	atomic_store_explicit(&s->ticked_s, now_ms / 1000, memory_order_relaxed);
	atomic_store_explicit(&s->disk_used_share, share, memory_order_relaxed);
	tick_ram(s, cache);
	if (s->pair)
		twice_pair_tick(s->pair, now_s);
	else
		twice_filter_tick(s->memory, now_s);
	if (s->by_turns)
		tick_turns(s, now_s, cache->turn_bytes);
	note_turn(s, now_ms);
	seen_elder_tick(s, now_s);
	if (s->saved.moves)
		seen_save(s, now_s);
	if (s->log)
		seen_log_tick(s->log, now_ms);
}
