/* pair_pack.c - a key in 64 bits, as far as one pair can tell it from others, and back.
 *
 *	bits 33..63   the line                            spot_of, pair_key.h
 *	     30..32   which two of its columns
 *	     15..29   the bits in the second one: 9 of the pattern, 6 of the distance that it is turned by
 *	      0..14   the same in the first one
 */
#include "filter/pair_key.h"

enum {
	DISTANCE_BITS = 6, /* up to WORD_BITS - 1 */
	WORD_PACKED = 9 + DISTANCE_BITS,
	COLUMNS_AT = 2 * WORD_PACKED,
	LINE_AT = COLUMNS_AT + 3,
	COLUMN_CHOICES = 6,
};

/* Of the 25 bits of a hash that say which bits a key has in a word. */
static uint64_t
pack_word(uint64_t hash)
{
	uint64_t by = (hash & 0xffff) * WORD_BITS >> 16;

	return (hash >> 16 & (PATTERNS - 1)) << DISTANCE_BITS | by;
}

/* The least x with x * choices >> bits == choice. */
static uint64_t
least_of(uint64_t choice, uint64_t choices, unsigned bits)
{
	return ((choice << bits) + choices - 1) / choices;
}

static uint64_t
unpack_word(uint64_t packed)
{
	uint64_t by = packed & ((1 << DISTANCE_BITS) - 1);
	uint64_t which = packed >> DISTANCE_BITS & (PATTERNS - 1);

	return which << 16 | least_of(by < WORD_BITS ? by : 0, WORD_BITS, 16);
}

uint64_t
twice_pair_pack_key(const struct twice_pair *p, struct twice_key_hash h)
{
	uint64_t at = (uint64_t)((unsigned __int128)h.hi * p->line_count >> 64);
	uint64_t columns = (h.lo >> 2 * PATTERN_HASH) * COLUMN_CHOICES >> 14;

	return at << LINE_AT | columns << COLUMNS_AT |
	       pack_word(h.lo >> PATTERN_HASH) << WORD_PACKED | pack_word(h.lo);
}

struct twice_key_hash
twice_pair_unpack_key(const struct twice_pair *p, uint64_t packed)
{
	uint64_t at = packed >> LINE_AT, columns = packed >> COLUMNS_AT & 7;
	unsigned __int128 hi;

	/* Bits that nobody packed are some key, too. */
	at = at < p->line_count ? at : 0;
	columns = columns < COLUMN_CHOICES ? columns : 0;
	hi = (((unsigned __int128)at << 64) + p->line_count - 1) / p->line_count;
	return (struct twice_key_hash){
		.hi = (uint64_t)hi,
		.lo = least_of(columns, COLUMN_CHOICES, 14) << 2 * PATTERN_HASH |
		      unpack_word(packed >> WORD_PACKED) << PATTERN_HASH | unpack_word(packed),
	};
}
