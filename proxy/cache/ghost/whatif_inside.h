/* whatif_inside.h - what whatif.c and whatif_snapshot.c share. For nobody else. */
#ifndef CACHE_WHATIF_INSIDE_H
#define CACHE_WHATIF_INSIDE_H

#include "proxy/cache/admission/budget.h"
#include "proxy/cache/turn.h"
#include "proxy/cache/turning.h"
#include "proxy/cache/ghost/whatif.h"

/* One row. */
struct whatif_cell {
	struct ghost *ghost;	   /* NULL: the row is not told */
	unsigned sightings, large; /* sighting_settings: of all, and of large bodies if not 0 */
	uint64_t disk_bytes, memory_bytes;
	struct twice_filter_options options;
	struct twice_filter *memory; /* NULL: it admits all */
	uint64_t filter_bytes;	     /* of that; its other numbers take a look at its bits */
	struct turning turning;	     /* filter: the memory, where it has generations */
	bool by_turns;
	struct budget budget; /* of writes, where there is one; full after a restart */
	uint64_t written_before;
	uint64_t keys,
		number; /* that its generation learnt since it was looked at last, and which */
	double admitted,
		refused; /* bytes of objects that came in; that did not, for the budget alone */
	double sent;	 /* by origins, of bodies, more than really */
	/* Of those that stand for others, by parts of their keys. */
	double asked[WHATIF_PARTS], written[WHATIF_PARTS], came[WHATIF_PARTS], took[WHATIF_PARTS];
};

/* Counts since the start, of the rows that a choice is made of. */
struct whatif_mark {
	struct choice_period sums; /* without errors */
	double asked[WHATIF_PARTS], took[WHATIF_PARTS], came[WHATIF_PARTS];
};

struct whatif {
	struct whatif_options o;
	struct whatif_cell rows[WHATIF_ROWS];
	unsigned halvings; /* of all rows' samples */
	uint64_t large_bytes;
	int64_t account;
	uint64_t seen;
	uint64_t events, large_events; /* since the sample was last thinned */
	uint32_t now_s;
	double requests, bytes; /* that were answered */
	double plain_bytes, packed_bytes; /* records that were packed, before and behind that */
	struct whatif_mark mark;
};

/* The smallest sample that one of the rows has is that of all. */
void whatif_align(struct whatif *w);

#endif
