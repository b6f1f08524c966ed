/* route_index.h - which of many rows of host and path, and of conditions besides, is the first that matches, without
 * looking at all of them.
 *
 * A host has a list of the rows that name it, each tail of names ("*.example.com") and "any" have
 * one too; the first match is the least of theirs. In a long list, the rows of one path are found by
 * a hash for each length that paths of the list have. Rows that are more than that lie beside (route_special.h).
 *
 * Cost      linear in host and path, and in the lengths of paths and tails that the rows name; not in
 *           their number. No allocation in a search.
 * Threads   constant after creation.
 */
#ifndef SERVE_ROUTE_INDEX_H
#define SERVE_ROUTE_INDEX_H

#include "proxy/http/message.h"

struct route_conditions;

struct route_index_row {
	struct str host; /* "example.com"; "*.example.com": all that end so; empty: any */
	struct str
		path; /* that the path begins with; with a "*" all of it, as glob.h has it; empty: any */
	bool any_case;				   /* of the path; of hosts it never counts */
	const struct route_conditions *conditions; /* NULL: none */
};

struct route_index;

/* The texts must outlive it; rows need not. */
struct route_index *route_index_create(const struct route_index_row *rows, unsigned n);
void route_index_destroy(struct route_index **x);

/* The first row that matches, or n. rq: for rows with conditions, which do not look at its host and path. */
unsigned route_index_find(const struct route_index *x, struct str host, struct str path,
			  const struct request *rq);

#endif
