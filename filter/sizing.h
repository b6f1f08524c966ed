/* sizing.h - keys and error rate <-> bits, hashes, memory. Only arithmetic.
 *
 * Two models. The classic one: k independent bits anywhere in m. The blocked one,
 * which `pair` and `blocked` are built on: a key lives in one 64-byte line and sets
 * bits in two of its words; lines fill unevenly (Poisson), and that costs bits.
 *
 * Units     m bits, n keys, k hashes (bits set per key), p a probability.
 * Errors    none: nonsense in gives NaN or infinity out, as noted.
 */
#ifndef TWICE_SIZING_H
#define TWICE_SIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the classic filter ---- */

/* (1 - (1 - 1/m)^(kn))^k */
double twice_sizing_fpr_exact(double m, double n, double k);

/* (1 - e^(-kn/m))^k */
double twice_sizing_fpr(double m, double n, double k);

/* (1 - e^(-k(n + 1/2)/(m - 1)))^k: never below the truth */
double twice_sizing_fpr_bound(double m, double n, double k);

/* k = (m/n) ln 2, the k with the lowest rate; not rounded */
double twice_sizing_best_hashes(double m, double n);

/* m = -n ln p / (ln 2)^2, with the best k */
double twice_sizing_bits(double n, double p);

/* n log2(1/p): the least that any structure with error p needs */
double twice_sizing_least_bits(double n, double p);

/* 1 / ln 2: a Bloom filter needs this many times the least */
#define TWICE_SIZING_BLOOM_COST 1.4426950408889634

/* The table of rates: TWICE_SIZING_TABLE_BITS_MIN.. bits per key by 1.. hashes. */
enum {
	TWICE_SIZING_TABLE_BITS_MIN = 2,
	TWICE_SIZING_TABLE_BITS_MAX = 9,
	TWICE_SIZING_TABLE_HASHES_MAX = 7,
};
double twice_sizing_table_fpr(unsigned bits_per_key, unsigned hashes);

/* Whole bits per key, as few as reach p, and then as few hashes as reach it: 0.01 ->
 * 10, 5. Rates are compared to three digits, as tables print them. */
struct twice_sizing_choice {
	unsigned bits_per_key, hashes;
};
struct twice_sizing_choice twice_sizing_fewest_hashes(double p);

/* ---- lines: `words` words of `word_bits`; a key sets `per_word` different
 * bits in each of two different words ---- */

struct twice_sizing_line {
	unsigned words, word_bits, per_word;
	unsigned choices; /* different ways a key has to set its bits in a word; 0: all there are */
};

/* Rate of one generation with this many keys per line on average: exact for random
 * keys in many lines. */
double twice_sizing_line_fpr(const struct twice_sizing_line *l, double keys_per_line);

/* The chance that all of a key's bits in a word are ones already,
 * when so many others touched it. */
double twice_sizing_word_fpr(const struct twice_sizing_line *l, unsigned keys);

/* Ones among all bits, 0 to 1; and back: infinity when all are ones. */
double twice_sizing_line_fill(const struct twice_sizing_line *l, double keys_per_line);
double twice_sizing_line_keys(const struct twice_sizing_line *l, double fill);

/* Of keys_per_line different keys that came, how many the filter took for new on their
 * way in: the others were false positives, set no bit, and are not counted. */
double twice_sizing_line_counted(const struct twice_sizing_line *l, double keys_per_line);

/* Returns the rate of `generations` independent ones of rate p together. */
double twice_sizing_union_fpr(double p, unsigned generations);

/* Lines whose ones are counted before a generation is said to be half full. */
#define TWICE_SIZING_SAMPLE_LINES 4096

struct twice_sizing_plan {
	struct twice_sizing_line line; /* per_word chosen for the least memory */
	uint64_t lines;
	double keys_per_line; /* with `capacity` keys in */
	double fpr;	      /* of all generations together, full */
};

/* Fewest lines for `capacity` keys, new ones counted, per generation at rate p with all generations
 * full. False when p is out of 1e-6 to 0.5, capacity out of 1 to 2^30, words out of 2 to 8 or
 * word_bits out of 16 to 64. */
bool twice_sizing_plan_lines(struct twice_sizing_plan *out, unsigned words, unsigned word_bits,
			     unsigned generations, uint64_t capacity, double p);

/* Capacity of each pair of a cascade (family/cascade.h) but the first, which is for `capacity` keys: a quarter, for
 * most keys never come back. */
uint64_t twice_sizing_later_capacity(uint64_t capacity);

/* ---- in words ---- */

/* Text for people, into `out` as snprintf does it: returns the length the whole text has,
 * ending with a newline; 0 when twice_sizing_plan_lines would say no. What a pair for so many
 * URLs costs, or a cascade of pairs for more than two sightings (of at most 15), and what its errors mean. */
size_t twice_sizing_explain(char *out, size_t room, uint64_t urls, double fpr, unsigned sightings);

/* The table of rates, m/n = 2..9 by k = 1..7, as text. */
size_t twice_sizing_explain_table(char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
