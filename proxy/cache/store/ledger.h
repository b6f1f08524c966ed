/* ledger.h - which segment of the log is open, which are sealed, which goes next. Pure: numbers
 * only, so that the store and the ghost of the baseline run the same policy.
 *
 *	free --ledger_open_next--> open --ledger_seal--> sealed --ledger_free--> free
 *	                                sealed --ledger_retire--> going --ledger_free--> free
 *
 * Who goes: a segment earns a root of the bytes that each answer took from it (their power of 0.6: between
 * counting answers, which favours small objects, and counting bytes), and what it earned fades. The victim is the
 * segment that earned least among the older three quarters of the log; so what is new has its time to be asked for,
 * and a segment that is asked for stays.
 *
 * Small records of a victim are carried over into the open segment, whether they were asked for or not: the room of
 * one large object keeps hundreds of them. The bound between small and large is higher for what was hit lately, and
 * follows what goes: it falls after a victim of which more than a tenth moved on, and rises after any other. So small
 * objects that nobody asks for have a tenth of the log, and no more (bench/cells.sh has the figures).
 *
 * Fades happen four times in a turn of the log: earnings are halved, and the owner halves the hits
 * of its objects, of which at most three pay in between: so no object keeps a segment alone.
 *
 * Victims are not the oldest: what a record in them replaced may outlive it, and the owner has to
 * see to it that it is not found again: it is forgotten, which has its price. So there is a credit,
 * to which each victim adds; a segment with more such records than it waits until the credit has
 * grown, or until it is the oldest, which replaced nothing that is left. Few of them are forgotten
 * in the end (most move on, or were replaced in their turn), so the credit is rarely short.
 *
 * Threads   none of its own; the owner's lock, but for ledger_pay, ledger_fades and ledger_carries: any thread.
 */
#ifndef CACHE_LEDGER_H
#define CACHE_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum ledger_state {
	SEGMENT_ABSENT,
	SEGMENT_FREE,
	SEGMENT_OPEN,
	SEGMENT_SEALED,
	SEGMENT_GOING /* being emptied; no victim for anybody else */
};

struct ledger_slot {
	enum ledger_state state;
	uint32_t generation; /* while open or sealed */
	uint32_t leases;     /* readers that need it to stay */
	uint32_t holds;	     /* bodies that are being written, with pieces in it */
	uint32_t replaced;   /* its records that took the place of older ones */
	uint64_t used;	     /* bytes from its start */
};

struct ledger {
	struct ledger_slot *slots; /* owned */
	uint32_t slots_n;
	uint32_t limit; /* segments that may exist (not absent) at once */
	uint32_t exist, free;
	uint32_t leased;     /* with leases */
	uint32_t held;	     /* with holds */
	int64_t open;	     /* slot, or -1 */
	uint32_t generation; /* the last one given out; 0: none */
	uint64_t segment_bytes, used;
	uint32_t forget_share;	  /* that each victim adds to the credit; 0: any may be forgotten */
	uint64_t forget_credit;	  /* of what was replaced and may be forgotten, at most */
	_Atomic uint64_t *earned; /* owned; of each slot */
	uint32_t opened;	  /* segments, since the last fade */
	_Atomic uint32_t fades;	  /* so far */
	_Atomic uint64_t small_bytes; /* records up to it are carried */
	uint64_t large_credit;	  /* bytes of large bodies that may be carried */
};

/* slots_n >= limit: room for segments left over from a larger limit. */
void ledger_init(struct ledger *l, uint32_t limit, uint32_t slots_n, uint64_t segment_bytes);
void ledger_fini(struct ledger *l);

/* The most that the purge log of a directory takes: a 128th, at most 48 MiB. While it is written
 * anew, there are two. */
uint64_t ledger_purge_bytes(uint64_t disk_bytes);

/* The log gets the rest of a cache directory's limit, when so much is kept for other files
 * (0: a thirty-second). 0 when nothing is left. */
uint64_t ledger_log_bytes(uint64_t disk_bytes, uint64_t reserve_bytes);

/* How segments of a size and number follow from a limit in bytes: a 256th, from 256 KiB to 1 GiB.
 */
uint64_t ledger_segment_bytes(uint64_t log_bytes);

/* Bytes still free behind what is used in the open segment; 0 when none is open. */
uint64_t ledger_room(const struct ledger *l);
void ledger_use(struct ledger *l, uint64_t bytes);
void ledger_seal(struct ledger *l);
/* Opens a free segment; false when there is none. */
bool ledger_open_next(struct ledger *l);
/* How many free segments should be at hand: two, or more of small ones, so that what comes in meanwhile
 * finds room; one of fewer than 16. */
uint32_t ledger_at_hand(const struct ledger *l);
bool ledger_wants_free(const struct ledger *l);
/* A slot that may be made free because the limit allows one more segment, or -1. */
int64_t ledger_absent(const struct ledger *l);
/* Another one than this. */
int64_t ledger_absent_but(const struct ledger *l, int64_t slot);
void ledger_add(struct ledger *l, uint32_t slot); /* absent -> free */
/* A reader asks that the segment stay. False: it holds nothing, or half of the limit are held
 * like that already. What was granted holds: no segment with a lease is a victim, and one that is
 * going and got a lease meanwhile goes back. */
bool ledger_lease(struct ledger *l, uint32_t slot);
void ledger_unlease(struct ledger *l, uint32_t slot);
/* A body that is being written has a piece in the segment, which is no victim until the body is
 * whole: else what is hot elsewhere would push out the first pieces of a large one before its last
 * ones come. False: seven sixteenths of the limit are held like that already. Apart from leases:
 * slow writers keep no reader from its own. */
bool ledger_hold(struct ledger *l, uint32_t slot);
void ledger_unhold(struct ledger *l, uint32_t slot);
/* So many answers took so many bytes each from the segment. */
void ledger_pay(struct ledger *l, uint32_t slot, uint64_t bytes, uint32_t times);
uint32_t ledger_fades(const struct ledger *l);
/* A record that was appended to the open segment took the place of an older one. */
void ledger_replaces(struct ledger *l);
/* Each victim may have so many forgotten, and what others did not need; before the first one goes. */
void ledger_set_forgets(struct ledger *l, uint32_t each);
/* So many were. */
void ledger_forgot(struct ledger *l, uint64_t n);
/* The segment that goes next, of those without leases and holds. -1: none. */
int64_t ledger_victim(const struct ledger *l);
/* The same for a slot that is given away before its records have moved on: what replaced an older
 * record cannot move then (store_empty.c). So one without such records is preferred, unless it
 * earned more than most. */
int64_t ledger_victim_at_once(const struct ledger *l);
void ledger_retire(struct ledger *l, uint32_t slot);
void ledger_return(struct ledger *l, uint32_t slot); /* it is not emptied after all */
void ledger_free(struct ledger *l, uint32_t slot);
/* A segment found on disk. */
void ledger_restore(struct ledger *l, uint32_t slot, enum ledger_state state, uint32_t generation,
		    uint64_t used, uint32_t replaced);
/* Is nothing left that is older than this generation? */
bool ledger_is_oldest(const struct ledger *l, uint32_t generation);
void ledger_drop(struct ledger *l, uint32_t slot); /* free -> absent: over the limit */

/* Shall a record move on that was hit so often lately, when `carried` bytes of the victim already do? It does when it
 * is small. weight: how many like it it stands for; they move on when half of them would, so that on the whole as much
 * does. */
bool ledger_carries(const struct ledger *l, unsigned hits, uint64_t bytes, unsigned weight,
		    uint64_t carried);

/* The same of a head whose body lies elsewhere and stays, hit or not: it is small, and the body's
 * segment says how long it is worth keeping. carried: of such heads. */
bool ledger_carries_head(const struct ledger *l, uint64_t bytes, uint64_t carried);

/* Shall a body in several pieces move on? If so, that is charged to a credit, of at most an eighth
 * of the log, to which each emptied segment adds an eighth of itself. */
bool ledger_carries_large(struct ledger *l, uint64_t body_bytes, unsigned weight);
/* A victim is empty: so many bytes of small records moved on. The credit and the bound of small ones follow. */
void ledger_emptied(struct ledger *l, uint64_t carried);
/* The bound is what it was before a restart, or as near to it as it may be. */
void ledger_set_small(struct ledger *l, uint64_t bytes);

void ledger_check(const struct ledger *l);

#endif
