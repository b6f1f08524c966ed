/* dynamic.h - a row for every n keys: grows without knowing its end.
 *
 * [Guo, Wu, Chen, Luo: Theory and Network Applications of Dynamic Bloom
 * Filters, INFOCOM 2006.] A chain of equal rows; everything but its birth is
 * in chain.h.
 *
 * Answers   false with chance 1 - (1 - p)^rows: right when the number of keys
 *           is known roughly and rows stay few. Rows of two filters merge.
 */
#ifndef TWICE_DYNAMIC_H
#define TWICE_DYNAMIC_H

#include "filter/family/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of so many keys, each at this false-positive rate. */
struct twice_chain *twice_dynamic_create(uint64_t row_keys, double row_fpr);

#ifdef __cplusplus
}
#endif

#endif
