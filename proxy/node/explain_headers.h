/* explain_headers.h - what each header does, one by one: those of a request to the origin and to the key, those
 * of a stored answer to its life.
 *
 * Memory    the caller's JSON; texts are copied.
 * Threads   pure.
 */
#ifndef NODE_EXPLAIN_HEADERS_H
#define NODE_EXPLAIN_HEADERS_H

#include "proxy/http/policy.h"
#include "proxy/serve/outgoing/outgoing.h"

#include <jansson.h>

struct config;

/* Bytes of strangers as text: what is not printable ASCII is written \xHH. */
json_t *explain_text(struct str s);

/* A list, in the order of the request: {"name", "value", "origin": what is sent there, or null, "key":
 * "primary", "variant" or null, "does": a sentence}. names: on which the URL varies. */
json_t *explain_request_headers(const struct outgoing *o, struct str primary, struct str names,
				enum client_directives client);

/* The same of a stored head: {"name", "value", "does"}. */
json_t *explain_stored_headers(const struct response *r, const struct policy_settings *set,
			       const struct terms *t);

/* Where a fetch would go, and by which Host: those of its servers, where they differ. */
json_t *explain_origin(const struct config *c, unsigned group, const struct outgoing *o,
		       struct str primary);

#endif
