/* route_conditions.h - what a route asks of a request besides host and path: its method, and values of its header
 * fields.
 *
 * The cache is shared: a field that chooses the route decides what is stored. So keys of a route that asks for
 * fields have a line that says which (mark), and requests that took another route never meet what lies there.
 * The line holds what is asked for, not what came: two requests that are one to the route have one key.
 *
 * A field that Connection names ends at this hop. It counts as one that did not come, for the origin does not
 * see it either.
 *
 * Memory    views into the config, which must outlive it.
 * Threads   constant after creation.
 */
#ifndef SERVE_ROUTE_CONDITIONS_H
#define SERVE_ROUTE_CONDITIONS_H

#include "proxy/base/buf.h"
#include "proxy/http/message.h"

struct config_match;

struct route_conditions {
	const struct str *methods; /* of one of these; none: any */
	unsigned method_count;
	struct route_field {
		struct str name, value; /* "*" in the value is any text */
	} * fields;
	unsigned field_count;
	struct buf mark; /* "\n@if accept-language:de*" of each; empty: no field is asked for */
};

/* NULL: it asks for nothing. */
struct route_conditions *route_conditions_create(const struct config_match *c);
void route_conditions_destroy(struct route_conditions **c);

/* HEAD is GET: both share a key. */
bool route_conditions_have_method(const struct route_conditions *c, const struct request *rq);
bool route_conditions_have_fields(const struct route_conditions *c, const struct request *rq);

#endif
