/* seen.h - what the rule of admission (sighting.h) needs to remember, and the one door to ask it:
 * the memory of sightings (the rotating pair, a cascade of pairs where more than two sightings are asked for, or
 * another kind of filter) with its snapshot, when its generations end, who asked for which
 * range within a minute, what one address alone asked for, and the write budget.
 *
 * Threads   judge, look, charge and report from any; tick and save from the keeper.
 */
#ifndef CACHE_SEEN_H
#define CACHE_SEEN_H

#include "filter/family/filter.h"
#include "filter/pair.h"
#include "filter/hash.h"
#include "proxy/cache/admission/choice.h"
#include "proxy/cache/admission/sighting.h"

struct cache;
struct cache_stats;
struct seen;

struct seen_rule { /* what may change while it is used */
	/* As many as the memory tells, or fewer; of the pair 1 or 2. 0: it is chosen (choice.h), by a memory of three. */
	unsigned sightings;
	double fill_until;	       /* 0..1 */
	uint64_t write_budget_bytes_s; /* 0: no bound */
	unsigned write_budget_saved_s; /* budget.h */
	uint64_t
		address_bytes; /* most in an hour, of what one address alone asked for; 0: no bound */
};

struct seen_options {
	struct cache *cache; /* borrowed: its seed, and its directory for the snapshot */
	bool saved;	     /* the cache has a directory */
	struct twice_filter_options
		memory;		   /* but for the seed; its sightings are the rule's, or three */
	uint64_t max_object_bytes; /* of a body; 0: no bound */
	struct seen_rule rule;
	int64_t now_ms; /* of the clock that seen_tick is told */
};

/* Restores the snapshot beside the cache, or starts empty with a warning that says why. -1 and a
 * sentence when there is no memory for it. */
int seen_open(struct seen **out, const struct seen_options *o, char *err, size_t err_bytes);
/* The rule from now on. One thread at a time. */
void seen_settle(struct seen *s, const struct seen_rule *r);
void seen_close(struct seen **s); /* saves nothing */

/* So many are asked for now. Any thread. */
struct sighting_settings seen_settings(const struct seen *s);
/* The choice, if there is one: false and nothing where a number is set. Any thread. */
bool seen_choice(const struct seen *s, struct choice *out);
/* By the keeper. Whether a generation has ended since the choice was last made; and then it is made: by what
 * happened meanwhile, or not by that (NULL). True: those figures were used. A change is in the log, and in the file
 * "choice" beside the filter's snapshot. */
bool seen_choice_is_due(const struct seen *s);
bool seen_choose(struct seen *s, const struct choice_period *p, int64_t now_s);

/* Asks for the key's line of memory, to be there when judge or look comes. */
void seen_prefetch(const struct seen *s, struct twice_key_hash h);

/* The rule for this request, which is recorded under key when it counts. f->known, disk_used_share,
 * over_budget, alone, crowd and over_share are filled in (f->known is the caller's for SIGHTING_BACKGROUND); a
 * Range for what its address asked for within a minute becomes SIGHTING_RANGE_REPEATED. f then holds all the
 * facts: see seen_at_end.
 */
struct sighting seen_judge(struct seen *s, struct twice_key_hash key, struct sighting_facts *f);
/* The same, but nothing is recorded: what would the rule say? */
struct sighting
seen_look(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f);
/* The rule again, of a fetch that was judged by f, when its body is whole. */
struct sighting seen_at_end(const struct seen *s, struct twice_key_hash key,
			    struct sighting_facts *f, unsigned followers, uint64_t body_bytes);

/* Whether an answer that is fresh for so long is of no use on the disk (sighting_is_too_short). */
bool seen_is_too_short(const struct seen *s, int64_t fresh_s);

/* Whether facts of other requests than ranges need their address: there is a disk. */
bool seen_asks_who(const struct seen *s);
/* Whether so much more may be written of what `by` says, where one address alone asked for it. */
bool seen_may_write(const struct seen *s, const struct sighting *by, uint64_t bytes);
/* So much is about to be written: kept free in what that address may have, until it is given back. How
 * much that was. */
uint64_t seen_set_aside(struct seen *s, const struct sighting *by, uint64_t bytes);
void seen_give_back(struct seen *s, const struct sighting *by, uint64_t bytes);
/* The address that had most written within the last hour, of what it alone asked for; false: none. */
bool seen_most_written(const struct seen *s, struct asker *who, uint64_t *bytes);

/* So many bytes went to the disk because of a verdict, `by` or NULL: not what is only begun.
 * Where no time is set (memory.rotate_after_s 0), a generation ends with a tenth of a turn of
 * the log in these bytes: what comes back more slowly would be evicted before its next hit. While
 * the log grows, fails or is none, it is a day. A kind that takes locks for it ends at the next tick; stable has
 * no generations. */
void seen_charge(struct seen *s, const struct sighting *by, uint64_t bytes);

/* About once a second, with the facts of the cache as they are. What was recorded is on disk within a minute
 * (seen_log.h), if there is a directory. */
void seen_tick(struct seen *s, int64_t now_s, int64_t now_ms, const struct cache_stats *cache);
/* Writes the snapshot, if there is a directory and something new; a warning when that fails. */
void seen_save(struct seen *s, int64_t now_s);
/* Sightings that will be on disk with the next snapshot only. */
uint64_t seen_unlogged(const struct seen *s);
void seen_report(const struct seen *s, struct twice_pair_stats *out);
/* How long the generation before the current one lasted, in seconds; 0: none has ended since
 * the one that was there at start. */
double seen_interval_s(const struct seen *s);

#endif
