/* routing.h - which route a request would take and what would become of it, from a configuration
 * alone: no origin, cache or socket is there.
 *
 * Threads   one.
 */
#ifndef NODE_ROUTING_H
#define NODE_ROUTING_H

#include "proxy/base/str.h"

#include <jansson.h>

struct config;

struct routing_order {
	struct str url, fields; /* fields: lines, each with its end */
	struct str from;	/* the client's address; empty: not said */
	struct str method;	/* empty: GET */
};

struct routing;
/* The config is borrowed. */
struct routing *routing_create(const struct config *c);
void routing_destroy(struct routing **r);

/* NULL and an object in *out, the caller's; or a sentence that says why the order makes no sense.
 * The object: "url", "does", "why": sentences; then, if the request is not refused as malformed,
 *   "route"        {"number", "host", "path", "settings": {name: value}}, or null: the defaults
 *   "not_matched"  [{"number", "host", "path", "because"}], and how many "not_matched_more"
 *   "client"       {"address", "may_ask"}, or null: not said
 *   "status", "location"   of what is answered before the cache is asked, or null
 *   "key"          and "origin" {"group", "host", "target"}, or null: none is asked */
const char *routing_ask(struct routing *r, const struct routing_order *o, json_t **out);

#endif
