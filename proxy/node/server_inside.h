/* server_inside.h - the whole node, for server.c, which makes it, server_admin.c, which tells of it,
 * and reload.c, which changes it. */
#ifndef NODE_SERVER_INSIDE_H
#define NODE_SERVER_INSIDE_H

#include "proxy/node/admin_door.h"
#include "proxy/node/doorway.h"
#include "proxy/node/edition.h"
#include "proxy/node/server.h"
#include "proxy/node/worker.h"

#include <pthread.h>
#include <stdatomic.h>

struct seen_rule;

/* Threads that ask other machines, beside the workers. */
struct server_outward {
	struct health *health;
	struct membership *membership;
	struct sibling_door *siblings; /* where other nodes come in */
};

struct server {
	const char *version;
	struct shelves shelves;
	/* The edition in use is under `lock`, for a moment. The threads that ask for it hold what
	 * they asked for last, so that what they were told (names of servers) stays until they ask
	 * again. */
	pthread_mutex_t lock;
	struct edition *edition;
	struct edition *admins, *keepers; /* held by the admin thread, and by the keeper's */
	struct logfile *access_log;	  /* NULL: none; under lock */
	uint64_t log_dropped;		  /* by logs of before; under lock */

	/* One change at a time, and none once it ends. */
	pthread_mutex_t changing;
	bool ending; /* under changing */
	struct edition_names names;
	struct doorway_place *places; /* of each entry of listen */
	unsigned place_count, next_place;
	struct doorway_listeners listeners;
	struct tls_server *tls; /* NULL: no listener has needed it yet; set under lock */

	struct admin *admin;
	struct admin_door admin_door;
	struct server_orders orders;
	struct chronicle *chronicle;
	struct clients *clients;
	struct room *room;
	_Atomic bool draining;
	struct worker *workers; /* aligned: metrics have their own cache lines */
	unsigned worker_count;
	int64_t begun_us;
	bool started;
	struct keeper *keeper;
	struct server_outward outward;
	struct heir *heir; /* what there is of the process before; NULL: none */
	int heir_end;	   /* of the stream to the process behind this one; -1: none */
	size_t heir_owes;  /* answers; the purge log's thread asks */
	struct watchdog *watchdog;
};

/* Checks invariants under `changing`, at the doors of a change. O(1). */
void server_check(const struct server *s);
/* NULL: the settings want none. -1 and a sentence. */
int server_open_log(const struct server *s, const struct config *c, struct logfile **out, char *err,
		    size_t err_bytes);
enum { SERVER_LOG_END_MS = 2000 }; /* for the last lines */
/* New names are waited for so long, which one silent name server of two does not exceed; then
 * requests to them fail until they are found. */
enum { SERVER_NAMES_MS = 6000 };
/* How often, and how much, is written to disk. */
void server_budget(const struct config *c, struct seen_rule *out);
uint32_t server_packing_ppm(const struct config *c); /* of one core */

/* server_shelves.c. 0, or -1 and a sentence. */
int server_open_shelves(struct server *s, char *err, size_t err_bytes);
int server_open_sightings(struct server *s, char *err, size_t err_bytes);
unsigned server_workers(const struct config *c); /* threads */

/* server_admin.c. */
/* The same for the history, as a callback; ctx: the server. */
void server_admin_second(void *ctx, struct report *out);
/* Fills in the numbers that a fleet sums up (summary.h); any thread, at once. */
void server_admin_count(void *ctx, struct report *out);
/* 0, or -1 and a sentence. */
int server_admin_open(struct server *s, char *err, size_t err_bytes);

#endif
