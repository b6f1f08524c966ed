/* store_inside.h - what the files of the store share.
 *
 *	store.c			opened, closed, counted
 *	store_scrub.c		all that is stored is checked, bit by bit
 *	store_room.c		the job that keeps free segments at hand
 *	store_empty.c		a segment is emptied
 *	store_carry.c		of it, hot bodies in several pieces
 *	store_append.c		what comes in
 *	store_segment.c		segments are opened and sealed; their files
 *	store_find.c		what is there is read
 *	store_direct.c		or may be sent as it lies there
 *	store_view.c		what of a file the page cache holds
 *	store_replaced.c	what must not be back
 *	store_health.c		a disk that fails
 *	restore.c		what was kept
 *	store_load.c		and what of it the index is to know
 *
 * Calls go down this list. What a lower file wants of a higher one is a job (prepare, clean). All
 * but the first two under the lock, unless they say otherwise. */
#ifndef CACHE_STORE_INSIDE_H
#define CACHE_STORE_INSIDE_H

#include "proxy/base/buf.h"
#include "proxy/cache/store/index.h"
#include "proxy/cache/store/ledger.h"
#include "proxy/cache/store/packing.h"
#include "proxy/cache/store/store.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	LOST_MOST = 32,
	STORE_LEFT_WORDS = 1 << 14,
	/* While the log grows, so many free segments are at hand: making a file takes a while. */
	STORE_GROW_AHEAD = 8,
};

/* Gathered in memory, then written by one pwrite. Bytes below used never change. */
struct batch {
	struct diskio_job job; /* first */
	struct store *store;
	struct batch *next; /* pending: older first; or in the pool */
	uint32_t segment, generation;
	uint64_t offset;	       /* in the segment */
	uint32_t used, entries, bytes; /* bytes: with table and padding, once closed */
	int64_t born_ms;
	uint64_t clean_as_of; /* the least of its records' */
	struct buf table;
	char *p; /* batch_bytes, page-aligned */
};

/* Of the job's own while it runs, but for runs and closing. */
struct store_scrub {
	struct diskio_job job;
	bool runs;
	int64_t filled_ms;
	double credit; /* bytes that may be read */
	uint32_t slot, generation;
	size_t entry;	      /* of the table */
	struct buf table;     /* of the segment */
	struct block *record; /* whose body's pieces are being checked, or NULL */
	uint32_t fragment;    /* the next one */
};

/* Sealed segments that were there when the store was opened. */
struct store_unread {
	uint32_t slot, generation;
	bool is_read;
};
struct store_unread_list {
	struct store_unread *list; /* older first */
	uint32_t n, next;	   /* next: from there on somebody has taken them */
	uint32_t known;		   /* from there on they are read */
	unsigned loaders;
	bool may_return; /* the next start may find records that no slot here holds */
	uint64_t entries;
	int64_t began_ms;
};

/* Per slot; read without the lock. */
struct store_slots {
	_Atomic uint64_t *lives;   /* generation, and above it the code; 0: not open or sealed */
	_Atomic uint64_t *written; /* the file is right up to here */
	_Atomic int *fds;
	_Atomic uint64_t *checked; /* bits; NULL: nothing is sent unread */
	_Atomic uint64_t *stamps;  /* of the files when they were set */
	void *_Atomic *views;	   /* of the files; NULL: none yet */
	_Atomic bool never_now;	   /* the file system cannot read without waiting */
};

/* Batches that could not be written. */
struct store_losses {
	struct locator batches[LOST_MOST]; /* the last ones */
	unsigned n;
	uint32_t *holes; /* per slot: the generation of the last one */
};

struct store_health {
	_Atomic int64_t retry_ms;	  /* no appends before, while failing */
	_Atomic bool failing, unreadable; /* each said once */
};

/* Since the store was opened. */
struct store_counts {
	_Atomic uint64_t written_bytes, appended_bytes, evicted, carried_bytes, io_errors, refused;
	_Atomic uint64_t scrubbed_bytes, scrub_damaged;
};

struct store {
	struct store_options o;
	struct diskio *io;
	struct index *index;
	uint32_t batch_bytes, fragment_bytes;
	uint64_t opening; /* random */

	/* Records in older generations are not believed: a newer one may be unread. 0: all is known. */
	_Atomic uint32_t known_from;
	_Atomic unsigned own_unread; /* where the owner has no counter */

	struct store_slots slots;

	pthread_mutex_t lock; /* everything below */
	struct store_unread_list unread;
	pthread_cond_t drained;
	struct ledger ledger;
	struct batch *open;	       /* or NULL */
	struct batch *pending, **last; /* the open one too */
	struct batch *pool;
	unsigned pool_n;
	uint64_t pending_bytes;
	uint64_t link;	       /* seal of the last closed batch of the open segment */
	struct buf table;      /* entries of the open segment's closed batches */
	uint64_t *clean_as_of; /* per slot: the least of its records' */
	uint8_t *codes;	       /* per slot: how often it was opened, for the index */
	uint64_t opened_s;     /* when the open segment was */
	uint32_t *holds;       /* per slot: the generation of the last batch that was written */
	struct store_losses losses;
	int64_t making;		    /* the slot whose file is being made, or -1 */
	unsigned taken_n;	    /* segments that were taken and are not cleaned yet */
	uint64_t taken_clean_as_of; /* the least of their records' */
	uint32_t faded;		    /* as often as the ledger, or a little less */
	int64_t grow_ms;	    /* no new files before, while the disk is too full */
	bool is_cramped;	    /* said once */
	bool preparing, closing;
	enum store_duty duty;
	struct diskio_job prepare;
	struct store_scrub scrub;
	void (*clean)(struct diskio_job *j); /* of store_taken */

	/* Generation << 32 | segment that is being vacated by the writer; 0: none. */
	_Atomic uint64_t taken;
	/* A bit for each key of which a record may be on disk that the index does not know. */
	_Atomic uint64_t left[STORE_LEFT_WORDS];

	struct store_health health;
	_Atomic uint32_t promised;	/* segments whose files will take room, but have not yet */
	_Atomic uint64_t footers_bytes; /* under way to the disk */
	struct store_counts counts;
};

/* The index knows six bits of a generation. Counted per slot, so that two generations of a slot
 * that follow each other always differ; counted over all, they collide where there are 64 slots. */
static inline uint32_t
store_generation(const struct store *st, uint32_t slot)
{
	return (uint32_t)atomic_load_explicit(&st->slots.lives[slot], memory_order_acquire);
}

/* at as the index knows it; false when it lies in a generation that is gone. */
static inline bool
store_index_place(const struct store *st, const struct locator *at, struct locator *out)
{
	uint64_t life = atomic_load_explicit(&st->slots.lives[at->segment], memory_order_acquire);
	*out = *at;
	out->generation = (uint32_t)(life >> 32);
	return (uint32_t)life == at->generation && at->generation != 0;
}

static inline void
store_set_life(struct store *st, uint32_t slot, uint32_t generation)
{
	uint64_t life = generation ? (uint64_t)st->codes[slot] << 32 | generation : 0;
	atomic_store_explicit(&st->slots.lives[slot], life, memory_order_release);
}

/* store_direct.c: of a store whose parts are known; a segment begins a new life. */
void store_direct_init(struct store *st);
void store_direct_fini(struct store *st);
void store_direct_begin(struct store *st, uint32_t slot);

/* store_view.c: of a store whose parts are known. */
void store_view_init(struct store *st);
void store_view_fini(struct store *st);
/* Bytes of a slot's file are in the page cache, as far as the kernel can be asked. */
bool store_is_cached(struct store *st, uint32_t slot, uint64_t offset, size_t n);
/* The fragments that were checked (store_direct.c): a bit for each unit of a segment, in so many words; one of at
 * least a unit begins in a unit of its own. */
enum { STORE_CHECKED_UNIT = 16 << 10 };
uint32_t store_checked_words(const struct store *st);
_Atomic uint64_t *
store_checked_word(const struct store *st, const struct locator *at, uint64_t *bit);
/* This one was not, or is about to be read from the device anew. */
void store_unchecked(struct store *st, const struct locator *at);

/* store_health.c: what must be true between any two calls. */
void store_check(const struct store *st);
/* A call to the disk failed; one worked; there is no room for another file. */
void store_fail(struct store *st, const char *what, int error);
void store_works_again(struct store *st);
/* It fails, and it is too soon to try again. */
bool store_waits(const struct store *st);
void store_is_cramped(struct store *st, int error);
/* Without the lock: a read failed. */
void store_cannot_read(struct store *st, const struct locator *at, int error);

/* store_replaced.c. Records of a table that are not where they were: what they replaced does not
 * come back. */
void store_forget_replaced(struct store *st, const char *table, uint32_t entries);
/* A record of the key left the index, and stays on disk. */
void store_leaves_behind(struct store *st, uint64_t hash_hi);
/* The same of any key. */
void store_leaves_all_behind(struct store *st);
/* Without the lock: records of which nothing is known may be on disk. */
void store_may_return(struct store *st);

/* May anything be appended? Under the lock. */
static inline bool
store_may_write(const struct store *st)
{
	return st->duty != STORE_RESTS && atomic_load(st->o.unread) == 0;
}

/* Under the lock: no job is under way that may append. */
static inline bool
store_is_idle(const struct store *st)
{
	return !st->preparing && !st->scrub.runs && !st->taken_n;
}

/* store_segment.c: the open segment is full; the next one is opened. */
void store_seal(struct store *st);
bool store_open_segment(struct store *st);
/* Posts st->prepare, if need be. */
void store_ask_for_room(struct store *st);
bool store_wants_segment(const struct store *st);
/* May what lies in a segment go? Under the lock. */
bool store_may_empty(const struct store *st);
/* A slot whose file is to be made, or -1. */
int64_t store_missing_file(const struct store *st);
/* Without the lock: a file for a slot. */
bool store_add_segment(struct store *st, uint32_t slot);
/* The job st->clean: behind the last batch of the old generation, before the first of the new. */
struct store_taken {
	struct diskio_job job; /* first */
	struct store *store;
	uint32_t segment, generation, code, replaced;
};

/* store_append.c: r enters log and index; false when refused. */
enum append {
	APPEND_NEW,	/* whether it replaces an older one is seen here */
	APPEND_CARRIED, /* moved on: its own copy is no older one */
	APPEND_REPLACES /* moved on, and its copy replaced one */
};
bool store_append(struct store *st, struct record *r, enum append how);
/* Would the open batch (or a new one) of the open segment take so many bytes more? */
bool store_fits(const struct store *st, uint64_t bytes);
/* Without the lock, and not on the writer's thread: until all that was appended is on disk, or is
 * lost. */
void store_await_written(struct store *st);
/* The open batch goes to the writer. */
void store_close_batch(struct store *st);
void store_batch_free(struct batch *b);

/* store_carry.c, without the lock: a body in several pieces is written again. */
struct store_carry {
	struct locator at;  /* of the record: set by the caller */
	uint32_t segment;   /* that goes: set by the caller */
	bool is_taken;	    /* it does so on the writer's thread, which takes what it needs */
	struct block *text; /* ref: of the record; r's views point here */
	struct record r;
	const char *old;       /* r's table as it was: a view */
	char *table;	       /* owned: the new one */
	struct block **pieces; /* owned, ref each */
	uint32_t held;	       /* leases, of the record and its pieces */
	uint32_t written;      /* pieces */
};
/* The rest of c is zero. False: neither the record at c->at nor a piece of it lies in c->segment of
 * this generation, it is not to be carried, or it cannot be read. store_carry_end in any case. */
bool store_carry_begin(struct store *st, struct store_carry *c, uint32_t generation);
enum store_carry_step { CARRY_DONE, CARRY_WANTS_ROOM, CARRY_FAILED };
/* Wants room: make some, and call again. */
enum store_carry_step store_carry_write(struct store *st, struct store_carry *c);
void store_carry_end(struct store *st, struct store_carry *c);

/* store_empty.c. Without the lock: one free segment more. What is hot in the victim moves on. */
bool store_free_one(struct store *st);
/* A segment was needed at once: what is hot in the victim moves on, before others come to its slot
 * (a job). */
void store_clean_taken(struct diskio_job *j);

/* store_room.c: all free segments that are wanted (a job). */
void store_prepare(struct diskio_job *j);

/* From which generation on all is known. It is asked before the index is: what the index answers may
 * be older than what enters it next, and is not to be believed for that. */
static inline uint32_t
store_known_from(const struct store *st)
{
	return atomic_load_explicit(&st->known_from, memory_order_acquire);
}

/* store_find.c: a place as the index knows it becomes a whole locator; false: it is gone, or what
 * replaced it may have been unread when the index was asked. */
bool store_complete(const struct store *st, uint32_t known_from, struct locator *at);

/* restore.c. Finds segment files, restores index and ledger; err as store_open. Opens the files it finds. */
int store_restore(struct store *st, char *err, size_t err_bytes);
int store_open_segment_file(const struct store *st, uint32_t slot, bool create);

/* store_load.c: appends the table of a sealed segment, as its footer says. False: it is damaged. */
bool
store_read_table(const struct store *st, uint32_t segment, uint32_t generation, struct buf *table);
/* The same; where it is damaged or not written yet, as the index knows it (code: of its generation). False: so it is,
 * and it does not say what was replaced. */
bool store_list_records(const struct store *st, uint32_t segment, uint32_t generation,
			uint32_t code, struct buf *table);
bool store_read_header(const struct store *st, int fd, uint64_t at, struct batch_header *out);
/* Is h a batch of this segment that stands at this page and lies inside of it? */
bool
store_is_batch_at(const struct store *st, const struct batch_header *h, uint32_t slot, uint64_t at);
/* A segment's records are not known, and may be found by the next start. Without the lock. */
void store_cannot_restore(struct store *st, uint32_t slot, int error);
/* The batches of a segment, as far as they follow each other, enter the index; their tables are
 * appended to all (NULL: not). All but slot and generation are 0 before. */
struct store_walk {
	uint32_t slot, generation;
	uint32_t replaced; /* records that did */
	int error;	   /* of a read, where it ended; or 0 */
	uint64_t end, link, clean_as_of;
};
void store_walk(struct store *st, struct store_walk *w, struct buf *all);
/* While the store is opened: a sealed segment whose footer lists so many, older ones first; all are
 * named, and read if they are few; the others are read on threads. */
void store_load_later(struct store *st, uint32_t slot, uint32_t generation, uint32_t entries);
void store_load_begin(struct store *st);
void store_load_go_on(struct store *st, unsigned threads);
/* The key leaves the index (at: only if it lies there; NULL: in any case), and what is not read yet
 * does not bring it back. True: it was there, or may have been. Without the lock. */
bool store_unindex(struct store *st, uint64_t hash_hi, const struct locator *at);

/* store_scrub.c: init when all is known; asked now and then, under the lock. */
void store_scrub_init(struct store *st);
void store_scrub_fini(struct store *st);
void store_ask_for_scrub(struct store *st);

#endif
