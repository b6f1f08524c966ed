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
#include <semaphore.h>
#include <stdbool.h>

struct clients;
struct listener;
struct origins;
struct room;
struct wire;

struct worker_door {
	int fd;				 /* -1 once wire has it */
	unsigned id;			 /* of its place (doorway.h) */
	const struct listener *listener; /* shared by all workers */
};

struct worker {
	struct serve serve;	  /* what its requests are given */
	struct clients *clients;  /* of all workers together */
	struct clients *siblings; /* the same, of nodes of the fleet */
	struct room *room;	  /* the same */
	struct wire *wire;
	unsigned index;
	pthread_t thread;
	struct event_base *base;
	struct mailbox mailbox;
	struct event *mail, *nudged, *tick;
	struct letter drain_letter, lame_letter;
	struct metrics metrics;
	struct measures measures;
	struct lately lately;
	struct hot hot;
	struct chart *chart_seen;	 /* at the last tick; a reference, or NULL */
	_Atomic unsigned active_fetches; /* as of the last tick, for reports */
	struct worker_door *doors;	 /* listening sockets */
	unsigned door_count;
	_Atomic uint64_t ticks; /* so far, for the watchdog */
	bool draining;
	int64_t drain_until_ms;
};

enum { TICK_MS = 50 };
#define WORKER_HAS_ENDED UINT64_MAX /* as its ticks */

/* w->serve has shelves, settings, origins and the log's descriptor; clients, room, doors and listeners
 * are set; the rest is made here. */
int worker_open(struct worker *w, unsigned index);
void *worker_run(void *w); /* thread main */
/* Once more the letters that came, of a thread that has ended or never began. */
void worker_read_mail(struct worker *w);
void worker_close(struct worker *w);
void worker_drain(struct worker *w);	    /* any thread */
void worker_be_lame_duck(struct worker *w); /* the same; once */

/* A worker takes this over between two events. Requests under way keep what they began with. */
struct worker_change {
	struct letter letter; /* workers_change's, as the next two */
	struct worker *worker;
	sem_t *done;
	struct settings *settings; /* a reference, for the worker */
	struct logfile *log;
	struct worker_door *doors; /* more of them: fd is -1 afterwards; or -1 at once: not this */
	unsigned door_count;
	const struct worker_door *turned; /* places that stay, and what is spoken there; fd: -1 */
	unsigned turned_count;
	const unsigned *closed; /* places that are left */
	unsigned closed_count;
	const unsigned *forgotten; /* numbers of servers that have new owners */
	unsigned forgotten_count;
	const unsigned *unnamed; /* numbers of routes that have new names */
	unsigned unnamed_count;
	const struct origins *origins; /* those in use from now on */
	bool leaves; /* clients are told to go on by other connections (wire_leave) */
};
/* Each of the workers takes over its own of c; comes back when all have. Any thread but theirs. */
void workers_change(struct worker *w, struct worker_change *c, unsigned n);

#endif
