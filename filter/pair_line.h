/* pair_line.h - one line of the pair: 64 bytes, both generations, no locks. Private.
 *
 *	line      | column 0        | column 1        | column 2        | column 3        |
 *	column    | even    odd     |   16 bytes: a word of the even, one of the odd generations
 *	word      | tag 2 | data 62 |   tag: how often this word was retired, modulo 4
 *
 * A key sets per_word bits in each of two columns. Generation g lives in the words of
 * its parity. A column belongs to the generation that last touched it; the two tags
 * together tell which, modulo 16:
 *
 *	generation  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15  0
 *	even tag    0  1  1  2  2  3  3  0  0  1  1  2  2  3  3  0  0
 *	odd tag     0  0  1  1  2  2  3  3  2  2  3  3  0  0  1  1  0
 *
 * Turning a column from g - 1 to g is one 16-byte compare-and-swap: the word of g - 1
 * keeps its data and is retired (its tag changes), the word of g is emptied. Adding is
 * an 8-byte compare-and-swap of a word that is not retired. Hence
 *  - a thread that has not noticed that a column was turned to g fails to add to it and
 *    starts again: in a turned column the content of generation g - 1 never changes;
 *  - turning and adding are never half done, wherever a thread stops.
 *
 * Codes repeat after 16 generations, the tag of one word after 8. No column is ever
 * more than COLUMN_STALE = 7 behind (pair_rotate.c sweeps), and no thread turns a column with a
 * view more than 3 generations old (pair_rotate.c counts turners): so a code has one meaning.
 */
#ifndef TWICE_PAIR_LINE_H
#define TWICE_PAIR_LINE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	LINE_BYTES = 64,
	LINE_COLUMNS = 4,
	WORD_BITS = 62,
	COLUMN_CODES = 16,
	COLUMN_STALE = 7,
};

#define WORD_DATA ((UINT64_C(1) << WORD_BITS) - 1)

struct column {
	alignas(16) _Atomic uint64_t word[2];
};

struct line {
	alignas(LINE_BYTES) struct column column[LINE_COLUMNS];
};

_Static_assert(sizeof(struct line) == LINE_BYTES, "a line is a cache line");

/* Both words of a column as they were at one moment, tags included. */
struct column_words {
	uint64_t word[2];
};

static inline unsigned
parity(uint64_t generation)
{
	return (unsigned)(generation & 1);
}

/* The tag, in place, of the words of this parity in a column of generation g. */
static inline uint64_t
word_tag(unsigned half, uint64_t g)
{
	uint64_t tag = half == 0 ? (g + 1) >> 1 : (g >> 1) + (g >> 3 << 1);

	return tag << WORD_BITS;
}

/* The current generation as a thread saw it, with its parity and tags worked out once. */
struct view {
	uint64_t generation;
	unsigned half;	       /* its parity */
	uint64_t tag, old_tag; /* of its words, and of the other ones */
};

static inline struct view
view_of(uint64_t g)
{
	unsigned half = parity(g);

	return (struct view){g, half, word_tag(half, g), word_tag(half ^ 1, g)};
}

/* The data of a column in the current and in the previous generation. */
struct halves {
	uint64_t now, then;
};

/* False for a column that is not of this generation. Reading the retired word first
 * makes the two agree: had it changed its meaning, the other one would have been retired
 * by now. */
static inline bool
column_at(struct column *c, const struct view *v, struct halves *out)
{
	out->then = atomic_load_explicit(&c->word[v->half ^ 1], memory_order_acquire) ^ v->old_tag;
	out->now = atomic_load_explicit(&c->word[v->half], memory_order_acquire) ^ v->tag;
	return (out->then | out->now) <= WORD_DATA;
}

static inline struct column_words
column_read(struct column *c)
{
	struct column_words now;
	uint64_t again = atomic_load(&c->word[0]);

	do {
		now.word[0] = again;
		now.word[1] = atomic_load(&c->word[1]);
		again = atomic_load(&c->word[0]);
	} while (again != now.word[0]);
	return now;
}

/* The generation that touched it last, modulo COLUMN_CODES. */
static inline unsigned
column_code(struct column_words w)
{
	unsigned even = (unsigned)(w.word[0] >> WORD_BITS);
	unsigned odd = (unsigned)(w.word[1] >> WORD_BITS);
	unsigned ahead = (even - odd) & 3; /* table above: 0 or 1 until 7, 2 or 3 from 8 on */
	unsigned late = ahead >> 1;

	return 8 * late + 2 * ((odd - 2 * late) & 3) + (ahead & 1);
}

/* How many generations behind g, 0 to COLUMN_STALE; larger means it is ahead of g. */
static inline unsigned
column_behind(struct column_words w, uint64_t g)
{
	return ((unsigned)g - column_code(w)) % COLUMN_CODES;
}

/* Returns the words of a column that is `behind` as turned to g. */
static inline struct column_words
column_turned(struct column_words w, uint64_t g, unsigned behind)
{
	unsigned half = parity(g);
	struct column_words to = {{word_tag(0, g), word_tag(1, g)}};

	if (behind == 0)
		return w;
	if (behind == 1)
		to.word[half ^ 1] |= w.word[half ^ 1] & WORD_DATA;
	return to;
}

/* The same as column_at for a column that nobody has turned to the present yet, without
 * turning it. That somebody is ahead of this view, the caller notices. */
static inline void
column_untouched(struct column *c, const struct view *v, struct halves *out)
{
	struct column_words w = column_read(c);
	unsigned behind = column_behind(w, v->generation);

	w = column_turned(w, v->generation, behind <= COLUMN_STALE ? behind : COLUMN_STALE);
	out->now = w.word[v->half] & WORD_DATA;
	out->then = w.word[v->half ^ 1] & WORD_DATA;
}

/* Both words at once, or neither. It must be one instruction of the processor, or one pair of
 * them, since single words are changed at the same time: a library that takes a lock for 16 bytes
 * (libatomic on some arm64) would lose what they add. */
static inline bool
column_swap(struct column *c, struct column_words from, struct column_words to)
{
#if defined(__x86_64__)
	bool done;

	__asm__ volatile("lock cmpxchg16b %[c]"
			 : "=@ccz"(done), [c] "+m"(*c), "+a"(from.word[0]), "+d"(from.word[1])
			 : "b"(to.word[0]), "c"(to.word[1])
			 : "memory");
	return done;
#elif defined(__aarch64__)
	uint64_t even, odd;
	uint32_t failed;

	/* Two halves that were read one after the other are only known to be of one moment when
	 * the store succeeds: a false "no" is possible, and column_turn looks again. */
	__asm__ volatile(
		"1:	ldaxp	%[even], %[odd], %[c]\n"
		"	cmp	%[even], %[even_was]\n"
		"	ccmp	%[odd], %[odd_was], #0, eq\n"
		"	b.ne	2f\n"
		"	stlxp	%w[failed], %[even_is], %[odd_is], %[c]\n"
		"	cbnz	%w[failed], 1b\n"
		"	b	3f\n"
		"2:	clrex\n"
		"	mov	%w[failed], #1\n"
		"3:\n"
		: [even] "=&r"(even), [odd] "=&r"(odd), [failed] "=&r"(failed), [c] "+Q"(*c)
		: [even_was] "r"(from.word[0]), [odd_was] "r"(from.word[1]),
		  [even_is] "r"(to.word[0]), [odd_is] "r"(to.word[1])
		: "cc", "memory");
	return !failed;
#elif defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
	unsigned __int128 a, b;

	__builtin_memcpy(&a, &from, sizeof(a));
	__builtin_memcpy(&b, &to, sizeof(b));
	return __sync_bool_compare_and_swap((unsigned __int128 *)(void *)c, a, b);
#else
	_Static_assert(
		0,
		"the pair needs a compare-and-swap of 16 bytes: x86-64, arm64, or a compiler that has one");
#endif
}

/* Brings a column to g, unless it is there or beyond. Only between turn_begin and
 * turn_end of pair_rotate.c. */
static inline void
column_turn(struct column *c, uint64_t g)
{
	for (;;) {
		struct column_words w = column_read(c);
		unsigned behind = column_behind(w, g);

		if (behind == 0 || behind > COLUMN_STALE)
			return;
		if (column_swap(c, w, column_turned(w, g, behind)))
			return;
	}
}

#endif
