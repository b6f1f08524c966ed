/* worker.h - one thread of the proxy: its event loop, its clients, fetcher, timers and counters.
 *
 * Threads   everything here belongs to the worker's own thread, but for its mailbox and the relaxed
 *           reads of its metrics.
 */
#ifndef NODE_WORKER_H
#define NODE_WORKER_H

#include "proxy/base/clock.h"
#include "proxy/serve/lately.h"
#include "proxy/serve/serve.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>

struct clients;
struct listener;
struct room;
struct wire;

struct worker_door {
	int fd;				 /* -1 once wire has it */
	const struct listener *listener; /* shared by all workers */
};

struct worker {
	struct serve serve;	 /* what its requests are given */
	struct clients *clients; /* of all workers together */
	struct room *room;	 /* the same */
	struct wire *wire;
	unsigned index;
	pthread_t thread;
	struct event_base *base;
	struct mailbox mailbox;
	struct event *mail, *nudged, *tick;
	struct letter drain_letter;
	struct metrics metrics;
	struct measures measures;
	struct lately lately;
	struct hot hot;
	_Atomic unsigned active_fetches; /* as of the last tick, for reports */
	struct worker_door *doors;	 /* listening sockets */
	unsigned door_count;
	_Atomic uint64_t turns; /* ticks so far, for the watchdog */
	bool draining;
	int64_t drain_until_ms;
};

enum { TICK_MS = 50 };
#define WORKER_HAS_ENDED UINT64_MAX /* as its turns */

/* w->serve has shelves, settings, origins and the log's descriptor; clients, room, doors and listeners
 * are set; the rest is made here. */
int worker_open(struct worker *w, unsigned index);
void *worker_run(void *w); /* thread main */
void worker_close(struct worker *w);
void worker_drain(struct worker *w); /* any thread */

#endif
