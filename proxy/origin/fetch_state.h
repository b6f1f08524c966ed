/* fetch_state.h - the states of a fetch, and the only way from one to another: the rows of
 * fetch_states.h.
 *
 * Errors    a move that has no row is a bug of ours: it says which, and the process ends.
 */
#ifndef ORIGIN_FETCH_STATE_H
#define ORIGIN_FETCH_STATE_H

enum fetch_state {
#define STATE(name, waits_for, truth) name,
#define EDGE(from, to, why)
#include "proxy/origin/fetch_states.h"
#undef STATE
#undef EDGE
};

void fetch_state_move(enum fetch_state *state, enum fetch_state to);

#endif
