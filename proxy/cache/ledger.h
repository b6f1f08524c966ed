/* ledger.h - which segment of the log is open, which are sealed, which goes next. Pure: numbers
 * only, so that the store and the ghost of the baseline run the same policy.
 *
 *	free --ledger_open_next--> open --ledger_seal--> sealed --ledger_free--> free
 *	                                sealed --ledger_retire--> going --ledger_free--> free
 *
 * The log is a FIFO: the victim is the sealed segment with the lowest generation. What was hit
 * while it lay there may be carried over into the open segment, within a share.
 *
 * Threads   none of its own; the owner's lock.
 */
#ifndef CACHE_LEDGER_H
#define CACHE_LEDGER_H

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
	uint64_t used;	     /* bytes from its start */
};

struct ledger {
	struct ledger_slot *slots; /* owned */
	uint32_t slots_n;
	uint32_t limit; /* segments that may exist (not absent) at once */
	uint32_t exist, free;
	uint32_t leased;     /* with leases */
	int64_t open;	     /* slot, or -1 */
	uint32_t generation; /* the last one given out; 0: none */
	uint64_t segment_bytes, used;
	uint64_t large_credit; /* bytes of large bodies that may be carried */
};

/* slots_n >= limit: room for segments left over from a larger limit. */
void ledger_init(struct ledger *l, uint32_t limit, uint32_t slots_n, uint64_t segment_bytes);
void ledger_fini(struct ledger *l);

/* The most that the purge log of a directory takes: a 128th, at most 48 MiB. While it is written
 * anew, there are two. */
uint64_t ledger_purge_bytes(uint64_t disk_bytes);

/* What is left for the log of a cache directory's limit, when so much is kept for other files
 * (0: a thirty-second). 0 when nothing is. */
uint64_t ledger_log_bytes(uint64_t disk_bytes, uint64_t reserve_bytes);

/* How segments of a size and number follow from a limit in bytes: a sixty-fourth, from 512 KiB to
 * 256 MiB; beyond 4096 segments larger, up to 1 GiB. */
uint64_t ledger_segment_bytes(uint64_t log_bytes);

/* Bytes still free behind what is used in the open segment; 0 when none is open. */
uint64_t ledger_room(const struct ledger *l);
void ledger_use(struct ledger *l, uint64_t bytes);
void ledger_seal(struct ledger *l);
/* Opens a free segment; false when there is none. */
bool ledger_open_next(struct ledger *l);
/* Are there fewer free segments than should be at hand: two, or one of fewer than 16? */
bool ledger_wants_free(const struct ledger *l);
/* A slot that may be made free because the limit allows one more segment, or -1. */
int64_t ledger_absent(const struct ledger *l);
void ledger_add(struct ledger *l, uint32_t slot); /* absent -> free */
/* A reader asks that the segment stay. False: it holds nothing, or half of the limit are held
 * like that already. What was granted holds: no segment with a lease is a victim, and one that is
 * going and got a lease meanwhile goes back. */
bool ledger_lease(struct ledger *l, uint32_t slot);
void ledger_unlease(struct ledger *l, uint32_t slot);
/* The segment that goes next: the oldest sealed one without leases. -1: none. */
int64_t ledger_victim(const struct ledger *l);
void ledger_retire(struct ledger *l, uint32_t slot);
void ledger_return(struct ledger *l, uint32_t slot); /* it is not emptied after all */
void ledger_free(struct ledger *l, uint32_t slot);
/* A segment found on disk. */
void ledger_restore(struct ledger *l, uint32_t slot, enum ledger_state state, uint32_t generation,
		    uint64_t used);
void ledger_drop(struct ledger *l, uint32_t slot); /* free -> absent: over the limit */

/* Shall a record that was hit so often while it lay in the victim move on, when so many bytes of
 * the victim already do? weight: how many like it it stands for; they move on when half of them
 * would, so that on the whole as much does. */
bool ledger_carries(const struct ledger *l, unsigned hits, uint64_t bytes, unsigned weight,
		    uint64_t carried);

/* Shall a body in several pieces move on? If so, that is charged to a credit, of at most an eighth
 * of the log, to which each emptied segment adds an eighth of itself. */
bool ledger_carries_large(struct ledger *l, uint64_t body_bytes, unsigned weight);
void ledger_earn(struct ledger *l);

void ledger_check(const struct ledger *l);

#endif
