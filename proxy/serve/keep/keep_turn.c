/* keep_turn.c - who writes a large body, and whether something landed while one looked: what fills
 * of one key know of each other without a lock.
 */
#include "proxy/serve/keep/keep_turn.h"

#include "proxy/base/clock.h"
#include "proxy/serve/keep/keep_inside.h"

#include <assert.h>

enum { TURN_S = 30 };

uint32_t
keep_landed(const struct shelves *sh, struct twice_key_hash primary)
{
	return atomic_load(&sh->landed[primary.lo % LANDED_SLOTS]);
}

/* Counted between what is stored and the flight's end: a flight that is begun after the end sees
 * it. */
void
keep_count_landed(const struct fill *f)
{
	atomic_fetch_add(&f->serve->shelves->landed[f->key.primary.lo % LANDED_SLOTS], 1);
}

static bool
is_large(const struct fill *f)
{
	return f->in.stores != UINT64_MAX &&
	       f->in.stores > flights_retain_bytes(f->serve->shelves->flights);
}

/* A slot says by which key it is taken, and since when: keys that share it do not wait for each other. */
static uint64_t
word_of(struct twice_key_hash hash, int64_t now)
{
	return (hash.hi & ~(uint64_t)UINT32_MAX) | ((uint64_t)now & UINT32_MAX);
}

static bool
is_taken(uint64_t word, int64_t now)
{
	return word && (uint32_t)((uint32_t)now + CLOCK_APART_S - (uint32_t)word) < TURN_S + CLOCK_APART_S;
}

static bool
is_of(uint64_t word, struct twice_key_hash hash)
{
	return word >> 32 == hash.hi >> 32;
}

bool
keep_is_writing(struct shelves *sh, struct twice_key_hash hash)
{
	uint64_t word = atomic_load(&sh->writing[hash.lo % WRITING_SLOTS]);
	return is_taken(word, now_s()) && is_of(word, hash);
}

/* Requests that come when the beginning of a large body is gone from its flight fetch it too; one of them
 * writes it. Should that one's client be slow, the next to come after a while writes as well. */
bool
keep_takes_turn(struct fill *f)
{
	_Atomic uint64_t *slot = &f->serve->shelves->writing[f->filed.hash.lo % WRITING_SLOTS];
	int64_t now = now_s();
	uint64_t is = atomic_load(slot), ours = word_of(f->filed.hash, now);
	assert(!f->claims.turn && !f->in.write);
	if (!is_large(f) || !f->sighting.writes)
		return true;
	if (is_taken(is, now))
		return !is_of(is, f->filed.hash);
	if (!atomic_compare_exchange_strong(slot, &is, ours))
		return !is_of(is, f->filed.hash);
	f->claims.turn = slot;
	f->claims.turn_word = ours;
	return true;
}

void
keep_end_turn(struct fill *f)
{
	uint64_t ours = f->claims.turn_word;
	if (f->claims.turn)
		atomic_compare_exchange_strong(f->claims.turn, &ours, 0);
	f->claims.turn = NULL;
}
