/* ghost_inside.h - what ghost.c and ghost_snapshot.c share. For nobody else. */
#ifndef CACHE_GHOST_INSIDE_H
#define CACHE_GHOST_INSIDE_H

#include "proxy/cache/ghost.h"
#include "proxy/cache/ledger.h"
#include "proxy/cache/ram_policy.h"

#include <stdatomic.h>

enum { GHOST_NONE = UINT32_MAX };

/* One object that the ghost holds: on disk, in RAM, or both. */
struct shade {
	struct ram_node node; /* while in RAM; first */
	uint64_t key;
	uint64_t bytes;
	uint32_t fresh_until, validator;
	uint32_t host;
	uint32_t url;		     /* the URL's low bits: which objects go together */
	uint32_t prev, next;	     /* of the same segment; free ones by next */
	uint32_t url_prev, url_next; /* of the same bucket of URLs */
	uint32_t segment;
	uint8_t hits; /* on disk, since it lies where it lies */
	bool used, on_disk, in_ram;
};

struct ghost {
	struct ghost_options o;
	_Atomic uint64_t threshold; /* keys up to it are in the sample */
	uint32_t weight;
	struct ledger ledger;
	struct ram_policy ram; /* bytes of the sample; its limit is the real one / weight */
	uint64_t ram_most;     /* of one object: a part of what would be its shard */
	struct shade *shades;  /* owned */
	uint32_t shades_n, used, free;
	uint32_t *table;    /* shade or GHOST_NONE; open addressing, 2 * shades_n slots */
	uint32_t *urls;	    /* first shade of each bucket, shades_n of them */
	uint32_t *segments; /* first shade of each, or GHOST_NONE */
	struct ghost_stats n;
};

/* Makes the sample half as large. */
void ghost_halve(struct ghost *g);
/* Room for one more shade, if need be by halving. False: so many keys are alike (hashes cannot be)
 * that halving does not help. */
bool ghost_make_room(struct ghost *g);
/* Takes so many real bytes of the log without counting them as written; GHOST_NONE: there is no
 * room at all. */
uint32_t ghost_take(struct ghost *g, uint64_t log_bytes);
/* A shade that lies in this segment. The key must be in the sample and not be there yet. */
void ghost_add(struct ghost *g, const struct shade *s, uint32_t segment);
bool ghost_holds(const struct ghost *g, uint64_t key);

#endif
