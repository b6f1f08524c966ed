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
struct flights;
struct passes;
struct rates;
struct seen;
struct twice_seed;

enum { WRITING_SLOTS = 1024, LANDED_SLOTS = 4096 };

struct shelves {
	struct cache *cache;
	struct seen *seen;
	struct baseline *baseline;
	struct flights *flights;
	struct passes *passes;
	struct passes *reloads; /* keys validated by a client's wish, or doubted, lately */
	/* Primary keys whose origin ignores Range: stored whole; and what turned out too large. */
	struct passes *unsliced;
	struct rates *rates; /* how often each client has asked, where a rule limits it */
	const struct twice_seed *seed;
	_Atomic unsigned tunnels; /* connections that switched protocols, or asked for it */
	_Atomic bool has_parts;	  /* a 206 was kept once: misses look for parts from then on */
	/* Counts, by the primary key's hash, how often a flight has put something there: who looked
	 * before that, and begins a flight after it, looks again instead of asking twice. */
	_Atomic uint32_t landed[LANDED_SLOTS];
	/* By the key's hash: since when one fill writes a body too large for followers; 0: none. */
	_Atomic uint64_t writing[WRITING_SLOTS];
};

#endif
