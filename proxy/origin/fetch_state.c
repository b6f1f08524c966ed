/* fetch_state.c - the moves between the states of a fetch, from the rows of fetch_states.h. */
#include "proxy/origin/fetch_state.h"

#include "proxy/base/log.h"

#include <stdlib.h>

#define STATES_ROWS "proxy/origin/fetch_states.h"
#include "proxy/base/states.h"

void
fetch_state_move(enum fetch_state *state, enum fetch_state to)
{
	if (!states_moves[*state][to]) {
		log_error("a fetch cannot go from %s to %s: this is a defect of twice",
			  states_words[*state], states_words[to]);
		abort();
	}
	*state = to;
}
