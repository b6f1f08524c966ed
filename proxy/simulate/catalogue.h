/* catalogue.h - every URL of the log: its size and version, how often it is asked for, and when it
 * was last. What is measured of the log itself comes from here.
 *
 * A log is gone through once, or twice: then sizes, and whether a URL is asked for again, are known
 * beforehand in the second pass.
 *
 * Memory    at most `most` rows; when there are more URLs the largest ones are kept, and of the
 *           others a sample, chosen by hash (as the ghost does): each stands for `weight` of them.
 */
#ifndef SIMULATE_CATALOGUE_H
#define SIMULATE_CATALOGUE_H

#include "proxy/simulate/purges.h"
#include "proxy/simulate/visit.h"

struct catalogue;

/* halvings: of the sample, once there are enough URLs to tell which ones are large. */
struct catalogue *catalogue_create(uint64_t most_rows, unsigned halvings);
uint64_t catalogue_row_bytes(void); /* of memory at most, for each row; also while it grows */
void catalogue_destroy(struct catalogue **c);

/* Asks for the URL's row, to be there when see comes. */
void catalogue_prefetch(const struct catalogue *c, uint64_t key);

/* bytes: what the log said, or has_bytes is false; whole_size: of the object, not of what was sent.
 * Completes v: bytes, packed, at, validator, version, since, tracked, large, first, changed, again,
 * softened, and fresh_s where that was not told. */
struct catalogue_news {
	uint64_t bytes;
	bool has_bytes, whole_size, has_at; /* has_at: v->at is where it begins, not a guess */
	bool has_life; /* v->fresh_s was told; else the last one that was told of the URL counts */
	bool has_packed; /* packed: what packing leaves of it, in thousandths; 0: it is not packed */
	uint16_t packed;
	bool is_copy; /* a cache sent it, perhaps in another coding: a size that only it tells is no version */
	bool validated;	      /* an origin said that a copy of it was still good */
	struct purged purged; /* that cover the URL so far */
};
void catalogue_see(struct catalogue *c, struct visit *v, const struct catalogue_news *n);

/* The second pass begins: what was measured stays. */
void catalogue_rewind(struct catalogue *c);

enum { CATALOGUE_STEPS = 64, CATALOGUE_LOG2 = 40, CATALOGUE_HOURS = 24 };

/* Scaled up from the sample. */
struct catalogue_facts {
	double sample_share; /* of those that are not large */
	uint64_t rows, memory_bytes;
	double large_urls;			/* that are all there */
	uint64_t large_bytes;			/* from which on they are; UINT64_MAX: none is */
	uint64_t largest_bytes, smallest_bytes; /* of all URLs */
	uint64_t visits; /* all, whether their URLs are in the sample or not */
	double urls, once_urls, bytes, once_bytes; /* distinct; asked for once */
	double packable_bytes,
		packed_bytes; /* of those: that would be packed, before and behind it */
	double versions;      /* changes of a size */
	double returns; /* requests whose size is not that of the one before, but of an earlier one */
	/* By how often a URL is asked for: 1, 2, 3-4, 5-8...: URLs, their bytes, their requests. */
	double by_count[CATALOGUE_LOG2], by_count_bytes[CATALOGUE_LOG2],
		by_count_visits[CATALOGUE_LOG2];
	/* Requests for what was asked for before, by the time since then (log2 of seconds; 0: below
	 * one), and by how many other URLs were new meanwhile. */
	double gap_s[CATALOGUE_LOG2], gap_urls[CATALOGUE_LOG2];
	uint64_t hour_visits[CATALOGUE_HOURS], hour_bytes[CATALOGUE_HOURS]; /* of the day, UTC */
	/* While the log goes on: URLs so far, and how many of them were asked for once so far. */
	unsigned steps;
	struct {
		uint64_t visits;
		uint32_t now_s;
		double urls, once;
	} step[CATALOGUE_STEPS];
	uint32_t begin_s, end_s;
};
void catalogue_facts(const struct catalogue *c, struct catalogue_facts *out);
/* At most one key in 2^halvings is in the sample, and all that is of large_bytes. */
struct catalogue_sample {
	unsigned halvings;
	uint64_t large_bytes;
};
struct catalogue_sample catalogue_sample(const struct catalogue *c);

#endif
