/* rate.h - how often a client may ask: the rules of a route, and what they make of one request.
 *
 * A rule lets a burst of requests through, and then one in each interval. All that has to be known
 * of a client for that is one time: up to when its requests have used up the intervals (the generic
 * cell rate algorithm, ITU-T I.371). A time that has passed says as much as none.
 *
 * Units     nanoseconds of a monotonic clock, which is an argument.
 * Threads   constant after creation.
 */
#ifndef SERVE_RATE_H
#define SERVE_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct config_rate;
struct config_route;

struct rate_rule {
	uint64_t id;	     /* of the same rule over reloads: where it applies, and its numbers */
	int64_t interval_ns; /* between two requests */
	int64_t burst_ns;    /* intervals that may be used up at a time */
	bool hits;	     /* answers from the cache count too */
};

enum { RATE_RULES_MOST = 2 };

/* Of one route: that of all, and its own. */
struct rate_rules {
	struct rate_rule of[RATE_RULES_MOST];
	unsigned count;
	bool hits, no_hits; /* there is one for which hits count; one for which they do not */
};

/* NULL: neither limits anything. */
struct rate_rules *
rate_rules_create(const struct config_rate *all, const struct config_route *route);
void rate_rules_destroy(struct rate_rules **r);

/* A request now, by a client whose intervals are used up until then. */
struct rate_verdict {
	int64_t wait_ns;  /* 0: it may; else so long */
	int64_t until_ns; /* up to when they are used up with this request */
};
struct rate_verdict rate_decide(const struct rate_rule *r, int64_t until_ns, int64_t now_ns);

#endif
