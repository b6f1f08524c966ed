/* worker.h - one thread of the proxy: its event loop, connections, fetcher, timers and counters.
 *
 * Threads   everything here belongs to the worker's own thread, but for its mailbox and the relaxed
 *           reads of its metrics.
 */
#ifndef NODE_WORKER_H
#define NODE_WORKER_H

#include "config/config.h"
#include "proxy/base/alarm.h"
#include "proxy/base/arena.h"
#include "proxy/base/buf.h"
#include "proxy/base/clock.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/metrics.h"
#include "proxy/cache/baseline.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/flight.h"
#include "proxy/serve/passes.h"
#include "proxy/serve/route.h"
#include "proxy/cache/seen.h"
#include "proxy/origin/fetch.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>

struct conn;
struct fill;
struct txn;

enum { FORGOTTEN_SLOTS = 4096, WRITING_SLOTS = 1024 };

/* What all workers share; constant after start but for what says otherwise. */
struct shared {
	const struct config *config;
	struct cache *cache;
	struct seen *seen;
	struct baseline *baseline;
	struct flights *flights;
	struct passes *passes;
	struct routes *routes;
	const struct filter_seed *seed;
	struct policy_settings policy;
	struct origin **origins;
	unsigned origin_count;
	_Atomic unsigned connections;
	_Atomic bool draining;
	_Atomic bool has_parts; /* a 206 was kept once: misses look for parts from then on */
	/* Counts, by the primary key's hash, how often something was forgotten: what set out before
	 * and comes back after is not stored (a collision costs one storing). */
	_Atomic uint32_t forgotten[FORGOTTEN_SLOTS];
	/* By the URL's hash, when that was: of routes whose keys hold more than the URL. */
	_Atomic int64_t url_forgotten_s[FORGOTTEN_SLOTS];
	/* By the key's hash: since when one fill writes a body too large for followers; 0: none. */
	_Atomic uint64_t writing[WRITING_SLOTS];
	_Atomic int log_fd; /* access log, or -1 */
};

/* What a connection may be waiting for, each with its own time limit: one list per kind, oldest
 * first, because all in a list wait equally long. */
enum waiting {
	WAIT_NOTHING,
	WAIT_HEADER,
	WAIT_IDLE,
	WAIT_BODY,
	WAIT_SEND,
	WAIT_FLIGHT,
	WAIT_KINDS
};

struct wait_list {
	struct conn *first, **last;
	int64_t limit_ms;
};

struct listener {
	struct event *ev;
	int fd;
	struct worker *worker;
	unsigned index;
};

struct worker {
	struct shared *shared;
	unsigned index;
	pthread_t thread;
	struct event_base *base;
	struct fetcher *fetcher;
	struct mailbox mailbox;
	struct event *mail, *nudged, *tick, *log_due;
	struct letter drain_letter;
	struct metrics metrics;
	_Atomic unsigned active_fetches; /* as of the last tick, for reports */
	struct listener *listeners;
	unsigned listener_count;
	struct wait_list waits[WAIT_KINDS];
	struct conn *conns;
	unsigned conn_count;
	struct fill *fills;
	struct txn *spare_txns;
	unsigned spare_count;
	struct alarms alarms; /* run by the tick */
	struct arena_pool arenas;
	struct buf log; /* access log lines not written yet */
	char *scratch;	/* SCRATCH_BYTES: what a socket is read into */
	bool draining;
	int64_t drain_until_ms;
};

enum { SCRATCH_BYTES = 128 << 10, TICK_MS = 50 };

int worker_open(struct worker *w, struct shared *shared, unsigned index);
void *worker_run(void *w); /* thread main */
void worker_close(struct worker *w);
void worker_drain(struct worker *w); /* any thread */
void worker_flush_log(struct worker *w);

#endif
