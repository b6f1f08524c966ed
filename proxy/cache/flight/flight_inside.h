/* flight_inside.h - what the parts of a flight share; nobody else includes it.
 *
 *	flights.c       the flights in the air, by their keys
 *	flight.c        what the leader says of its fetch, what readers see
 *	flight_body.c   the body: how far the leader may run ahead
 *	flight_pace.c   whether the body comes fast enough
 *	flight_seat.c   who leads, who reads, and how they are woken
 *	flight_life.c   memory and references
 *
 * Calls go down this list.
 *
 * Lock order: shard, then flight. Wakes are posted under the flight's lock, so that a reader that
 * leaves knows for certain whether a letter of its own is still under way; the letter then frees
 * it.
 */
#ifndef CACHE_FLIGHT_INSIDE_H
#define CACHE_FLIGHT_INSIDE_H

#include "proxy/base/mailbox.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/cache/flight/window.h"

#include <pthread.h>
#include <sys/queue.h>

enum { FLIGHT_SHARDS = 64 };

struct flight_reader {
	struct letter letter; /* first: the letter is the reader */
	struct flight *flight;
	struct mailbox *home;
	flight_wake_fn *wake;
	void *ctx;
	size_t interim_at; /* of flight->interim */
	/* Under the flight's lock: */
	struct mark mark;
	bool posted; /* the letter is on its way */
	bool armed;  /* in flight->armed: waits for news */
	bool left;
	bool doubted;			 /* it may be gone */
	bool late;			 /* reads nothing: waits for the end, in flight->busy */
	TAILQ_ENTRY(flight_reader) link; /* in flight->armed or flight->busy */
};

TAILQ_HEAD(flight_readers, flight_reader);

struct flight_leader {
	struct letter letter;
	struct flight *flight; /* a reference, while posted */
	struct mailbox *home;  /* NULL: nobody leads */
	flight_wake_fn *wake;
	void *ctx;
	bool posted;
};

struct flight_pace {
	int64_t ms;  /* it is counted since then, or 0 */
	uint64_t at; /* and from this byte on */
	/* Of a body of unknown length: when its first bytes came, or 0; those that came at once. */
	int64_t first_ms;
	uint64_t first;
};

/* Second fetches of the same key. */
struct flight_rival {
	struct flight *before; /* the one that was overtaken, a reference, until the flight ends */
	struct flight *after;  /* the one that overtook, a reference, while several read */
	_Atomic bool overtaken;
	bool unproven;		     /* it has a head, but whether its body comes is to be seen */
	unsigned rounds, tries_left; /* of fetches beside the flight; in this round */
	int64_t next_try_ms;	     /* the next round */
};

struct flight {
	/* Kept when the struct is used again. */
	pthread_mutex_t lock;
	struct buf key, head_memory; /* the latter of the last flight's head; empty */
	struct piece *pieces;	     /* the window's, between two flights */
	unsigned piece_cap;
	struct block *spare; /* owned: of a body that nobody kept, for another such; or NULL */

	/* From here on zeroed for each. */
	_Atomic unsigned refs;
	struct flights *all;
	struct twice_key_hash hash;
	uint64_t begun;	       /* cache_now() */
	struct flight *next;   /* in the shard */
	_Atomic bool in_table; /* written under the shard's lock; never true again */

	_Atomic int state;
	struct flight_head head;
	struct buf interim;
	_Atomic size_t interim_bytes; /* interim.n, for those who look without the lock */
	int fail_status;
	const char *fail_word;
	uint64_t fail_blame;
	struct object *stored; /* a reference */
	struct buf trailers;

	/* Those who wait for news, and those who are at work: a wake looks at the first only. */
	struct flight_readers armed, busy;
	_Atomic unsigned reader_count; /* written under the lock, as the next */
	unsigned late_count;
	_Atomic unsigned doubted_count; /* of the readers; written under the lock */
	_Atomic unsigned follower_count;
	struct flight_reader seat; /* the first reader's place, so that most need no other */
	bool seat_taken;
	struct flight_leader leader;
	bool leader_waits, awaits_reader;
	_Atomic bool wanted;

	struct flight_rival rival;

	struct window window;
	_Atomic bool windowed;		       /* some bytes were let go or may be */
	int64_t begun_ms, refused_ms, lost_ms; /* refused_ms: the leader waits since, or 0 */
	struct flight_pace pace;
};

struct flight_shard {
	_Alignas(64) pthread_mutex_t lock;
	struct flight *first;
	struct flight *spare; /* to be used again, spare_count of them */
	unsigned spare_count;
	uint32_t block_bytes; /* of the spare ones' blocks */
};

struct flights {
	struct flights_options o;
	_Atomic uint64_t bytes, count;
	struct flight_shard shards[FLIGHT_SHARDS];
};

static inline struct flight_shard *
flight_shard_of(struct flights *fs, struct twice_key_hash h)
{
	return &fs->shards[h.hi % FLIGHT_SHARDS];
}

/* ---- flight_life.c ------------------------------------------------------------------------- */

/* Under the shard's lock: one to be used again, or NULL. */
struct flight *flight_take_spare(struct flight_shard *s);
/* One reference, the caller's. spare: to be used again, or NULL. */
struct flight *flight_create(struct flights *fs, struct flight *spare, struct twice_key_hash hash,
			     struct str key, uint64_t at, int64_t now_ms);
/* Frees the memory of one to which nobody has a reference. */
void flight_destroy(struct flight **f);

/* Give a lock back where what it guards has changed, and check what must be true of that: O(1), on
 * in production. */
void flight_unlock(struct flight *f);
void flight_shard_unlock(struct flight_shard *s);

/* ---- flight_pace.c, under the flight's lock ------------------------------------------------ */

enum { FLIGHT_DRIP_MS = 900 }; /* after which nobody new joins a body that drips */
bool flight_is_dripping(struct flight *f, int64_t now_ms, int64_t for_ms);
/* So much has come, or at such a pace, that those who wait for it elsewhere may have it instead. */
bool flight_is_proven(struct flight *f, int64_t now_ms);
/* Bytes of a body of unknown length were added. */
void flight_note_pace(struct flight *f, int64_t now_ms);

/* ---- flight.c, without a lock ------------------------------------------------------------- */

enum flight_news {
	FLIGHT_NEWS_GOOD,  /* it has an answer for them */
	FLIGHT_NEWS_NONE,  /* it has none: the next of them may try at once */
	FLIGHT_NEWS_BROKEN /* it had one, and that broke off: the same, where they were sent to it */
};
/* Those who wait for the fetches that f overtook, from before on, a reference that is taken. Of a
 * fetch that fails they hear once, or a second one would let two more try, and these four. */
void flight_tell(struct flight *f, struct flight *before, enum flight_news news);

/* ---- flight_seat.c, under the flight's lock ------------------------------------------------ */

/* A reader, with a reference of its own. */
struct flight_reader *
flight_seat(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx);
/* The same for one that came too late to read; some of the body is gone. */
struct flight_reader *
flight_seat_late(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx);
/* From now on a wake reaches r. */
void flight_arm(struct flight_reader *r);
void flight_wake_leader(struct flight *f);
/* Only those who wait for it: what the others do next shows them the news. */
void flight_wake_readers(struct flight *f);
/* The end is here. */
void flight_wake_late(struct flight *f);
/* Without the lock, the last of a reader that has left and has no letter under way. */
void flight_leave_seat(struct flight_reader *r);

#endif
