/* ram_turn.h - how long does RAM take to be filled anew? As cache/admission/seen_turn.c finds it for the rule of
 * admission: by what it gets of late, once it is full; before that, for ever. Pure.
 */
#ifndef SIMULATE_RAM_TURN_H
#define SIMULATE_RAM_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct ram_turn {
	uint64_t memory_bytes;
	double got; /* since it was asked last; the owner adds to it */
	double all, rate;
	uint32_t at_s;
	bool is_full;
};
/* In seconds. */
int64_t ram_turn_find(struct ram_turn *r, uint32_t now_s);

#endif
