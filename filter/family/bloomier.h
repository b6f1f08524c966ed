/* bloomier.h - a static map from keys to small values, without the keys.
 *
 * [Chazelle, Kilian, Rubinfeld, Tal: The Bloomier Filter, SODA 2004; built by
 * peeling three-part random hypergraphs as in Charles, Chellapilla: Bloomier
 * Filters: A Second Look, ESA 2008.] A key's value is the XOR of three cells
 * and a mask of its own, and q further bits of it must come out zero. For
 * lists that are pushed to the edge: always, never, a class per known URL.
 *
 * Answers   exact for the keys it was built from; any other key is said to be
 *           absent, except with chance 2^-q, when it has an arbitrary value.
 * Memory    about 1.23 (r + q) bits per key for values of r bits.
 * Lifetime  bloomier_build / destroy. Nothing is added later: build again.
 * Threads   constant after build: any number of readers.
 * Errors    build: NULL when a value is too wide, a key stands twice, or
 *           memory is out.
 */
#ifndef FILTER_BLOOMIER_H
#define FILTER_BLOOMIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/seal.h"

struct bloomier;

struct bloomier_pair {
	struct key_hash key;
	uint32_t value;
};

struct bloomier *bloomier_build(const struct bloomier_pair *pairs, size_t n, unsigned value_bits,
				unsigned check_bits);
void bloomier_destroy(struct bloomier **b);

/* Says whether the key is in; then *value is its value, and else untouched. */
bool bloomier_get(const struct bloomier *b, struct key_hash h, uint32_t *value);
bool bloomier_has(const struct bloomier *b, struct key_hash h);

uint64_t bloomier_count(const struct bloomier *b);
size_t bloomier_memory(const struct bloomier *b);
double bloomier_fpr(const struct bloomier *b); /* 2^-q */

int bloomier_save(const struct bloomier *b, const struct seal_sink *to);
struct bloomier *bloomier_load(struct seal_source *from);

#endif
