/* route_special.h - of the rows of one host those whose path is a pattern with "*", or that ask for more than
 * host and path (route_conditions.h): which of them is the first that matches, without looking at all of them.
 *
 * Rows are found by a hash of what their path begins and ends with, for each pair of lengths that these have.
 * Only rows with the right beginning and end are looked at.
 *
 * Cost      linear in the pairs of lengths that the rows have, and in those rows that begin and end as the path
 *           does. No allocation in a search but for a field that comes in several lines.
 * Threads   constant after creation.
 */
#ifndef SERVE_ROUTE_SPECIAL_H
#define SERVE_ROUTE_SPECIAL_H

#include "proxy/serve/routes/route_index.h"

struct route_special;

bool route_special_is(const struct route_index_row *row);

/* Creates it with the first row. In ascending order. */
void
route_special_add(struct route_special **s, const struct route_index_row *rows, unsigned number);
void route_special_destroy(struct route_special **s);

/* The first row that is for the path and the request and comes before least; else least. Their hosts
 * are not looked at. */
unsigned route_special_find(const struct route_special *s, const struct route_index_row *rows,
			    struct str path, const struct request *rq, unsigned least);

#endif
