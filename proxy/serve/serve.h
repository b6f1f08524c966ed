/* serve.h - what a worker hands to the requests it serves: the shelves, the settings that hold now,
 * and the worker's own tools. serve knows of no event loop; node makes all of this.
 *
 * Threads   one worker's, but for what the shelves share and the mailbox takes from others.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "proxy/base/alarm.h"
#include "proxy/base/arena.h"
#include "proxy/base/buf.h"
#include "proxy/base/clock.h"
#include "proxy/base/logfile.h"
#include "proxy/base/hot.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/measures.h"
#include "proxy/base/metrics.h"
#include "proxy/fleet/chart.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/upstream.h"
#include "proxy/serve/key.h"
#include "proxy/serve/rules/request_id.h"
#include "proxy/serve/settings.h"
#include "proxy/serve/shelves.h"

struct fill;
struct lately;
struct txn;

/* This worker's lines of the access log go here. */
struct log_lines {
	struct logfile *file; /* NULL: there is no log */
	unsigned lane;
	struct buf line; /* the one being made; empty between requests */
};

/* The host that the baseline was last told of, and its hash. n 0: none. */
struct billed_host {
	char text[64]; /* the key up to the path: "http://host/" */
	size_t n;
	uint32_t hash;
};

struct serve {
	struct shelves *shelves;
	struct settings *settings; /* a reference; what begins now takes its own */
	struct metrics *metrics;
	struct measures *measures;
	struct hot *hot;	    /* the most frequent names of its requests */
	struct lately *lately;	    /* what became of the last requests */
	struct baseline_ring *ring; /* what the baseline is told */
	struct mailbox *mailbox;    /* where letters to this worker go */
	struct fetcher *fetcher;
	struct charts_follower fleet; /* the nodes of the fleet */
	struct alarms alarms;	      /* node runs them */
	struct arena_pool arenas;
	struct request_ids ids;
	struct log_lines log;

	struct fill *fills;	/* all of this worker's */
	struct txn *spare_txns; /* memory kept for the next ones */
	unsigned spare_count;
	struct fill *spare_fills;
	unsigned spare_fill_count;
	struct billed_host billed_host;
	struct buf lines;      /* of the request that leaves; empty in between */
	struct key stored_key; /* of the answer that is filed; the same */
};

#endif
