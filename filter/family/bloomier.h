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
 * Lifetime  twice_bloomier_build / destroy. Nothing is added later: build again.
 * Threads   constant after build: any number of readers.
 * Errors    build: NULL when a value is too wide, a key is there twice, or
 *           memory is out.
 */
#ifndef TWICE_BLOOMIER_H
#define TWICE_BLOOMIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_bloomier;

struct twice_bloomier_pair {
	struct twice_key_hash key;
	uint32_t value;
};

struct twice_bloomier *twice_bloomier_build(const struct twice_bloomier_pair *pairs, size_t n,
					    unsigned value_bits, unsigned check_bits);
void twice_bloomier_destroy(struct twice_bloomier **b);

/* Says whether the key is in; then *value is its value, and else untouched. */
bool twice_bloomier_get(const struct twice_bloomier *b, struct twice_key_hash h, uint32_t *value);
bool twice_bloomier_has(const struct twice_bloomier *b, struct twice_key_hash h);

uint64_t twice_bloomier_count(const struct twice_bloomier *b);
size_t twice_bloomier_memory(const struct twice_bloomier *b);
double twice_bloomier_fpr(const struct twice_bloomier *b); /* 2^-q */

int twice_bloomier_save(const struct twice_bloomier *b, const struct twice_snapshot_sink *to);
struct twice_bloomier *twice_bloomier_load(struct twice_snapshot_source *from);

#ifdef __cplusplus
}
#endif

#endif
