/* route_inside.h - what the files of routes share: route.c compiles and matches them, route_ask.c answers those
 * who ask about a route or a URL.
 */
#ifndef SERVE_ROUTE_INSIDE_H
#define SERVE_ROUTE_INSIDE_H

#include "proxy/serve/routes/route.h"
#include "proxy/serve/routes/route_conditions.h"
#include "proxy/serve/routes/route_index.h"

struct rule {
	struct str host; /* empty: any */
	struct buf path; /* as route_plain has it; empty: any */
	struct route route;
	struct route passing; /* the same, but it passes: for who could mean another route */
	struct route_conditions *conditions;	 /* owned */
	struct buf mark;			 /* route.key.mark lies here, or is constant */
	struct header_rules *request, *response; /* owned */
	struct local_rules *local;		 /* owned */
	struct rate_rules *rates;		 /* owned */
	struct rewrite *rewrite;		 /* owned */
	bool guards; /* it has rules of its own for who may ask or how often, or answers by itself */
};

struct routes {
	struct rule *rules; /* the last matches everything */
	unsigned count;
	const struct str *packed_types; /* owned; NULL: the usual ones, or none */
	bool by_more;		   /* than host and path: some have conditions */
	bool by_end;		   /* of the path: some are patterns */
	struct route_index *index; /* of all but the last */
	struct route closed;	   /* for who could mean a route that ends requests, or another */
};

/* The rule as a row of an index, its conditions included. */
struct route_index_row route_row(const struct rule *r);
/* The name alone: without port, final dots, and percent-encoding that a server may decode. */
void route_add_host(struct str authority, struct buf *out);
/* The forms in which the paths of rules and of requests are compared: as they are written, and as the key of a
 * route with normalise: on has them. Views into b. */
struct str route_plain(struct str path, struct buf *b);
struct str route_key_form(struct str path, struct buf *b);

#endif
