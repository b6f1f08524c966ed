/* filters_query.h - the query of a PUT of a filter: for how many keys, at which error rate, how fast it
 * grows.
 *
 * Threads   pure.
 */
#ifndef ADMIN_FILTERS_QUERY_H
#define ADMIN_FILTERS_QUERY_H

#include "filter/family/scalable.h"

/* query: NULL for none. NULL, or a sentence that says what is wrong. */
const char *filters_query_read(const char *query, struct twice_scalable_options *o);

#endif
