/* fleet_purger.h - purges of a fleet at this node: its own, told to the others; those of others, applied here by a thread that
 * may wait for the disk.
 *
 * Three files beside the cache: fleet.purges, which purges of which node were applied and a number above all of this
 * one's, and fleet.outbox, its own that the journal does not have yet, and fleet.journal, where it stands in that. Neither says more than the purge log does: what
 * is in them is on disk there.
 *
 * Threads   as each function says.
 */
#ifndef NODE_FLEET_PURGER_H
#define NODE_FLEET_PURGER_H

#include "proxy/fleet/fleet.h"
#include "proxy/serve/relay.h"

struct fleet_purger;

/* Bytes of news that may wait to be applied; beyond, whoever has them tells them again. */
enum { FLEET_PURGER_WAIT_MOST = 4 << 20 };

struct fleet_purger *fleet_purger_create(const struct shelves *sh);
/* No fleet and no relay uses it any more. */
void fleet_purger_destroy(struct fleet_purger **p);
/* False: there is no thread to be had. Whoever hears before waits for it. */
bool fleet_purger_start(struct fleet_purger *p);

struct purge_names *fleet_purger_names(const struct fleet_purger *p);
struct outbox *fleet_purger_outbox(const struct fleet_purger *p);
struct journal_state *fleet_purger_journal(const struct fleet_purger *p);
const struct relay *fleet_purger_relay(const struct fleet_purger *p);
/* fleet_options.hear: any thread. */
void fleet_purger_hear(struct fleet_purger *p, struct fleet_news *n);
/* The last number of a purge of this node; 0: there was none. Any thread. */
uint64_t fleet_purger_last(const struct fleet_purger *p);

/* Reads the files, once, before a fleet runs. goes_on: in the place of another process that runs. */
void fleet_purger_read(struct fleet_purger *p, bool goes_on);
/* Writes what has changed of them: 0, or -1 and it is to be tried again. Waits for the disk; any thread. */
int fleet_purger_save(struct fleet_purger *p);

struct fleet_purger_facts {
	uint64_t heard, skipped; /* purges of others; of them, those that were applied before */
	uint64_t unknown;	 /* of a kind that is not known here: everything was purged */
	uint64_t invalidated;	 /* by unsafe requests to others */
	uint64_t refused;	 /* news that found no room */
};
struct fleet_purger_facts fleet_purger_facts(const struct fleet_purger *p);

#endif
