/* whatif.h - what would other settings do with the requests of now? The ghost (ghost.h), once for
 * each row of whatif_rows.h, with the rule of admission in front of it and a memory of sightings.
 *
 * A miniature: it follows the largest objects and of the others a sample of keys, the same ones in
 * all rows. So what rows differ by is known well, where each alone is not: all is told as a difference
 * from the row NOW, which has the proxy's own settings, and how far that one is off is told too.
 * The sample gets smaller when there are more objects than WHATIF_ENTRIES for a row, or when it costs
 * more than its share of the time: see whatif.c.
 *
 * Left out: fill_until, and that a disk may fail. The rule of admission is that of whatif_create.
 *
 * Answers   whatif_stats. Differences count from start; what is held survives a restart.
 * Memory    at most 8 Ki objects in each of 10 rows, 160 bytes each, and filters of 32 Ki URLs.
 * Threads   none, but that whatif_samples is for any.
 */
#ifndef CACHE_WHATIF_H
#define CACHE_WHATIF_H

#include "filter/family/filter.h"
#include "proxy/cache/admission/choice.h"
#include "proxy/cache/ghost/ghost.h"

enum { WHATIF_ENTRIES = 8 << 10, WHATIF_PARTS = 32 };

enum whatif_row {
#define WHATIF(id, name, sightings, disk, memory) WHATIF_##id,
#include "proxy/cache/ghost/whatif_rows.h"
#undef WHATIF
	WHATIF_ROWS
};
const char *whatif_name(enum whatif_row row);

struct whatif;

struct whatif_options {
	struct ghost_options ghost;	    /* of the proxy's own settings; a disk */
	struct twice_filter_options memory; /* likewise: its sightings are the rule's */
	uint64_t budget_bytes_s;	    /* of writes, for each row; 0: none (budget.h) */
	unsigned budget_saved_s;
	uint32_t lent; /* events that it may follow before any has paid; 0: 4,096 */
	/* A choice is made of the rows (choice.h), and those that are as now follow it: see settle. Its memory tells
	 * three sightings, of which so many are asked for now. */
	bool chooses;
	unsigned sightings, large_sightings;
};
/* NULL: there is no memory for it. */
struct whatif *whatif_create(const struct whatif_options *o);
void whatif_destroy(struct whatif **w);

/* Whether the key is in the sample, with this size. Any thread. */
bool whatif_samples(const struct whatif *w, uint64_t key, uint64_t sampled_as);
void whatif_see(struct whatif *w, const struct ghost_event *e);
/* So many requests were answered, whether they are in the sample or not; fetched: of them, by asking
 * an origin. They pay for the time that the sample takes. */
void whatif_earn(struct whatif *w, uint64_t requests, uint64_t fetched);

/* Rows that are as now ask for so many from now on (sighting_settings), of one that was created with a choice; no
 * more than three. */
void whatif_settle(struct whatif *w, unsigned sightings, unsigned large_sightings);
/* The figures of two sightings and of three of large bodies since this was last asked with from_here; false: there
 * are no such rows. */
bool whatif_period(struct whatif *w, bool from_here, struct choice_period *out);
/* The samples are this small at least, and what is so large is all in it (ghost_thin). */
void whatif_thin(struct whatif *w, unsigned halvings, uint64_t large_bytes);

void whatif_forget(struct whatif *w, uint64_t url);
void whatif_forget_host(struct whatif *w, uint32_t host);
void whatif_forget_all(struct whatif *w);

struct whatif_stats {
	double sample_share; /* of keys that are not large; 0: there is no what-if */
	uint64_t entries, memory_bytes;
	uint64_t budget_bytes_s; /* as it was created */
	unsigned budget_saved_s;
	unsigned sightings, large_sightings; /* of the row NOW */
	/* Of the row NOW: requests that asked an origin, less those that really did. */
	double off_requests;
	struct whatif_told {
		bool told;	    /* the row is there: it differs from others */
		unsigned sightings; /* of large bodies, where those differ */
		uint64_t disk_bytes, memory_bytes;
		double written_bytes;
		/* Requests that ask an origin, and bytes written, more than the row NOW has; and two
		 * standard errors of the sample. */
		double more_requests, more_written, more_requests_error, more_written_error;
	} rows[WHATIF_ROWS];
};
void whatif_stats(const struct whatif *w, struct whatif_stats *out);

/* Appends a snapshot of at most `most` bytes, or nothing when it does not fit. place: whose keys they
 * are, and the time. */
void whatif_save(struct whatif *w, const struct twice_filter_place *place, uint64_t most,
		 struct buf *out);
/* Into one that saw nothing yet. NULL; or why not, and it may be empty or partly filled. The bytes may
 * be anything at all. */
const char *whatif_load(struct whatif *w, const struct twice_filter_place *place, struct str bytes);

#endif
