/* states.h - the rows of a table of states (STATE and EDGE, such as serve/txn_states.h) as arrays.
 * The file that includes this has defined STATES_ROWS as the table's file, in quotes. The states are
 * numbered in the order of their rows, as in the enum that is made of the same rows.
 *
 * It has no guard: what it defines is the including file's own.
 */
#include <stdbool.h>

enum { /* only to count */
#define STATE(name, waits_for, truth) STATES_##name,
#define EDGE(from, to, why)
#include STATES_ROWS
#undef STATE
#undef EDGE
	STATES_COUNT
};

static const char *const states_words[STATES_COUNT] = {
#define STATE(name, waits_for, truth) #name,
#define EDGE(from, to, why)
#include STATES_ROWS
#undef STATE
#undef EDGE
};

static const bool states_moves[STATES_COUNT][STATES_COUNT] = { /* [from][to] */
#define STATE(name, waits_for, truth)
#define EDGE(from, to, why) [STATES_##from][STATES_##to] = true,
#include STATES_ROWS
#undef STATE
#undef EDGE
};
