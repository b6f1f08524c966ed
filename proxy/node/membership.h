/* membership.h - this server as a node of its fleet: made of the configuration, kept beside the cache, and told
 * to the admin server. Without a fleet in the configuration nothing of it runs.
 *
 * Two files lie in the directory of the cache, beside those of fleet_purger.h: fleet.node, the id of this node, and
 * fleet.members, who was a member last, for a start while the engine is away. Without a directory both are new at each start.
 *
 * Threads   membership_open to membership_end: one at a time, as changes of the server are; membership_save: one;
 *           the others any but workers'.
 */
#ifndef NODE_MEMBERSHIP_H
#define NODE_MEMBERSHIP_H

#include "proxy/admin/report.h"
#include "proxy/cache/cache.h"
#include "proxy/serve/settings.h"

#include <jansson.h>

struct cache;
struct chart;
struct charts;
struct config;
struct membership;
struct resolver;
struct sibling_door;

/* All are borrowed. */
struct shelves;
struct membership *membership_create(const struct shelves *sh, struct resolver *resolver,
				     struct sibling_door *door, const char *version);
/* Before membership_open: what of the numbers of this node its siblings are told (summary.h) is filled in by count, on any thread, also the
 * fleet's, which must not wait. */
void
membership_count_by(struct membership *m, void (*count)(void *ctx, struct report *out), void *ctx);
/* After membership_end. NULL: nothing happens. */
void membership_destroy(struct membership **m);

/* Before membership_open: this process takes the place of one that runs. */
void membership_go_on(struct membership *m);

/* The seed that the cache of a node is to have: made of the fleet's secret in bytes, and *seed is those; NULL: there is
 * no fleet. -1 and a sentence: the secret cannot be read. */
int membership_seed(const struct config *c, char bytes[CACHE_SEED_BYTES], const char **seed,
		    char *err, size_t err_bytes);

/* The name of this node: as set, or the machine's, with "-" for what no name of a node has; returns out. */
enum { MEMBERSHIP_NAME = 64 };
const char *membership_name(const struct config *c, char out[MEMBERSHIP_NAME]);

/* Opens what these settings want, beside what runs. 0; or -1, the setting ("fleet.listen") and a sentence. */
int membership_open(struct membership *m, const struct config *c, const char **setting, char *err,
		    size_t err_bytes);
/* The fleet that was opened runs from here on, in the place of the one that ran; without a thread to be had, the log says so. */
void membership_begin(struct membership *m);
/* Closes what was opened. */
void membership_discard(struct membership *m);
/* leaves: the other nodes are told; else another process is this node now. */
void membership_end(struct membership *m, bool leaves);

/* Now and then, by who may wait for a disk: what is new of the two files is written. */
void membership_save(struct membership *m);

/* Once a second or so, by who may take long: nodes of other zones are told what is on the disk, when they know it no more. */
void membership_tell_disk(struct membership *m);

/* Of the fleet that runs, for workers; it lives as long as m. */
struct charts *membership_charts(struct membership *m);
/* To the other nodes, for shelves.relay; as long as the membership. */
struct relay;
const struct relay *membership_relay(const struct membership *m);
/* Tells which other nodes have the purges of this node so far; waits for the disk where the journal lacks them. */
struct purge_others;
void membership_purged(struct membership *m, struct purge_others *others);

void membership_report(struct membership *m, struct report_fleet *out);
/* The nodes that own a key, and who owned it before the last changes: JSON, the caller's. Any thread. */
json_t *membership_owners(const struct chart *c, struct str key, struct twice_key_hash h);
/* GET and POST /fleet (admin.h): JSON and 200, or a sentence and the status. With stats=1 other nodes are asked: a second at most. */
int membership_answer(struct membership *m, const struct settings *s, const struct twice_seed *seed,
		      bool orders, const char *query, struct buf *out);

#endif
