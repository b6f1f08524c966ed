/* shelves.h - what is kept, and what is known of it: the cache, the sightings, the ghost that says
 * what an ordinary cache would hold, the fetches under way.
 *
 * Threads   shared by all workers. The pointers are constant after start; each thing behind them
 *           says what it locks.
 */
#ifndef SERVE_SHELVES_H
#define SERVE_SHELVES_H

#include <stdbool.h>
#include <stdint.h>

struct baseline;
struct cache;
struct challenge_reader;
struct flights;
struct passes;
struct rates;
struct rests;
struct seen;
struct twice_seed;

enum { WRITING_SLOTS = 1024, LANDED_SLOTS = 4096, TUNNEL_SLOTS = 4096 };

struct shelves {
	struct cache *cache;
	struct seen *seen;
	struct baseline *baseline;
	struct flights *flights;
	struct passes *passes; /* what was found of keys lately */
	struct rests *rests;   /* keys whose refresh has failed lately */
	struct rates *rates;   /* how often each client has asked, where a rule limits it */
	struct challenge_reader *challenges; /* of tls.acme_challenges */
	const struct twice_seed *seed;
	/* Connections that switched protocols, or asked for it; the same of each client, by the hash of its
	 * address. */
	_Atomic unsigned tunnels, tunnels_of[TUNNEL_SLOTS];
	/* Counts, by the primary key's hash, how often a flight has put something there: who looked
	 * before that, and begins a flight after it, looks again instead of asking twice. */
	_Atomic uint32_t landed[LANDED_SLOTS];
	/* By the key's hash: which of its keys one fill writes a body too large for followers of, and
	 * since when; 0: none. */
	_Atomic uint64_t writing[WRITING_SLOTS];
};

#endif
