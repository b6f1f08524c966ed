/* pattern.h - some different bits of a word, from 25 bits of hash, in ten instructions. Private.
 *
 * One of 512 patterns, turned by any distance. Independent draws would cost a
 * multiplication and a shift per bit, and when two fall together, 1.3% more memory;
 * double hashing inside a word costs far more false positives.
 */
#ifndef TWICE_PATTERN_H
#define TWICE_PATTERN_H

#include <stdint.h>

enum {
	PATTERNS = 512,
	PATTERN_HASH = 25, /* bits of hash used: 16 for the distance, 9 for the pattern */
};

/* Patterns of per_word bits for words of word_bits; the same on every machine, since
 * snapshots depend on them. */
void twice_pattern_fill(uint64_t pattern[PATTERNS], unsigned word_bits, unsigned per_word);

/* Two keys have the same bits in a word as often as if each picked one of so many choices. At most
 * 8 bits of 64. */
unsigned twice_pattern_choices(unsigned word_bits, unsigned per_word);

static inline uint64_t
pattern_bits(const uint64_t pattern[PATTERNS], unsigned word_bits, uint64_t hash)
{
	unsigned by = (unsigned)((hash & 0xffff) * word_bits >> 16);
	uint64_t bits = pattern[hash >> 16 & (PATTERNS - 1)];

	return (bits << by | bits >> 1 >> (word_bits - 1 - by)) & ~UINT64_C(0) >> (64 - word_bits);
}

#endif
