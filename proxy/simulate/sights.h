/* sights.h - a memory of sightings, asked for all visits of a batch: one of the proxy's filters, or
 * an exact set. What it knows does not depend on any cache, so that many policies share it; but for
 * one whose generations end with a tenth of a turn of a log, which belongs to the policy that has it.
 */
#ifndef SIMULATE_SIGHTS_H
#define SIMULATE_SIGHTS_H

#include "filter/family/filter.h"
#include "proxy/cache/admission/sighting.h"
#include "proxy/simulate/visit.h"

struct sights;

struct sights_options {
	struct twice_filter_options memory; /* rotate_after_s 0: as the proxy's auto */
	bool exact;
	bool by_turns; /* a generation is a tenth of a turn of the log, instead of a day */
};

/* NULL and a sentence. */
struct sights *sights_create(const struct sights_options *o, char *err, size_t err_bytes);
void sights_destroy(struct sights **s);
bool sights_are_like(const struct sights *s, const struct sights_options *o);

/* So much is known before a visit. A part counts once per client and minute, as in the proxy (seen.h): for its URL where it
 * asks for the first byte, else for each slice that it touches. */
struct sights_known {
	struct twice_filter_sight first; /* of the URL, or of the first slice */
	uint64_t behind;		 /* of the slices behind that one: SIGHTS_BITS for each */
	bool counts;
};
/* So many slices are told apart, and sightings up to three; further slices are as the last of them. */
enum { SIGHTS_BITS = 2, SIGHTS_BEHIND = 32 };
void sights_see(struct sights *s, const struct visit *v, size_t n, struct sights_known *known);
/* How often the nth slice behind the first one was seen. nth > 0. */
unsigned sights_times(const struct sights_known *k, uint64_t nth);
/* It counts for slices. */
bool sights_is_behind(const struct visit *v);
/* As which sighting it is judged; counts: of sights_known. */
enum sighting_kind sights_kind(const struct visit *v, bool counts);

/* By turns: one visit after another, and what came of it: so many bytes were admitted to a log of
 * ghost_turn_bytes. */
bool sights_are_by_turns(const struct sights *s);
void sights_prefetch(const struct sights *s, struct twice_key_hash h);
uint64_t sights_number(const struct sights *s); /* of the filter's generation */
void sights_charge(struct sights *s, uint64_t bytes, uint64_t turn_bytes);

struct sights_facts {
	uint64_t memory_bytes, rotations;
	uint64_t keys;		     /* that generations have taken in, all together */
	uint64_t first, false_first; /* URLs that were new, and seemed known */
};
void sights_facts(const struct sights *s, struct sights_facts *out);

#endif
