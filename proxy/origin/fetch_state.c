/* fetch_state.c - the moves between the states of a fetch, from the rows of fetch_states.h. */
#include "proxy/origin/fetch_state.h"

#include "proxy/base/log.h"

#include <stdbool.h>
#include <stdlib.h>

enum { STATES = HEAR_LEFT + 1 };

static const char *const words[STATES] = {
#define STATE(name, waits_for, truth) #name,
#define EDGE(from, to, why)
#include "proxy/origin/fetch_states.h"
#undef STATE
#undef EDGE
};

static const bool moves[STATES][STATES] = {
#define STATE(name, waits_for, truth)
#define EDGE(from, to, why) [from][to] = true,
#include "proxy/origin/fetch_states.h"
#undef STATE
#undef EDGE
};

void
fetch_state_move(enum fetch_state *state, enum fetch_state to)
{
	if (!moves[*state][to]) {
		log_error("a fetch cannot go from %s to %s: this is a defect of twice",
			  words[*state], words[to]);
		abort();
	}
	*state = to;
}
