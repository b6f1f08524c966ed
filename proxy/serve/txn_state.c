/* txn_state.c - the states of a request and the moves between them, from the rows of txn_states.h.
 */
#include "proxy/serve/txn.h"

#include <assert.h>

const char *
txn_state_word(enum txn_state s)
{
	static const char *const words[] = {
#define STATE(name, waits_for, truth) #name,
#define EDGE(from, to, why)
#include "proxy/serve/txn_states.h"
#undef STATE
#undef EDGE
	};
	return words[s];
}

bool
txn_may_move(enum txn_state from, enum txn_state to)
{
	static const uint8_t moves[] = {
#define STATE(name, waits_for, truth)
#define EDGE(from, to, why) TXN_##from << 4 | TXN_##to,
#include "proxy/serve/txn_states.h"
#undef STATE
#undef EDGE
	};
	for (size_t i = 0; i < sizeof moves; i++)
		if (moves[i] == (from << 4 | to))
			return true;
	return false;
}

void
txn_move(struct txn *t, enum txn_state to)
{
	assert(txn_may_move(t->state, to));
	t->state = to;
}
