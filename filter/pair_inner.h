/* pair_inner.h - what pair.c and pair_snapshot.c share. Private. */
#ifndef TWICE_PAIR_INNER_H
#define TWICE_PAIR_INNER_H

#include "filter/pair.h"
#include "filter/pair_line.h"
#include "filter/pattern.h"
#include "filter/sizing.h"

enum {
	STRIPES = 32,
};

/* Counters that one thread or a few write: a cache line each, summed on read. Indexed
 * by the parity of the generation, or of half its number (turners). */
struct stripe {
	alignas(LINE_BYTES) _Atomic uint64_t keys[2];
	_Atomic uint64_t recurring[2];
	_Atomic uint64_t look_at[2]; /* keys in this stripe when to look at the sum again */
	_Atomic uint32_t turners[2]; /* threads between turn_begin and turn_end */
};

struct twice_pair {
	/* Constant after create. */
	struct line *lines; /* owned */
	uint64_t line_count;
	struct twice_pair_options options;
	struct twice_sizing_plan plan;
	uint64_t pattern[PATTERNS];

	/* Read by everyone, written once per generation. What people call the number of a
	 * generation is generation + idle. */
	alignas(LINE_BYTES) _Atomic uint64_t generation;
	_Atomic uint64_t floor; /* no column is of an older generation */
	_Atomic int64_t born_s;
	_Atomic int64_t clock_s; /* the latest now_s that anybody handed in */
	_Atomic uint64_t idle;	 /* rotations that needed no new generation: both were empty */
	uint64_t first_number;

	/* The housekeepers' own: whoever sets the flag may write what follows it. */
	alignas(LINE_BYTES) _Atomic bool rotating;
	_Atomic bool sweeping;
	_Atomic uint64_t sweep_at, sweep_from; /* next line; generation when the pass began */

	struct stripe stripe[STRIPES];
};

/* Everything but the content: lines empty, generation 0. NULL with errno. */
struct twice_pair *twice_pair_new(const struct twice_pair_options *o, int64_t now_s);

/* Sum over the stripes for the generations of this parity. */
struct twice_pair_count {
	uint64_t keys, recurring;
};
struct twice_pair_count twice_pair_counted(const struct twice_pair *p, unsigned half);

/* What a fresh generation's stripes look at first. */
void twice_pair_expect(struct twice_pair *p, unsigned half, struct twice_pair_count have);

#endif
