/* twice_filter.h - the whole filter library, for programs outside of twice.
 *
 *	cc x.c $(pkg-config --cflags --libs twice-filter)
 *
 * Start with hash.h (keys to hashes) and pair.h (has this been seen before?); the page
 * with an example is README.md.
 */
#ifndef TWICE_FILTER_LIBRARY_H
#define TWICE_FILTER_LIBRARY_H

#include "filter/family/blocked.h"
#include "filter/family/bloom.h"
#include "filter/family/bloomier.h"
#include "filter/family/cascade.h"
#include "filter/family/cells.h"
#include "filter/family/chain.h"
#include "filter/family/counting.h"
#include "filter/family/digest.h"
#include "filter/family/dynamic.h"
#include "filter/family/estimate.h"
#include "filter/hash.h"
#include "filter/family/filter.h"
#include "filter/pair.h"
#include "filter/family/probe.h"
#include "filter/family/retouched.h"
#include "filter/family/scalable.h"
#include "filter/family/snapshot.h"
#include "filter/sizing.h"
#include "filter/family/stable.h"

#endif
