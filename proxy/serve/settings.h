/* settings.h - what the configuration says about requests, ready to use: one immutable object,
 * counted, so that it can be replaced while requests still hold the old one. A request, and the
 * trip to the origin that it began, keep the one they began with.
 *
 * Threads   each worker has its own, so that counting its users touches no line of memory that
 *           workers share. ref and unref on that worker's thread only.
 * Memory    the config and the groups are borrowed: they outlive every settings made of it. Whoever
 *           lends them is told when the last user has gone.
 */
#ifndef SERVE_SETTINGS_H
#define SERVE_SETTINGS_H

#include "proxy/base/network.h"
#include "proxy/serve/outgoing/outgoing.h"
#include "proxy/serve/routes/route.h"
#include "proxy/serve/rules/tags.h"

#include <stdatomic.h>

struct config;
struct upstream;

/* Of a route, whether codings of one version may be one form (agree.h). */
struct route_forms {
	_Atomic int64_t compared_ms; /* when two were last compared; 0: never */
	_Atomic bool apart;	     /* a difference was found: each is kept for itself */
};

struct settings {
	const struct config *config; /* limits, time limits and everything not compiled below */
	struct routes *routes;
	struct outgoing_settings outgoing;
	struct tag_settings tags;
	const char *name;	 /* of this cache, for Cache-Status (RFC 9211 2); static */
	struct buf via;		 /* forwarded.via and the node */
	struct network *trusted; /* forwarders that are believed: forwarded.trust */
	unsigned trusted_count;
	struct network *purge_from; /* who may send PURGE: cache.purge_from */
	unsigned purge_from_count;
	struct upstream *const *groups; /* of origins, by route */
	const unsigned char *counted;	/* under which number, by route with a name; borrowed */
	struct route_forms
		*forms; /* by route.row, of all workers; borrowed; NULL: none are compared */
	const struct str
		*pages; /* files that routes answer with, by route; p NULL: unread; borrowed */
	unsigned users;
	void (*gone)(void *lender); /* NULL: nobody wants to know */
	void *lender;
};

/* With one user: the caller. node: what tells this node from others of the same name in Via. */
struct settings *settings_create(const struct config *c, uint32_t node);
struct settings *settings_ref(struct settings *s);
void settings_unref(struct settings **s); /* the last one destroys */

static inline bool
settings_keeps_apart(const struct settings *s, const struct route *r)
{
	return s->forms && atomic_load_explicit(&s->forms[r->row].apart, memory_order_relaxed);
}

#endif
