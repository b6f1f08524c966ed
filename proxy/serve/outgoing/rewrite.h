/* rewrite.h - which path the origin is asked for instead of the client's: strip_prefix, rewrite and
 * add_prefix of a route, in this order.
 *
 * Nothing else changes: key, purges, rules and log go by the client's URL. The query stays as it is unless
 * rewrite.to has one of its own.
 *
 * The path is matched in normal form: encodings of unreserved bytes decoded and the others in upper case,
 * dot segments removed (RFC 3986 6.2.2), one slash at its beginning. Encodings in captures go out as they are. In a
 * query "&", ";", "=" and "+" of captures are encoded, for there they would be more than themselves. A path that
 * nothing of it applies to is asked for as it came.
 *
 * It always makes an origin-form (RFC 9112 3.2.1) that begins with one slash, has whole encodings, and that no
 * server can read as one with a segment "..": where add_prefix names a folder, nobody leaves it.
 *
 * Memory    views into the config, which must outlive them.
 * Threads   constant after creation.
 */
#ifndef SERVE_REWRITE_H
#define SERVE_REWRITE_H

#include "proxy/base/buf.h"
#include "proxy/http/fault.h"

struct config_route;
struct rewrite;

/* NULL: the route has none. Of what the rules of the configuration have let pass (config/rules_rewrite.c). */
struct rewrite *rewrite_create(const struct config_route *c);
void rewrite_destroy(struct rewrite **r);

/* Appends the path for the origin, perhaps with a query; nothing: as it came. path_query: of a
 * request. Not NULL: the request is refused, and nothing is appended. */
const struct fault *rewrite_path(const struct rewrite *r, struct str path_query, struct buf *out);

/* Appends the client's path for an origin's, without queries. False, and nothing: there is none that would be
 * asked for by exactly that. A route with rewrite has none at all. */
bool rewrite_back(const struct rewrite *r, struct str path, struct buf *out);

#endif
