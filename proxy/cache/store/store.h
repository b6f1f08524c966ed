/* store.h - the log on disk: appends records and fragments, finds and reads them, forgets them,
 * and makes room by freeing the oldest segment.
 *
 * Answers   what was appended is found and read at once, from memory until it is written.
 * Threads   any. One lock orders the log and the index alike: what is later in the log is what the
 *           index holds, so a restart that reads the log in order arrives at the same index.
 * Memory    at most max_pending_bytes wait to be written; beyond, appends are refused.
 * Errors    a disk that fails or is full: log_warning once, appends refused for RETRY_MS, then
 *           tried again. Reads of what is gone or damaged say so.
 */
#ifndef CACHE_STORE_H
#define CACHE_STORE_H

#include "proxy/base/block.h"
#include "proxy/base/buf.h"
#include "proxy/base/file_piece.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/segment.h"

struct store;

struct store_options {
	const char *dir;
	int dir_fd;		    /* borrowed until store_close */
	uint64_t log_bytes;	    /* all segments together */
	uint64_t segment_bytes;	    /* 0: as found in dir, else chosen */
	uint64_t max_pending_bytes; /* 0: 64 MiB */
	unsigned io_threads;	    /* that read; 0: 8 */
	uint64_t keep_free;	    /* of the file system, for others (store_reserve) */
	uint64_t beside_bytes;	    /* and for files of the owner in the same directory */
	uint64_t
		scrub_every_s; /* in so many seconds all that is stored is checked once; 0: never */
	const struct diskio_ops *ops; /* NULL: the system's */
	bool verify_always;	      /* no fragment is ever sent unread */
	bool fresh;		      /* what was kept is of no use: start empty */
	unsigned number;	      /* of the disk, for the owner */
	bool is_ours;		      /* twice wrote dir for certain, whatever "format" says */
	/* A record was carried from there to r->at, with its body; by the thread that makes room.
	 * NULL: nobody wants to know. */
	void (*moved)(void *ctx, const struct record *r, const struct locator *from);
	/* Records of keys with these hashes (hash.hi) are gone, and older ones may still be on
	 * disk: nothing that was stored by now under the keys may be found again. NULL: nothing of
	 * all that was stored. waits: until that is durable; false: it cannot be made so. NULL:
	 * nobody cares. */
	bool (*forget)(void *ctx, const uint64_t *hashes, size_t n, bool waits);
	/* Would that work now? One load. While not, no segment is emptied: what lies there would be
	 * lost, and no room be won. NULL: always. */
	/* False: another process may have the directory, and no file is made there. NULL: it is ours. */
	bool (*has_lock)(void *ctx);
	bool (*may_forget)(void *ctx);
	bool rests; /* it begins with STORE_RESTS */
	/* How many of the owner's stores do not know yet all they hold. Until none is left nothing is
	 * appended to any; what is removed is not found later. NULL: this one alone. */
	_Atomic unsigned *unread;
	/* Records were asked for before they are written: small ones stay though nobody asks (ledger.h). NULL: yes. */
	const _Atomic bool *asked_before;
	uint64_t
		load_at_once; /* so many records are read before store_open returns; 0: a million */
	uint64_t most_forgets; /* that the owner wants to keep, of one turn of the log; 0: any */
	/* Is this record forgotten? If not, sets when it was found clean. NULL: nothing ever is. */
	bool (*is_forgotten)(void *ctx, struct record *r);
	void *ctx; /* of both */
};
int store_open(struct store **out, const struct store_options *o, char *err, size_t err_bytes);
/* Writes what is pending and ends the threads; from then on there are facts and leases, and nothing
 * else. */
void store_stop(struct store *st);
/* Stops it, if that was not done. Nobody else may be in any call. */
void store_close(struct store **st);

/* A store's duty limits its writes. While two processes have the directory open, one of them rests,
 * and the other one keeps what the first may still be reading. */
enum store_duty {
	STORE_WORKS,
	STORE_KEEPS, /* no segment is emptied: appends are refused when no other is free */
	STORE_RESTS  /* nothing: all appends are refused, and reads go on */
};
/* STORE_RESTS: waits until all that was appended is written and no job writes any more. False: that
 * has not come within limit_ms; it does what it did before. Not for workers. */
bool store_set_duty(struct store *st, enum store_duty duty, int64_t limit_ms);
/* The room of segments whose files were deleted. Nothing is read from the store any more; it rests, if it could. */
void store_give_back(struct store *st);
/* STORE_KEEPS becomes STORE_WORKS; another duty stays. */
void store_release(struct store *st);

unsigned store_number(const struct store *st);
/* False: it refuses what is appended, for the disk fails or is still being read. */
bool store_takes(const struct store *st);
/* Bytes of one fragment of a large body; smaller bodies are kept inside their record. */
uint32_t store_fragment_bytes(const struct store *st);
/* The largest body that the log takes. */
uint64_t store_max_body(const struct store *st);

/* ---- appending: false when refused --------------------------------------------------------- */

/* hash: of the key that the body belongs to. */
bool store_put_fragment(struct store *st, struct twice_key_hash hash, const char *p, uint32_t n,
			struct fragment *out);
/* The segment of a fragment stays until the body is whole (ledger_hold). False: it may go. */
bool store_hold(struct store *st, const struct locator *at);
void store_unhold(struct store *st, const struct locator *at);
/* Appends r and enters it in the index over any older record of its key; sets r->at. over: only if
 * the index points there now (generation 0: nowhere); NULL: whatever it says. */
bool store_put(struct store *st, struct record *r, const struct locator *over);
/* The same for a newer head of what lies at *over: it is as hot as that was. */
bool store_put_head(struct store *st, struct record *r, const struct locator *over);
/* Takes the key out of the index, true if it was there; after a restart it is back, but for what
 * was forgotten (forget.h), which the caller has seen to. */
bool store_remove(struct store *st, struct twice_key_hash hash);
/* The same for what may be back after a restart. */
void store_drop(struct store *st, struct twice_key_hash hash);
/* May a record be on the disk that the index does not know any more? Rarely true of others. */
bool store_may_be_left(struct store *st, uint64_t hash_hi);

/* ---- finding and reading ------------------------------------------------------------------- */

/* Finds the last record with this hash; counts a hit. *hits: hits before this one. */
bool store_find(struct store *st, struct twice_key_hash hash, struct locator *out, unsigned *hits);
/* The same, and no hit is counted. */
bool store_look(struct store *st, struct twice_key_hash hash, struct locator *out);
bool store_has(struct store *st, struct twice_key_hash hash);
/* The object was hit in RAM: its record is as hot as that. True: the hit counts, as store_find's
 * does with fewer than STORE_PAYING_HITS before it, and may pay. */
bool store_touch(struct store *st, struct twice_key_hash hash);
enum { STORE_PAYING_HITS = 3 };
/* An answer took so many bytes from where they lie: what is asked for stays. */
void store_pay(struct store *st, const struct locator *at, uint64_t bytes);
/* Grows with each fade of the hits. */
uint32_t store_fades(const struct store *st);
/* Removes a record found damaged or foreign, if it still lies there. */
void store_forget(struct store *st, struct twice_key_hash hash, const struct locator *at);
/* The same for one that was found to be forgotten, with all that is older. */
void store_clear(struct store *st, struct twice_key_hash hash, const struct locator *at);
/* Is this still the record that the index points to? */
bool store_lies_at(struct store *st, struct twice_key_hash hash, const struct locator *at);
/* Is the segment still of the generation it was? */
bool store_is_current(const struct store *st, const struct locator *at);

enum store_read { STORE_READ, STORE_LATER, STORE_GONE, STORE_FAILED };
/* Bytes from at in a new block, at least as many as were written of at->bytes. Without waiting
 * (STORE_LATER: use store_read on an I/O thread). */
enum store_read store_read_now(struct store *st, const struct locator *at, struct block **out);
enum store_read store_read(struct store *st, const struct locator *at, struct block **out);
void store_post(struct store *st, struct diskio_job *j); /* to a reading I/O thread */
/* A fragment, of which a lease is held, was read and its checksum was right; stamp: from before it
 * was read. */
uint64_t store_stamp(struct store *st, const struct locator *at);
void store_checked(struct store *st, const struct locator *at, uint64_t stamp);
/* Where such a fragment lies, if it was checked, nobody has written to its file since, it has
 * not left the page cache, as far as can be known, and the disk answers. The descriptor holds as long as the lease. */
bool store_direct(struct store *st, const struct locator *at, struct file_piece *out);

/* A segment stays while somebody reads from it. False: gone or going (store_is_current says which),
 * or too many are held already. */
bool store_lease(struct store *st, const struct locator *at);
void store_unlease(struct store *st, const struct locator *at);

/* index_list. Not for workers. */
void store_list(struct store *st, void (*see)(void *ctx, const uint64_t *hash_hi, size_t n),
		void *ctx);

/* The least clean_as_of of all records in the log, UINT64_MAX when there are none. */
uint64_t store_oldest(struct store *st);

/* ---- facts --------------------------------------------------------------------------------- */

struct store_stats {
	uint64_t file_bytes; /* of all segment files */
	uint64_t written_bytes, used_bytes, limit_bytes, objects, evicted_objects, carried_bytes;
	uint64_t pending_bytes;	 /* gathered, or under way to the disk; in whole batches */
	uint64_t admitted_bytes; /* of records and bodies that came in */
	uint64_t io_errors, refused_writes, index_bytes;
	uint64_t unread_segments; /* whose records are not all known yet */
	uint64_t scrubbed_bytes,
		scrub_damaged; /* checked in the background; objects found damaged */
	uint64_t
		turn_bytes; /* of all segments, when there will be no more; 0: failing or growing */
	bool failing;
};
void store_stats(struct store *st, struct store_stats *out);
bool store_fails(const struct store *st); /* failing, alone and without a lock */
/* Of a file system of so many bytes, what is left to others. keep_free: bytes; STORE_KEEP_SHARE |
 * millionths: that share; 0: a twentieth, at most 1 GiB. */
#define STORE_KEEP_SHARE (UINT64_C(1) << 63)
uint64_t store_reserve(uint64_t keep_free, uint64_t all_bytes);
/* Segments' earnings, as earnings.h says, are appended to out, and taken from there before anybody
 * else uses the store (NULL, or why not). */
void store_save_earnings(struct store *st, uint64_t tag, struct buf *out);
const char *store_load_earnings(struct store *st, uint64_t tag, struct str bytes);
/* Sends what is gathered to the disk and waits until all is written. For tests and benches. */
void store_flush(struct store *st);

#endif
