/* sighting.h - the rule of admission, whole and in one place: is this request a
 * sighting, what is the verdict, is the answer written to disk now?
 *
 * Pure: facts in, one struct out; no clock, no memory, no settings but those handed in. The proxy
 * asks through seen.h, which adds what it remembers; the simulator and the baseline ask directly.
 */
#ifndef CACHE_SIGHTING_H
#define CACHE_SIGHTING_H

#include "filter/family/filter.h"
#include "filter/hash.h"
#include "proxy/base/str.h"
#include "proxy/cache/admission/admission.h"
#include "proxy/cache/admission/askers.h"

#include <stdbool.h>
#include <stdint.h>

enum sighting_kind {
#define SIGHTING(id, records, adds, brings, what) SIGHTING_##id,
#include "proxy/cache/admission/sighting_kinds.h"
#undef SIGHTING
	SIGHTING_KINDS
};

struct sighting_settings {
	unsigned sightings;	   /* 1 admits everything, 2 the second, N the N-th */
	uint64_t max_object_bytes; /* of a body; 0: no bound */
	double fill_until;	   /* 0..1 of the disk: admit everything until then */
	unsigned large_sightings;  /* of bodies over SIGHTING_LARGE; 0: as of others */
};

/* Bytes. A body of unknown length is none that is larger. */
enum { SIGHTING_LARGE = 64 << 10 };

struct sighting_facts {
	enum sighting_kind kind;
	enum admission_rule route;
	unsigned sightings;	   /* of the route, instead of the setting for all; 0: none */
	uint64_t max_object_bytes; /* of the route, besides that for all; 0: none */
	bool storable;
	bool admitted; /* of a body in slices: its head is on disk, so its URL was seen often enough
			*/
	bool on_disk;  /* already, or being written for another request */
	int status;    /* of the answer; 200 for the whole that a part belongs to */
	uint64_t body_bytes; /* UINT64_MAX: not known yet */
	struct asker from;
	int64_t now_s;	/* of a Range */
	uint64_t slice; /* of RANGE_BEHIND: the number of the one that it counts for */
	struct twice_filter_sight known; /* before this request; seen_judge fills it in */
	double disk_used_share;		 /* 0..1; likewise */
	bool over_budget;		 /* likewise */
	bool alone; /* likewise: no other address asked for it, as far as is known */
	bool crowd; /* likewise, of a Range: other addresses ask for the URL too, or this one asked for many keys within a minute */
	bool over_share; /* likewise: so much was written for this address within an hour */
	/* How long the answer can be used without asking its origin, if that is known. */
	bool has_life;
	bool confirmed; /* a 304 has said once that it was still good: then it is worth its bytes */
	int64_t fresh_s;    /* from now on; less than 1: not at all */
	int64_t ram_turn_s; /* how long RAM keeps what nobody asks for; likewise filled in */
};

struct sighting {
	enum admission verdict;
	enum sighting_kind kind;
	uint64_t slice; /* of RANGE_BEHIND */
	bool recorded;	/* it counts: the memory of sightings has it from now on */
	bool writes;	/* to disk: as it comes, or at once when it is in RAM already */
	bool whole;	/* a request for less than the whole is reason enough to fetch the whole */
	bool alone;	/* what is written of it is charged to this address */
	struct asker from;
	struct twice_filter_sight known;
};

/* The key a variant's sightings are counted under: the URL's own hash while the object is not known
 * to vary (variant empty), else made of that and of what outgoing_variant gave. It is not the key
 * that the variant is stored under, which changes whenever the URL's variants are forgotten. */
struct twice_key_hash
sighting_key(const struct twice_seed *seed, struct twice_key_hash primary, struct str variant);

/* The key that a slice's sightings are counted under, whatever the version of its body; url: sighting_key. */
struct twice_key_hash sighting_slice_key(struct twice_key_hash url, uint64_t slice);

bool sighting_is_range(enum sighting_kind k);
/* Nobody will be answered with it from the disk: while it is fresh it is in RAM, too. A lifetime of less than
 * a quarter of a turn of RAM and of a minute is that short; so is none. Not asked of what a 304 has confirmed. */
bool sighting_is_too_short(int64_t fresh_s, int64_t ram_turn_s);
/* How many are asked for, with this one, before it is written. */
unsigned sighting_asked(const struct sighting_settings *s, const struct sighting_facts *f);
/* Whether this request is added to the memory. Needs no `known`. */
bool sighting_counts(const struct sighting_facts *f);
struct sighting sighting_decide(const struct sighting_settings *s, const struct sighting_facts *f);
/* The same when the body is whole and its length known: followers that counted came meanwhile. */
struct sighting sighting_at_end(const struct sighting_settings *s, const struct sighting_facts *f,
				unsigned followers, uint64_t body_bytes);

#endif
