/* mix.h - scramble a number, scale it to a range, draw the next of a seeded row.
 *
 * Keys are hashed in hash.h; these functions work on 64 good bits afterwards. A row of draws is
 * a number that the caller keeps, so that tests can repeat it.
 */
#ifndef TWICE_MIX_H
#define TWICE_MIX_H

#include <stdint.h>

#define MIX_GOLDEN 0x9e3779b97f4a7c15u

/* Every input bit changes half of the output bits [splitmix64: Steele, Lea, Flood 2014]. */
static inline uint64_t
mix_bits(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* A number in 0..range-1, led by the high bits of x; no division [Lemire 2019]. */
static inline uint64_t
mix_range(uint64_t x, uint64_t range)
{
	return (uint64_t)((unsigned __int128)x * range >> 64);
}

static inline uint64_t
mix_next(uint64_t *row)
{
	*row += MIX_GOLDEN;
	return mix_bits(*row);
}

#endif
