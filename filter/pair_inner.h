/* pair_inner.h - what the files of the pair share. Private. */
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

	/* The thread that sets one of the flags may write the fields behind it. */
	alignas(LINE_BYTES) _Atomic bool rotating;
	_Atomic bool sweeping;
	_Atomic uint64_t sweep_at, sweep_from; /* next line; generation when the pass began */

	struct stripe stripe[STRIPES];
};

static inline uint64_t
now_at(const struct twice_pair *p)
{
	return atomic_load(&p->generation);
}

/* Threads have stacks of their own, megabytes apart: a number for the thread that
 * needs no thread-local variable. A bad one costs time, never correctness. */
static inline struct stripe *
stripe_here(const struct twice_pair *p)
{
	uint64_t where = (uintptr_t)__builtin_frame_address(0) >> 16;
	struct stripe *all = ((struct twice_pair *)(uintptr_t)p)->stripe;

	return &all[where * 0x9E3779B97F4A7C15ULL >> 59];
}

/* Everything but the content: lines empty, generation 0. NULL with errno. */
struct twice_pair *twice_pair_new(const struct twice_pair_options *o, int64_t now_s);

/* Sum over the stripes for the generations of this parity. */
struct twice_pair_count {
	uint64_t keys, recurring;
};
struct twice_pair_count twice_pair_counted(const struct twice_pair *p, unsigned half);

/* Counts begin at `have`; stripes look at their first key. */
void twice_pair_expect(struct twice_pair *p, unsigned half, struct twice_pair_count have);

/* Counts new keys of generation g, `recurring` of them known to the one before; sweeps a
 * little, and ends the generation when it is full. */
void twice_pair_count(struct twice_pair *p, struct stripe *s, uint64_t g, uint64_t keys,
		      uint64_t recurring);

/* Turns the whole line of this column to the present, so that the cost comes once per line and
 * generation. */
void twice_pair_turn_line(const struct twice_pair *p, const struct column *in_it);

/* Turns the next lines of the pass through the array; starts a pass when a generation
 * has had none. Nothing if somebody else is at it. */
void twice_pair_sweep(struct twice_pair *p, uint64_t lines);

/* Ends generation g, unless somebody has done so: says whether it did. The impatient give up
 * when a thread stopped in the middle of something, and are asked again by the next key. */
bool twice_pair_rotate_from(struct twice_pair *p, uint64_t g, bool patient);

#endif
