/* route.h - which rules of the configuration apply to a request, and which group of origins is asked:
 * the first route that matches by host and path, and by method and fields where it asks for them. HEAD is GET
 * here, and keys of a route that asks for fields say which (route_conditions.h): no key has two routes.
 *
 * A route is an operator's promise, "below /account nothing is kept", and origins do not agree on
 * how a path is read. So it is matched in every reading that is known (decoded once or twice, with
 * dot segments and double slashes removed, without path parameters), and a request whose readings
 * match different routes passes. If one of them has rules of its own for who may ask or how often,
 * or answers by itself, nobody knows whether the origin would be asked for what it protects: that
 * request is denied.
 */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "proxy/cache/admission/admission.h"
#include "proxy/http/cachekey.h"
#include "proxy/http/coding.h"
#include "proxy/http/policy.h"
#include "proxy/serve/outgoing/header_rules.h"
#include "proxy/serve/routes/local_rules.h"
#include "proxy/serve/routes/rate.h"
#include "proxy/serve/outgoing/rewrite.h"

struct config;

/* The answers that are packed when they are admitted to the disk. */
struct route_packing {
	const struct str *types; /* compress_types_match; borrowed */
	unsigned type_count;	 /* 0: none is */
	bool streams;		 /* the same of answers on their way to clients */
	bool any;		 /* also those to requests with cookies or credentials */
};

struct route {
	unsigned place; /* of one with a name: in the configuration, from 1; else 0 */
	unsigned row;	/* among all of them, from 0: the last one is what no route matches */
	bool pass;	/* never look in or fill the cache */
	unsigned group; /* of origins: who is asked */
	enum admission_rule admit;
	unsigned sightings;	   /* before it is written; 0: as for all */
	uint64_t max_object_bytes; /* that are written at most; 0: as for all */
	struct policy_settings policy;
	int64_t stale_after_ms; /* how long its origin may hang before stale is served */
	struct key_rules key;
	struct coding_list codings; /* that its origins are asked for, best first; none: what clients want */
	struct route_packing packing;
	const struct str *upgrades; /* protocols that its connections may switch to */
	unsigned upgrade_count;
	bool streams; /* bodies of requests go on as they come, and may pause once an answer has begun */
	const struct header_rules *request, *response; /* NULL: none */
	const struct local_rules *local;	       /* NULL: none */
	const struct rate_rules *rates;		       /* NULL: a client may ask as it likes */
	const struct rewrite *rewrite; /* NULL: the origin is asked for the client's path */
	bool closed; /* who asks could mean a route that denies, limits or answers: nobody may */
	bool gated;  /* requests may end before anything is looked up (gate.h) */
};

/* The key holds more than the URL: headers or cookies, by which one URL has many primary keys, or a
 * mark. */
static inline bool
route_splits_urls(const struct route *r)
{
	const struct key_rules *k = &r->key;
	return (k->header_count | k->cookie_count | k->header_star_count | k->cookie_star_count |
		k->mark.n) != 0;
}

struct routes;

/* Constant after creation; views into the config, which must outlive it. */
struct routes *routes_create(const struct config *c);
/* Nothing of what they say is cached, from now on: before anybody else uses them. */
void routes_pass(struct routes *r);
void routes_destroy(struct routes **r);
/* Never NULL: what no route matches has the defaults. */
const struct route *route_find(const struct routes *r, const struct request *rq);
/* The rules of what no route matches. */
const struct route *route_default(const struct routes *r);
/* Its place in the configuration, from 1; 0: none matched. */
unsigned route_number(const struct routes *r, const struct route *found);

/* For people who ask why: the number of the first route that is for the path as it is written, or 0. For
 * other readings of the path, route_find may have found another one. */
unsigned route_as_written(const struct routes *r, const struct request *rq);
/* Why the route with this number (from 1) is not for the request. */
enum route_difference {
	ROUTE_NO_DIFFERENCE,
	ROUTE_HOST_DIFFERS,
	ROUTE_PATH_DIFFERS,
	ROUTE_METHOD_DIFFERS,
	ROUTE_FIELDS_DIFFER
};
enum route_difference
route_difference(const struct routes *r, unsigned number, const struct request *rq);

/* Whether a request's method or header fields may choose among routes. */
bool route_is_by_more(const struct routes *r);
/* For what is forgotten: calls each with the URLs of all keys under which answers to a GET of this request's URL
 * may lie, whatever header fields it has. Each once; one alone where routes are chosen by host and path. True: there
 * are keys of more than the URL (route_splits_urls). */
typedef void route_url_fn(void *ctx, struct str url);
bool
route_each_url(const struct routes *r, const struct request *rq, route_url_fn *each, void *ctx);

#endif
