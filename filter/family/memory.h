/* memory.h - has this key been seen, and how often? One answer from four kinds of filter.
 *
 *	pair      the rotating pair (pair.h): two sightings, a guaranteed window
 *	counting  two rotating generations of counting cells: up to 15 sightings
 *	stable    one filter that forgets at random: never rotates, no window
 *	scalable  two generations that grow: the window is a time, not a number
 *
 * Which is right when, measured: README.md, "Which memory when".
 * A pair asked for more than two sightings is served by counting.
 *
 * Units     seconds, handed in: there is no clock here.
 * Lifetime  create / destroy; load instead of create restores a saved one.
 * Threads   test, record, tick, stats and save from any thread. The pair takes
 *           no lock. The others are cut into stripes by the key's hash, each
 *           under its own lock, which save holds while it writes that stripe.
 * Errors    memory_may says in words what options cannot be.
 */
#ifndef FILTER_MEMORY_H
#define FILTER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/hash.h"
#include "filter/pair.h"
#include "filter/family/seal.h"

/* clang-format off */
#define MEMORY_KINDS(X)                           \
	/* name      word        most sightings */ \
	X(PAIR,     "pair",      2)               \
	X(COUNTING, "counting", 15)               \
	X(STABLE,   "stable",    2)               \
	X(SCALABLE, "scalable",  2)
/* clang-format on */

enum memory_kind {
#define X(name, word, sightings) MEMORY_##name,
	MEMORY_KINDS(X)
#undef X
		MEMORY_KIND_COUNT
};

#define MEMORY_SIGHTINGS_MOST 15

struct memory_options {
	enum memory_kind kind;
	unsigned sightings;	 /* how many make a key known: 1..15 */
	uint64_t capacity;	 /* distinct keys per generation, or in stable's window */
	double false_positives;	 /* of the whole memory */
	double recall;		 /* stable: share of keys known after capacity others; 0: 0.95 */
	uint64_t rotate_after_s; /* age at which a generation closes; 0: never */
	uint64_t seed;		 /* stable: where its random draws begin */
};

struct memory_sight {
	enum sight sight; /* which generation knew the key */
	unsigned times;	  /* sightings recorded before this one, as far as known */
};

struct memory_stats {
	uint64_t generation;  /* how many were closed before the current one */
	uint64_t keys;	      /* new keys in the current one */
	uint64_t bytes;	      /* of memory, all in all */
	double fill_ratio;    /* share of the current one's cells in use */
	double estimated_fpr; /* the chance now that an unknown key seems known */
};

/* What a snapshot must agree with: the seed that hashed its keys, and the time. */
struct memory_place {
	const struct filter_seed *seed;
	int64_t now_s;
};

struct memory;

/* NULL when these options are possible, or a sentence that says what is wrong. */
const char *memory_may(const struct memory_options *o);

/* The kind that will serve: counting for a pair of more than two sightings. */
enum memory_kind memory_kind_for(const struct memory_options *o);

const char *memory_word(enum memory_kind kind);

/* The kind of that name: 0, or -1 when there is none. */
int memory_kind_of(const char *word, enum memory_kind *kind);

/* NULL when the options are impossible or memory is out. */
struct memory *memory_create(const struct memory_options *o, int64_t now_s);
void memory_destroy(struct memory **m);

/* What is known of the key; changes nothing. */
struct memory_sight memory_test(const struct memory *m, struct key_hash h);

/* The same, and one more sighting is recorded. Of racing threads one is told "first". */
struct memory_sight memory_record(struct memory *m, struct key_hash h);

/* Asks for the key's place in memory, to be there when test or record comes. */
void memory_prefetch(const struct memory *m, struct key_hash h);

/* The pair itself, borrowed, for its batch calls and fuller stats; NULL for other kinds. */
struct pair *memory_pair(const struct memory *m);

/* Call it about once a second: closes generations whose time is over. */
void memory_tick(struct memory *m, int64_t now_s);

void memory_stats(const struct memory *m, struct memory_stats *out);

/* The tag of sink and source is set from the seed. save: 0, or -1 when the sink failed.
 * load: NULL and *out set; or a constant sentence why not, and *out untouched. */
int memory_save(const struct memory *m, const struct memory_place *here, struct seal_sink to);
const char *memory_load(struct memory **out, const struct memory_options *o,
			const struct memory_place *here, struct seal_source from);

#endif
