/* worker.h - one thread of the proxy: its event loop, connections, fetcher, timers and counters.
 *
 * Threads   everything here belongs to the worker's own thread, but for its mailbox and the relaxed
 *           reads of its metrics.
 */
#ifndef NODE_WORKER_H
#define NODE_WORKER_H

#include "proxy/base/clock.h"
#include "proxy/serve/serve.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>

struct conn;

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
	struct serve serve;	       /* what its requests are given */
	_Atomic unsigned *connections; /* of all workers together */
	unsigned index;
	pthread_t thread;
	struct event_base *base;
	struct mailbox mailbox;
	struct event *mail, *nudged, *tick;
	struct letter drain_letter;
	struct metrics metrics;
	_Atomic unsigned active_fetches; /* as of the last tick, for reports */
	struct listener *listeners;
	unsigned listener_count;
	struct wait_list waits[WAIT_KINDS];
	struct conn *conns;
	unsigned conn_count;
	char *scratch; /* SCRATCH_BYTES: what a socket is read into */
	int64_t drain_until_ms;
};

enum { SCRATCH_BYTES = 128 << 10, TICK_MS = 50 };

/* w->serve has shelves, settings, origins and the log's descriptor; the rest of it is made here. */
int worker_open(struct worker *w, unsigned index);
void *worker_run(void *w); /* thread main */
void worker_close(struct worker *w);
void worker_drain(struct worker *w); /* any thread */

#endif
