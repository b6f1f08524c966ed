/* pattern.c - which patterns: every choice of bits is one that has bit 0, turned; so
 * patterns are choices with bit 0, one from each of as many equal shares of them all.
 */
#include "filter/pattern.h"

static uint64_t
choose(uint64_t n, uint64_t k)
{
	uint64_t c = 1;

	for (uint64_t i = 0; i < k; i++)
		c = c * (n - i) / (i + 1);
	return c;
}

/* The choices of k out of n bits have an order; this is the one with that rank. */
static uint64_t
choice_of_rank(unsigned n, unsigned k, uint64_t rank)
{
	uint64_t bits = 0;

	for (unsigned at = 0; k > 0; at++) {
		uint64_t with = choose(n - at - 1, k - 1); /* choices that take bit `at` */

		if (rank < with) {
			bits |= UINT64_C(1) << at;
			k--;
		} else {
			rank -= with;
		}
	}
	return bits;
}

void
twice_pattern_fill(uint64_t pattern[PATTERNS], unsigned word_bits, unsigned per_word)
{
	uint64_t all = choose(word_bits - 1, per_word - 1), random = 1;

	for (uint64_t i = 0; i < PATTERNS; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		uint64_t rank = (i * all + (random >> 33) % all) / PATTERNS;
		pattern[i] = 1 | choice_of_rank(word_bits - 1, per_word - 1, rank) << 1;
	}
}

/* A choice of per_word bits can be turned in per_word ways so that it has bit 0: of two patterns
 * one may be the other, turned. */
unsigned
twice_pattern_choices(unsigned word_bits, unsigned per_word)
{
	double all = (double)choose(word_bits, per_word);
	double with_bit_0 = (double)choose(word_bits - 1, per_word - 1);
	double choices = PATTERNS * word_bits / (1 + (per_word - 1) * PATTERNS / with_bit_0);

	return (unsigned)(choices < all && PATTERNS < with_bit_0 ? choices : all);
}
