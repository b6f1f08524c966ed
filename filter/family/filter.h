/* filter.h - has this key been seen, and how often? One answer from five kinds of filter.
 *
 *	pair      the rotating pair (pair.h): two sightings, a guaranteed window
 *	cascade   pairs one behind the other (cascade.h): up to 15 sightings
 *	counting  two rotating generations of counting cells: up to 15 sightings
 *	stable    one filter that forgets at random: never rotates, no window
 *	scalable  two generations that grow: the window is a time, not a number
 *
 * Which is right when, measured: README.md, "Which filter for admission".
 * A pair asked for more than two sightings is served by a cascade, and a cascade asked for less by a pair.
 *
 * Units     seconds, handed in: there is no clock here.
 * Lifetime  create / destroy; load instead of create restores a saved one.
 * Threads   test, record, tick, stats and save from any thread. Pair and cascade take
 *           no lock. The others are cut into stripes by the key's hash, each under
 *           its own lock; save holds it while it copies the stripe, and writes afterwards.
 * Errors    twice_filter_may says in words what options cannot be.
 */
#ifndef TWICE_FILTER_H
#define TWICE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/pair.h"
#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define TWICE_FILTER_KINDS(X)                           \
	/* name      word        most sightings */ \
	X(PAIR,     "pair",      2)               \
	X(COUNTING, "counting", 15)               \
	X(STABLE,   "stable",    2)               \
	X(SCALABLE, "scalable",  2)              \
	X(CASCADE,  "cascade",  15)
/* clang-format on */

enum twice_filter_kind {
#define X(name, word, sightings) TWICE_FILTER_##name,
	TWICE_FILTER_KINDS(X)
#undef X
		TWICE_FILTER_KIND_COUNT
};

#define TWICE_FILTER_SIGHTINGS_MOST 15

struct twice_filter_options {
	enum twice_filter_kind kind;
	unsigned sightings;	 /* how many make a key known: 1..15 */
	uint64_t capacity;	 /* distinct keys per generation, or in stable's window */
	double false_positives;	 /* of both generations together */
	double recall;		 /* stable: share of keys known after capacity others; 0: 0.95 */
	uint64_t rotate_after_s; /* age at which a generation closes; 0: never */
	uint64_t seed;		 /* stable: where its random draws begin */
};

struct twice_filter_sight {
	enum twice_sight sight; /* which generation knew the key */
	unsigned times;		/* sightings recorded before this one, as far as known */
};

struct twice_filter_stats {
	uint64_t generation;  /* how many were closed before the current one */
	uint64_t keys;	      /* new keys in the current one */
	uint64_t bytes;	      /* of memory, all in all */
	double fill_ratio;    /* share of the current one's cells in use */
	double estimated_fpr; /* the chance now that an unknown key seems known */
	int64_t born_s;	      /* when the current one began */
};

/* A snapshot must agree with the seed that hashed its keys, and with the time. */
struct twice_filter_place {
	const struct twice_seed *seed;
	int64_t now_s;
};

struct twice_filter;

/* NULL when these options are possible, or a sentence that says what is wrong. */
const char *twice_filter_may(const struct twice_filter_options *o);

/* The kind that will serve: a cascade for a pair of more than two sightings, and the other way round. */
enum twice_filter_kind twice_filter_kind_for(const struct twice_filter_options *o);

const char *twice_filter_word(enum twice_filter_kind kind);

/* The kind of that name: 0, or -1 when there is none. */
int twice_filter_kind_of(const char *word, enum twice_filter_kind *kind);

/* NULL when the options are impossible or memory is out. */
struct twice_filter *twice_filter_create(const struct twice_filter_options *o, int64_t now_s);
void twice_filter_destroy(struct twice_filter **m);

/* Looks the key up; changes nothing. */
struct twice_filter_sight twice_filter_test(const struct twice_filter *m, struct twice_key_hash h);

/* The same, and one more sighting is recorded. Of racing threads one is told "first". */
struct twice_filter_sight twice_filter_record(struct twice_filter *m, struct twice_key_hash h);

/* Asks for the key's place in memory, to be there when test or record comes. */
void twice_filter_prefetch(const struct twice_filter *m, struct twice_key_hash h);

/* The pair itself, borrowed, for its batch calls and fuller stats; NULL for other kinds. */
struct twice_pair *twice_filter_pair(const struct twice_filter *m);
struct twice_cascade;
struct twice_cascade *twice_filter_cascade(const struct twice_filter *m);

/* Call it about once a second: closes generations whose time is over. */
void twice_filter_tick(struct twice_filter *m, int64_t now_s);

/* Whether it has generations that can be ended from outside: all kinds but stable. */
bool twice_filter_has_generations(const struct twice_filter *m);

/* Of the current generation, from 0: twice_filter_stats().generation without the rest. */
uint64_t twice_filter_number(const struct twice_filter *m);

/* Ends the current generation. */
void twice_filter_rotate(struct twice_filter *m, int64_t now_s);

/* Ends generation `number`, wherever that is still the current one, unless something has to be waited for
 * (twice_pair_try_rotate); of a kind with stripes each under its lock, which takes memory for a new one. True if
 * it ended somewhere: ask again until it did. */
bool twice_filter_try_rotate(struct twice_filter *m, uint64_t number);

/* Whether twice_filter_number and twice_filter_try_rotate take no lock and no memory. */
bool twice_filter_is_lock_free(const struct twice_filter *m);

void twice_filter_stats(const struct twice_filter *m, struct twice_filter_stats *out);

/* The tag of sink and source is set from the seed. save: 0, or -1 when the sink failed.
 * load: NULL and *out set; or a constant sentence why not, and *out untouched. */
int twice_filter_save(const struct twice_filter *m, const struct twice_filter_place *here,
		      struct twice_snapshot_sink to);
const char *
twice_filter_load(struct twice_filter **out, const struct twice_filter_options *o,
		  const struct twice_filter_place *here, struct twice_snapshot_source from);

/* The options of the filter that the first TWICE_FILTER_HEAD bytes of a snapshot begin, but for its age and its draws;
 * false: they begin none that this program could load with this seed. */
#define TWICE_FILTER_HEAD 104
bool twice_filter_saved_options(const void *head, const struct twice_seed *seed,
				struct twice_filter_options *out);

#ifdef __cplusplus
}
#endif

#endif
