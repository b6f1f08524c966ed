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
#include "proxy/base/mailbox.h"
#include "proxy/base/metrics.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/upstream.h"
#include "proxy/serve/settings.h"
#include "proxy/serve/shelves.h"

struct fill;
struct txn;

/* Lines of the access log that are not written yet. */
struct log_lines {
	struct buf lines;
	const _Atomic int *fd;	 /* where they go; -1: nowhere */
	void (*due)(void *node); /* called when the first line is there: flush at the turn's end */
	void *node;
};

struct serve {
	struct shelves *shelves;
	struct settings *settings; /* a reference; what begins now takes its own */
	struct upstream *upstream;
	struct metrics *metrics;
	struct mailbox *mailbox; /* where letters to this worker go */
	struct fetcher *fetcher;
	struct alarms alarms; /* node runs them */
	struct arena_pool arenas;
	struct log_lines log;
	bool draining; /* connections are closed behind their answer */

	struct fill *fills; /* all of this worker's */
	struct txn *spare_txns;
	unsigned spare_count;
};

#endif
