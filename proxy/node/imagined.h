/* imagined.h - a request that nobody sent, taken the way of a real one (serve/lookup.c) up to its
 * key: parser, route, what is answered before the cache, key. Nothing is asked, stored or counted.
 *
 * Memory    an imagined request borrows the settings and the order; fini leaves it zeroed.
 * Threads   pure.
 */
#ifndef NODE_IMAGINED_H
#define NODE_IMAGINED_H

#include "proxy/serve/gate.h"
#include "proxy/serve/key.h"
#include "proxy/serve/settings.h"

struct imagined_order {
	struct str url;	   /* http:// or https://, and a host */
	struct str fields; /* lines, each with its end */
	struct str peer;   /* the address that it comes from; empty: not known */
	struct str method; /* empty: GET */
};

struct imagined {
	const struct settings *settings;
	struct str peer;
	struct buf head;    /* the request's bytes */
	struct buf cookies; /* the Cookie line without those that are ignored */
	struct buf path;    /* that the route makes of the client's, for the origin */
	struct field fields[FIELDS_MAX];
	struct request rq;
	const struct fault *fault; /* it is refused, and nothing below is known */
	const struct route *route;
	unsigned number; /* of the route; 0: none */
	struct outgoing outgoing;
	enum gate gate;	    /* who may ask is not known without a peer: as if it may */
	struct str upgrade; /* protocol of the tunnel that it asks for; empty: none */
	bool shared;	    /* the cache is asked */
	bool as_it_came;    /* but the origin by a question of its own */
	struct key key;	    /* its text; the hashes are made by who has the seed */
};

/* NULL; or a sentence that says why the order makes no sense, and nothing is to be ended. */
const char *
imagined_init(struct imagined *im, const struct settings *s, const struct imagined_order *o);
void imagined_fini(struct imagined *im);

/* Says what ends it before the cache is asked: "redirect"; NULL: the cache or an origin is asked. */
const char *imagined_deed(const struct imagined *im);
/* Appends a sentence that says why imagined_deed says so; nothing when that is NULL. */
void imagined_why(const struct imagined *im, struct buf *out);
/* Appends a sentence where the path as it is written is another route's, or none's; else nothing. */
void imagined_doubt(const struct imagined *im, struct buf *out);
/* Why the cache is not asked (not shared), as a sentence. */
const char *imagined_why_passed(const struct imagined *im);
/* And why the origin is asked by a question of its own (as_it_came). */
extern const char imagined_why_as_it_came[];
/* The route asks who the client is, and nobody said so. */
bool imagined_lacks_peer(const struct imagined *im);

#endif
