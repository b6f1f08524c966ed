/* twice_filter.h - the whole filter library, for programs outside of twice.
 *
 *	cc x.c $(pkg-config --cflags --libs twice-filter)
 *
 * Start with hash.h (keys to hashes) and pair.h (has this been seen before?); the page
 * with an example is README.md.
 */
#ifndef FILTER_TWICE_FILTER_H
#define FILTER_TWICE_FILTER_H

#include "filter/blocked.h"
#include "filter/bloom.h"
#include "filter/bloomier.h"
#include "filter/cells.h"
#include "filter/chain.h"
#include "filter/counting.h"
#include "filter/dynamic.h"
#include "filter/estimate.h"
#include "filter/hash.h"
#include "filter/memory.h"
#include "filter/pair.h"
#include "filter/probe.h"
#include "filter/retouched.h"
#include "filter/scalable.h"
#include "filter/seal.h"
#include "filter/sizing.h"
#include "filter/stable.h"

#endif
