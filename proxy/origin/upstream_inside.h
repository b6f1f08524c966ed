/* upstream_inside.h - a group and its servers, for upstream.c and upstream_health.c.
 *
 * Threads   any: what changes is atomic.
 */
#ifndef ORIGIN_UPSTREAM_INSIDE_H
#define ORIGIN_UPSTREAM_INSIDE_H

#include "proxy/origin/outlier.h"
#include "proxy/origin/upstream.h"
#include "proxy/origin/usual.h"

#include <stdatomic.h>

/* As the word `held`: until its checks succeed. Later than any time. */
#define UPSTREAM_UNWELL ((uint64_t)INT64_MAX)

struct member {
	_Alignas(64) struct origin *origin; /* owned */
	uint64_t name;			    /* hash of its URL */
	unsigned number, weight;
	uint16_t mark; /* made of it, not 0 */
	bool backup;
	_Atomic uint64_t held;	     /* until_ms << LEVEL_BITS | level; 0: asked; UPSTREAM_UNWELL */
	_Atomic int why;	     /* of the last failure: a status, or minus a fetch_end */
	_Atomic bool failing;	     /* its failures in a row speak against it */
	_Atomic bool said;	     /* so the log says */
	_Atomic int64_t said_ms;     /* when it last said so of a lone one; 0: never */
	_Atomic uint64_t probed_by;  /* the last probe: client << 32 | URL; 0: nobody's */
	_Atomic int64_t returned_ms; /* since when it is asked again; 0: all the time */
	_Atomic int64_t answered_ms; /* last, but for UPSTREAM_ANSWERED_STEP_MS; 0: never */
	_Atomic unsigned checks_failed, checks_good; /* in a row, up to fall and to rise */
	_Atomic bool unwell;			     /* by its checks */
	_Atomic int check_why;			     /* as why */
	_Alignas(64) struct outlier outlier;
	_Alignas(64) struct usual usual;
	_Alignas(64) _Atomic unsigned active;
};

struct upstream {
	_Atomic unsigned users;
	char *name;
	enum balance balance;
	unsigned retries, most, share, count;
	struct upstream_checks checks; /* strings owned */
	_Alignas(64) _Atomic uint64_t turn;
	_Atomic unsigned active, retrying; /* requests under way, and retries among them */
	_Atomic unsigned retrying_by[OUTLIER_PLACES]; /* of these, by the places of clients */
	_Atomic unsigned held;			      /* servers left alone: at most half */
	struct member members[];
};

/* It is left alone, but its time is up and nobody else finds out whether it is back: the request of
 * that source does. */
bool upstream_wins_probe(struct member *m, struct source from, int64_t now_ms);
/* Its weight now: one that has come back is given its part bit by bit. Greater than the
 * configured one by a factor that is the same for all. */
unsigned upstream_weight(const struct member *m, int64_t now_ms);

#endif
