/* seen_inside.h - what the files of seen share: seen.c (the rule, life), seen_turn.c (generations), seen_elder.c (the filter of
 * before its options changed), seen_choice.c (sightings: auto), seen_snapshot.c (the files beside the cache) and seen_replay.c (the log of what
 * was recorded since). For nobody else.
 */
#ifndef CACHE_SEEN_INSIDE_H
#define CACHE_SEEN_INSIDE_H

#include "proxy/cache/admission/accounts.h"
#include "proxy/cache/admission/budget.h"
#include "proxy/cache/admission/crowds.h"
#include "proxy/cache/admission/recent.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/cache/admission/seen_log.h"

#include <pthread.h>

/* A filter as a snapshot holds it. */
struct remembered {
	struct twice_pair *pair; /* owned, one of the two */
	struct twice_filter *memory;
	struct twice_filter_options options;
	uint64_t turned; /* with the one that learns (seen_elder_turn) */
};

enum { ELDER_TURNS = 2 }; /* then nothing of it counts */

struct seen_elder {
	struct remembered *_Atomic now; /* owned; NULL: there is none */
	_Atomic unsigned readers;
	struct remembered *gone; /* the keeper's: nobody finds it any more */
	uint64_t since;		 /* the generation of the other one, when that took over */
	bool saved;		 /* it has a file of its own */
};

struct seen_saved {
	uint64_t keys, number; /* of the last snapshot: is_saved */
	bool moves;	/* the files are those of another filter: they are to be saved anew */
	bool has_elder; /* there is a file of one */
};

struct seen_choice {
	_Atomic unsigned asked, asked_large; /* sighting_settings, also where they are set */
	pthread_mutex_t lock;		     /* the other lines, and who changes these */
	bool on;
	bool restored; /* the file was read, or looked for */
	bool saved;    /* the file says so */
	struct choice is;
	uint64_t judged; /* the generation when it was made */
};

struct seen_ram {
	_Atomic int64_t turn_s; /* as of the last tick */
	uint64_t evicted;	/* the keeper's: objects, at the last tick */
	double evicted_s;	/* bytes in a second, lately */
};

struct seen {
	struct cache *cache;
	bool on_disk;
	struct twice_pair *pair; /* one of the two */
	struct twice_filter *memory;
	struct seen_log *log; /* NULL: there is no directory */
	struct twice_pair_options pair_options;
	struct twice_filter_options memory_options;
	int64_t born_s;
	struct seen_saved saved;
	struct seen_elder elder;
	struct seen_choice choice;
	_Atomic double fill_until;
	uint64_t max_object_bytes;
	struct budget budget;
	_Atomic double disk_used_share; /* as of the last tick */
	bool by_turns;			/* generations end with a tenth of a turn of the log */
	struct seen_ram ram;
	_Atomic uint64_t turn_bytes; /* of the log, as of the last tick: turn.h */
	_Atomic uint64_t turning;    /* the generation that admitted counts for */
	_Atomic int64_t admitted;    /* bytes since it began */
	_Atomic double interval_s;   /* of the one before; 0: not known */
	uint64_t ticked_number;	     /* the keeper's: the generation at the last tick, */
	int64_t turned_ms;	     /* and since when it was known; 0: it was there at start */
	struct recent ranges;	     /* which address asked for a range of what */
	struct crowds crowds;
	struct askers askers;
	struct accounts *accounts;
	_Atomic int64_t ticked_s;	/* a monotonic clock, as of the last tick */
	_Atomic uint64_t address_bytes; /* most, of what one address alone asked for; 0: no bound */
};

/* A monotonic clock's, as of the last tick. */
static inline int64_t
seen_second(const struct seen *s)
{
	return atomic_load_explicit(&s->ticked_s, memory_order_relaxed);
}

/* seen_turn.c: this must hold once it is open. O(1). */
void seen_check(const struct seen *s);

/* seen_elder.c: is, of the one that learns, with what the elder knows. */
struct twice_filter_sight
seen_elder_test(struct seen_elder *e, struct twice_key_hash h, struct twice_filter_sight is);
/* By the keeper. */
void seen_elder_tick(struct seen *s, int64_t now_s);
void seen_elder_turn(struct remembered *r, uint64_t turns, int64_t now_s);
void seen_elder_fini(struct seen_elder *e);
void seen_elder_destroy(struct remembered **r);

/* seen_snapshot.c: makes s->pair or s->memory of the file, if there is one that is of use; one of other options
 * becomes the elder. */
void seen_restore(struct seen *s, int64_t now);
/* Of one of the two. */
uint64_t seen_generation(const struct twice_pair *pair, const struct twice_filter *memory);
/* seen_choice.c: what is asked for, from the start on. */
void seen_choice_open(struct seen *s);
void seen_choice_settle(struct seen *s, unsigned sightings);
void seen_choice_save(struct seen *s);

/* seen_replay.c: keys that were recorded since are recorded again; from here on there is a log. restored: there
 * was a snapshot. */
void seen_restore_log(struct seen *s, int64_t now, bool restored);

#endif
