/* purge_names.h - which purges of which node this one has heard of, and which it has applied.
 *
 * A purge has a name: its node and a number. Numbers of a node grow, over its restarts too: they begin at the clock (us
 * since 1970) or behind all that a file says were given, whichever is more. For each node three things are known:
 *
 *	told      the greatest number that was heard of: noted before it is applied
 *	through   all up to there are applied, or need not be
 *	recent    the last PURGE_NAMES_RECENT numbers that were applied, in whatever order: these are skipped
 *
 * So a request that goes on to another node can say what this one has heard of (purge_names_seen), and a node that is asked
 * can tell that it is behind (purge_names_is_behind): an answer of before a purge never comes back as one of after it.
 * Heard of goes up before a purge is applied and through behind that, so that both err on the safe side.
 *
 * A number that never comes does not hold others for longer than PURGE_NAMES_GAP_MS.
 *
 * Threads   any; purge_names_seen and purge_names_is_behind take no lock, what changes takes one for a moment.
 * Memory    4 KiB for each node; PURGE_NAMES_NODES at most, beyond that purges are applied again and never skipped.
 */
#ifndef FLEET_PURGE_NAMES_H
#define FLEET_PURGE_NAMES_H

#include "proxy/base/buf.h"

#include <stdint.h>

struct purge_names;

enum {
	PURGE_NAMES_NODES = 1024,
	PURGE_NAMES_RECENT = 512,
	PURGE_NAMES_SEEN_MOST = 32,
	PURGE_NAMES_SEEN_MS = 60 * 1000,
	PURGE_NAMES_GAP_MS = 2000,
	PURGE_NAMES_FILE_MOST = 4 << 20
};

struct purge_name {
	uint64_t node, number;
};

/* clock_us: unix time; no number below it is given. */
struct purge_names *purge_names_create(uint64_t clock_us);
void purge_names_destroy(struct purge_names **l);

/* This node is self from now on: all numbers that it may have given before count as applied. */
void purge_names_begin(struct purge_names *l, uint64_t self);
/* A number for a purge of this node: it is heard of from now on. */
uint64_t purge_names_take(struct purge_names *l, uint64_t self, int64_t now_ms);
/* This node; 0: not known yet. */
uint64_t purge_names_self(struct purge_names *l);
bool purge_names_has(struct purge_names *l, uint64_t node, uint64_t number); /* it was applied */
/* A purge of that node is heard of, and is about to be applied. False: it was applied before. */
bool purge_names_hear(struct purge_names *l, uint64_t node, uint64_t number, int64_t now_ms);
void purge_names_apply(struct purge_names *l, uint64_t node, uint64_t number, int64_t now_ms);
/* All of that node's below base are applied here, or need not be. */
void purge_names_advance(struct purge_names *l, uint64_t node, uint64_t base, int64_t now_ms);

/* The purges that were heard of in the last PURGE_NAMES_SEEN_MS: the latest of each node, PURGE_NAMES_SEEN_MOST at
 * most; how many. */
unsigned purge_names_seen(const struct purge_names *l, int64_t now_ms,
			  struct purge_name out[PURGE_NAMES_SEEN_MOST]);
/* Whether one of those purges, or one before it, is not applied here. */
bool purge_names_is_behind(const struct purge_names *l, const struct purge_name *seen, unsigned n,
			   int64_t now_ms);

/* To be kept over restarts, this node's own numbers among them; and what was kept. -1: it is damaged, and nothing has
 * changed. */
void purge_names_write(struct purge_names *l, struct buf *out);
int purge_names_read(struct purge_names *l, struct str file);

#endif
