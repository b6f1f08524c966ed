/* keep_turn.c - who writes a large body, and whether something landed while one looked: what fills
 * of one key know of each other without a lock.
 */
#include "proxy/serve/keep_turn.h"

#include "proxy/serve/keep_inside.h"

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
	return f->expected != UINT64_MAX &&
	       f->expected > flights_retain_bytes(f->serve->shelves->flights);
}

static bool
is_taken(uint64_t since_s)
{
	return since_s && (uint64_t)now_s() < since_s + TURN_S;
}

bool
keep_is_writing(struct shelves *sh, struct twice_key_hash hash)
{
	return is_taken(atomic_load(&sh->writing[hash.lo % WRITING_SLOTS]));
}

/* Who comes when the beginning of a large body is gone from its flight fetches it too; one of them
 * writes it. Should that one's client be slow, the next to come after a while writes as well. */
bool
keep_takes_turn(struct fill *f)
{
	_Atomic uint64_t *slot = &f->serve->shelves->writing[f->stored_hash.lo % WRITING_SLOTS];
	uint64_t now = (uint64_t)now_s(), since = atomic_load(slot);
	assert(!f->turn && !f->write);
	if (!is_large(f) || !f->sighting.writes)
		return true;
	if (is_taken(since) || !atomic_compare_exchange_strong(slot, &since, now))
		return false;
	f->turn = slot;
	f->turn_since = now;
	return true;
}

void
keep_end_turn(struct fill *f)
{
	uint64_t ours = f->turn_since;
	if (f->turn)
		atomic_compare_exchange_strong(f->turn, &ours, 0);
	f->turn = NULL;
}
