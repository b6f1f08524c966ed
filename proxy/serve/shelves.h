/* shelves.h - what is kept, and what is known of it: the cache, the sightings, the ghost that says
 * what an ordinary cache would hold, the fetches under way.
 *
 * Threads   shared by all workers. The pointers are constant after start; each thing behind them
 *           says what it locks.
 */
#ifndef SERVE_SHELVES_H
#define SERVE_SHELVES_H

#include "proxy/serve/share.h"

#include <stdbool.h>
#include <stdint.h>

struct baseline;
struct cache;
struct charts;
struct challenge_reader;
struct flights;
struct packer;
struct passes;
struct rates;
struct relay;
struct rests;
struct seen;
struct twice_seed;

enum { WRITING_SLOTS = 1024, LANDED_SLOTS = 4096 };

struct shelves {
	struct cache *cache;
	struct seen *seen;
	struct baseline *baseline;
	struct flights *flights;
	struct packer *packer; /* of what is admitted to the disk; NULL: nothing is packed */
	struct passes *passes; /* what was found of keys lately */
	struct rests *rests;   /* keys whose refresh has failed lately */
	struct rates *rates;   /* how often each client has asked, where a rule limits it */
	struct charts *fleet;  /* the nodes of the fleet, if there is one */
	struct challenge_reader *challenges; /* of tls.acme_challenges */
	const struct relay
		*relay; /* to the other nodes of a fleet (relay.h); NULL: there is none */
	const struct twice_seed *seed;
	struct share tunnels; /* connections that switched protocols, or asked for it */
	/* Counts, by the primary key's hash, how often a flight has put something there: who looked
	 * before that, and begins a flight after it, looks again instead of asking twice. */
	_Atomic uint32_t landed[LANDED_SLOTS];
	struct share expanding; /* bytes of memory that bodies hold which are expanded (plain.h) */
	struct share coding;	/* the same of bodies that are coded on their way (coded.h) */
	_Atomic bool agreeing;	/* two codings of one version are being compared (agree.h) */
	/* When the log last had that a body cannot be expanded, or is not itself when it is packed; 0: never. */
	_Atomic int64_t said_expands_not_ms, said_differs_ms;
	/* By the key's hash: which of its keys one fill writes a body too large for followers of, and
	 * since when; 0: none. */
	_Atomic uint64_t writing[WRITING_SLOTS];
};

#endif
