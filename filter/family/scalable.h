/* scalable.h - grows without end and keeps its promised error.
 *
 * [Almeida, Baquero, Preguica, Hutchison: Scalable Bloom Filters, Information
 * Processing Letters 101, 2007.] A chain whose links grow by s and tighten by
 * r: the compound rate stays below P0 (1 + r + r^2 + ...) = P0/(1-r).
 * Everything but its birth is in chain.h.
 *
 * The ratio decides which filters pay. With 0.85 the first link already gets a small share of the
 * rate, and every later one nearly as much: right for a filter that grows by orders of
 * magnitude. With 0.5 a filter that stays in its first link needs 2.5 bits per key less, and
 * one that has grown a thousandfold 6 more.
 */
#ifndef TWICE_SCALABLE_H
#define TWICE_SCALABLE_H

#include "filter/family/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_scalable_options {
	uint64_t keys;	 /* of the first link */
	double fpr;	 /* of the whole, however far it grows */
	uint64_t growth; /* s; 0: 2 */
	double ratio;	 /* r; 0: 0.85 */
};

struct twice_chain_plan twice_scalable_plan(const struct twice_scalable_options *o);
struct twice_chain *twice_scalable_create(const struct twice_scalable_options *o);

#ifdef __cplusplus
}
#endif

#endif
