/* cache.h - the one door of the shelves: look up, read, write, refresh, remove.
 *
 * Behind it: the RAM tier (ram.c), the index (index.c), the segment log (store.c over segment.c
 * and ledger.c) and the I/O threads (diskio.c). It knows keys, heads, terms and bytes; it does not
 * know requests, origins or flights.
 *
 * Threads   everything here may be called by any worker. Nothing here blocks on the disk: what the
 *           page cache cannot serve at once goes to an I/O thread and comes home as a letter.
 * Memory    objects are counted: whoever is handed one owes object_unref.
 * Errors    a disk that fails or fills never fails a request: storing stops for a while, reads are
 *           misses, and cache_stats says so. A damaged record is a miss.
 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "filter/hash.h"
#include "proxy/base/block.h"
#include "proxy/base/buf.h"
#include "proxy/base/file_piece.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/str.h"
#include "proxy/http/policy.h"

struct cache;
struct diskio_ops;

/* A directory on a disk, with a log of its own. */
struct cache_disk {
	const char *dir;
	uint64_t bytes; /* hard limit of everything below dir; never exceeded */
};
enum { CACHE_DISKS_MOST = 16 };

struct cache_options {
	const char *dir;     /* NULL: RAM tier only */
	uint64_t disk_bytes; /* hard limit of everything below dir; never exceeded */
	/* Disks beside that one. An object is written to one of them all, as their sizes are; where
	 * it lies their indexes say, so that adding one moves nothing. What cannot be used is left
	 * out, at the start and while it fails. The small files lie on the first that can be used. */
	const struct cache_disk *more;
	unsigned more_n;
	uint64_t memory_bytes;	   /* RAM tier */
	uint64_t segment_bytes;	   /* 0: chosen from disk_bytes (64 MiB to 1 GiB; smaller for small
				      disks) */
	uint64_t max_object_bytes; /* body; 0: chosen from disk_bytes */
	unsigned io_threads;	   /* that read; 0: 8 */
	bool verify_always;	   /* nothing is ever sent unread: object_file never says yes */
	unsigned read_limit_ms;	   /* what the disk has not read by then is a miss; 0: 3000 */
	/* Left free on the file system for others; STORE_KEEP_SHARE | millionths: that share of it;
	 * 0: a twentieth of it, at most 1 GiB. The log grows as it fills, and stops growing there.
	 */
	uint64_t keep_free;
	uint64_t
		scrub_every_s; /* in so many seconds all that is on disk is checked once; 0: never */
	unsigned shards;       /* of the RAM tier; 0: chosen from memory_bytes, at most 64 */
	/* Kept out of the log for the one file that cache_save_file saves: it may take half of
	 * this, for old and new stand side by side for a moment. 0: a thirty-second of disk_bytes.
	 * The baseline wants the same number. */
	uint64_t reserve_bytes;
	/* Of a process that takes the directories over from one that still serves (heritage.h): the
	 * locks that it has sent, copied; and nothing is written to the log before cache_work. */
	const int *locks;
	unsigned locks_n;
	bool rests;
	const struct diskio_ops *ops; /* for tests: another disk; NULL: the system's */
	uint64_t load_at_once;	      /* store_options; 0: a million */
	/* For tests: a purge log that could not be written is tried again after so long; 0: 250. */
	unsigned purge_retry_ms;
	/* For tests: called wherever another thread may come between two steps, on the thread that
	 * makes them and without a lock. NULL: nobody is. */
	void (*window)(void *ctx);
	void *window_ctx;
};

/* Opens the directory (made if missing), takes its lock, restores the index. On failure -1 and a
 * plain sentence naming the place and a way out in err. */
int cache_open(struct cache **out, const struct cache_options *o, char *err, size_t err_bytes);
/* Writes what is pending and ends the I/O threads: what was asked of them has come home as letters
 * by then, which are still to be opened. Objects may be read from memory and given back from then
 * on; nothing else. */
void cache_stop(struct cache *c);
/* What was asked for on disk stays over a restart: saved at cache_stop, and here for a process that
 * is killed. */
void cache_save_earnings(struct cache *c);
/* Stops it, if that was not done; gives the lock back. All objects have been given back. */
void cache_close(struct cache **c);

/* 192+ bytes of secret kept beside the objects (file "seed" in dir, made at first open, mode 0600;
 * random when dir is NULL): the per-installation seed of key hashes. */
const struct twice_seed *cache_seed(const struct cache *c);
/* Where the files beside the log are; "": nowhere. */
const char *cache_directory(const struct cache *c);

/* ---- objects ------------------------------------------------------------------------------- */

enum object_kind {
	OBJECT_RESPONSE,
	OBJECT_MARKER, /* stands at a primary key: says on which fields its variants vary (head) */
	OBJECT_SLICED, /* a head without a body: whole_bytes of it lie in slices */
	OBJECT_SLICE /* a body without a head, under a key of its own: of whole_bytes, one slice */
};
enum object_place { OBJECT_IN_RAM, OBJECT_ON_DISK };

struct object { /* constant once handed out, but for refs and the private part */
	_Atomic uint32_t refs;
	uint8_t kind;
	uint8_t place;		      /* where this body is read from */
	_Atomic uint8_t on_disk;      /* a copy is (being) kept on disk */
	_Atomic uint64_t clean_as_of; /* nothing forgotten up to then covers it (cache_now) */
	struct twice_key_hash hash;
	struct str key;	 /* the full key text */
	struct str head; /* stored head (http/head.h) */
	struct str tags; /* by which it may be purged: cache_tag of each, 4 bytes, little-endian */
	struct terms terms;
	uint64_t body_bytes;
	uint64_t whole_bytes; /* of SLICED and SLICE; else 0 */
			      /* private to cache/ behind this */
};
struct object *object_ref(struct object *o);
void object_unref(struct object **o);

/* ---- lookup -------------------------------------------------------------------------------- */

enum found {
	FOUND_NOT,
	FOUND_OBJECT, /* *out is set, a reference is the caller's */
	FOUND_LATER   /* the record is being read; l->done will be called on l->home's thread */
};

/* Which byte of the body will be asked for first. Of a body in several pieces that piece is read
 * and checked before it counts as found: a damaged one is a miss, as long as that is a way out. */
enum lookup_first {
	LOOKUP_FROM, /* the one at first_at: 0 unless set */
	LOOKUP_LAST, /* the first of the last first_at bytes */
	LOOKUP_HEAD  /* none */
};

struct cache_lookup {
	struct letter letter; /* private; must be first */
	struct mailbox *home; /* set by the caller */
	enum lookup_first first;
	uint64_t first_at;
	void (*done)(struct cache_lookup *l,
		     struct object *o); /* o NULL: not found; else a reference */
	/* private: */
	struct cache *cache;
	struct twice_key_hash hash;
	void *job;
};

/* key must hold until found or done. A lookup under way cannot be cancelled; its owner waits. */
enum found cache_lookup(struct cache *c, struct cache_lookup *l, struct twice_key_hash hash,
			struct str key, struct object **out);

/* What lies under the key now, as far as that can be said at once: FOUND_LATER is on disk. Nothing
 * is called back, and no hit is counted on disk. */
enum found
cache_peek(struct cache *c, struct twice_key_hash hash, struct str key, struct object **out);
/* The same for who only wants to know: nothing is counted, carried or moved. Waits for the disk: not
 * for workers. NULL, or a reference; *terms: its terms, as a soft purge has left them. */
struct object *
cache_look(struct cache *c, struct twice_key_hash hash, struct str key, struct terms *terms);
/* Is o still what its key means? */
bool cache_is_current(struct cache *c, struct object *o);

/* An answer to a GET took so many bytes of o's body, from wherever it was served: what is asked for
 * stays on disk. Only answers of 200 and 206: a client that is told 304 has cost nobody a fetch. */
void cache_pay(struct cache *c, struct object *o, uint64_t bytes);

/* ---- reading a body ------------------------------------------------------------------------ */

enum body_step {
	BODY_READY, /* r->p, r->n hold bytes at the asked offset until the next call with r or
		       body_done */
	BODY_LATER, /* r->done will be called on r->home's thread, then ask again */
	BODY_BAD    /* gone or damaged: never served; cut the answer off */
};

struct body_read {	      /* zeroed but for home and done */
	struct letter letter; /* private; must be first */
	struct mailbox *home;
	void (*done)(struct body_read *r);
	const char *p;
	size_t n;
	struct block *block; /* private: what keeps p alive when the object does not */
	void *job;	     /* private */
	bool bad;	     /* private */
	uint64_t at;	     /* private */
};

/* Bytes of o's body from offset at, at most max of them (at < body_bytes, max > 0). Each piece is
 * checked against its checksum before it is handed out. */
enum body_step
object_read(struct cache *c, struct object *o, struct body_read *r, uint64_t at, uint64_t max);
/* r reads no more of that object; of another one it may. Not while a BODY_LATER is outstanding. */
void body_done(struct body_read *r);
/* The same bytes as a piece of their file, for a front that can send from one: true when they were
 * checked before and are in the page cache. They hold as long as o. Else: object_read. */
bool object_file(struct object *o, const struct body_read *r, uint64_t at, uint64_t max,
		 struct file_piece *out);
/* The same, of a client that waits: what was read of the body is not kept in memory meanwhile. */
void body_give_back(struct body_read *r, struct object *o);

/* ---- writing ------------------------------------------------------------------------------- */

struct object_write;
struct write_options {
	struct twice_key_hash hash;
	struct str key, head, tags; /* copied */
	struct terms terms;
	enum object_kind kind;
	uint64_t whole_bytes; /* of SLICED and SLICE */
	uint64_t begun;	      /* cache_now() before the request left; 0: now */
	uint64_t body_bytes;  /* UINT64_MAX: not known yet */
	bool disk;	      /* admitted: written to disk as the body comes */
};
/* Never NULL; what cannot be kept turns the write into one that commits to nothing. */
struct object_write *cache_write_begin(struct cache *c, const struct write_options *o);
/* Will it be kept, as far as can be said now? Of a dead write nothing is kept any more. */
bool cache_write_is_alive(const struct object_write *w);
/* The next bytes [at, at + n) of b; the block is referenced, not copied, as long as needed. */
void cache_write_body(struct object_write *w, struct block *b, uint32_t at, uint32_t n);
/* The body is whole: makes the object visible to every lookup before it returns. admit: write it to
 * disk now if it was not already being written (second sighting while it arrived). Returns a
 * reference, or NULL when it was kept nowhere (too large for RAM and not on disk, disk failing).
 * When body_bytes was announced and is not what came, nothing is stored (NULL). */
struct object *cache_write_commit(struct object_write **w, bool admit);
void cache_write_abandon(struct object_write **w);

/* A second sighting of an object that lives in RAM only: writes it to disk from there. True when it
 * is on its way to the disk because of this call. */
bool cache_admit(struct cache *c, struct object *o);

/* RFC 9111 4.3.4: o with a new head and terms, body neither copied nor rewritten. While RAM holds
 * it the disk keeps the older head; when RAM lets go of it, or at cache_stop, and at once where RAM
 * does not hold it or the tags are others, a small record is written that points to the old body.
 * begun: cache_now() before the request left, and not later than o was clean. Returns a reference
 * to the new object; it takes o's place unless something covers the one or the other. */
struct object *cache_refresh(struct cache *c, struct object *o, struct str head, struct str tags,
			     const struct terms *terms, uint64_t begun);

/* This key alone is forgotten in RAM and on disk; true if there was one. Readers that hold the
 * object finish undisturbed. Also after a crash, once the purge log is written (not waited for). */
bool cache_remove(struct cache *c, struct twice_key_hash hash, struct str key);

/* ---- variants of a URL (siblings.h) -------------------------------------------------------- */

/* The variant of the URL with this primary hash was stored; of more than `most` the least used go,
 * from RAM and from the disk's index. */
void cache_variant_stored(struct cache *c, struct twice_key_hash primary,
			  struct twice_key_hash variant, unsigned most);
/* It answered. After a restart that counts it among the URL's variants again. */
void cache_variant_used(struct cache *c, struct twice_key_hash primary,
			struct twice_key_hash variant, unsigned most);

/* ---- forgetting (forget.h) ----------------------------------------------------------------- */

/* The time now: grows with everything that is forgotten. One load. */
uint64_t cache_now(const struct cache *c);
/* Was nothing that covers the key forgotten after since? For what is fetched and shared before it
 * is stored. */
bool cache_is_clean(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags,
		    uint64_t since);
/* The times of the latest purges of what has this key and these tags: by prefix or tag, and soft ones
 * of all kinds; 0: none. For the baseline. */
struct cache_purges {
	uint64_t now, gone, stale;
};
struct cache_purges
cache_latest_purges(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags);
/* What stands for a tag among the tags of an object. */
uint32_t cache_tag(const struct cache *c, struct str tag);

/* The URL of a key is invalidated: all its keys, variants and parts. Applied at once, also to what
 * is being fetched; made durable behind the caller's back. tags: of the caller's own answer. */
struct forgotten {
	uint64_t at;	/* what begins now or later is newer */
	bool had;	/* something was stored under this very key */
	bool was_clean; /* nothing else that covers the key and tags was forgotten after since */
};
struct forgotten cache_forget(struct cache *c, struct twice_key_hash hash, struct str key,
			      struct str tags, uint64_t since);

/* The same by hand. It holds at once; cache_purge_wait waits until all up to a time is durable. False:
 * it cannot be made so. That is not for workers. */
enum purge_what { PURGE_URL, PURGE_HOST, PURGE_ALL, PURGE_PREFIX, PURGE_TAG };
struct purged {
	uint64_t at;
	bool had; /* URL: stored under this very key; else: anything was stored */
};
/* name: the URL's key; host[:port] as in a key; nothing; the beginning of a URL's key up to some
 * place in its path, less than CACHE_PREFIX_MOST bytes; a tag. hash: of a URL's key. soft: what is
 * covered is not gone but stale: it is validated before it is fresh again. */
enum { CACHE_PREFIX_MOST = 4096 };
struct purged cache_purge(struct cache *c, enum purge_what what, bool soft,
			  struct twice_key_hash hash, struct str name);
/* False: it holds until this process ends, and nothing is answered from the directory until it is
 * durable. */
bool cache_purge_wait(struct cache *c, uint64_t at);

/* The same for workers: done is called on home's thread. */
struct forget_letter {
	struct letter letter; /* private; must be first */
	struct mailbox *home;
	void (*done)(struct forget_letter *l);
	bool durable;
	uint64_t at; /* private, as the rest */
	int64_t since_ms;
	struct forget_letter *next;
};
void cache_purge_tell(struct cache *c, struct forget_letter *l, uint64_t at);

/* ---- facts --------------------------------------------------------------------------------- */

struct cache_stats {
	uint64_t written_bytes; /* all bytes written below dir: records, padding, index, tombstones
				 */
	uint64_t used_bytes, limit_bytes, objects, evicted_objects, damaged_records;
	uint64_t ram_used_bytes, ram_limit_bytes, ram_objects, ram_evicted_objects;
	uint64_t io_errors, refused_writes; /* disk failing, behind or not read yet */
	uint64_t unread_segments; /* whose objects are not found yet; until 0 nothing is written */
	bool failing;		  /* storing is suspended now */
	uint64_t purges_kept;	  /* that lookups are compared with */
	uint64_t purges_shed; /* dropped because there were too many: what was stored before them is
				 fetched anew */
	bool purges_durable;  /* false: nothing is answered from the directory */
	uint64_t pending_bytes; /* gathered, or under way to the disk; in whole batches */
	uint64_t carried_bytes; /* of written_bytes: records moved on because they were hot */
	uint64_t
		admitted_bytes; /* of records and bodies that came in: written_bytes has all else too */
	uint64_t purge_bytes;	 /* of written_bytes: the log of what was purged */
	uint64_t index_bytes;	 /* memory of the index */
	uint64_t scrubbed_bytes; /* read and checked in the background */
	uint64_t scrub_damaged;	 /* of damaged_records: found by that, and forgotten */
	uint64_t turn_bytes; /* of the log, once it grows no more; 0: it grows, fails, or is none */
	struct cache_disk_stats {
		const char *dir; /* the cache's */
		uint64_t written_bytes, used_bytes, limit_bytes, objects, io_errors;
		bool failing; /* nothing is written to it now, or nothing read */
	} disks[CACHE_DISKS_MOST];
	unsigned disks_n, disks_left_out; /* that are used; that could not be, at the start */
};
void cache_stats(struct cache *c, struct cache_stats *out);

/* Bytes a record of such an object takes in the log, overhead included: what the baseline counts.
 */
uint64_t cache_record_bytes(size_t key_bytes, size_t head_bytes, uint64_t body_bytes);

/* For files beside the log that count as written bytes too (filter snapshots): writes name in dir
 * atomically (temporary file, fsync, rename); data comes from fill(ctx, write). 0 or -1 (errno). */
int cache_save_file(struct cache *c, const char *name,
		    int (*fill)(int (*write)(void *, const void *, size_t), void *to, void *ctx),
		    void *ctx);
/* Opens name in dir for reading: a file descriptor, or -1 with errno; ENOENT: there is none. */
int cache_open_file(struct cache *c, const char *name);
/* Appends all of it to *to; of more than most bytes, the beginning, which is longer than that. False:
 * there is none. *why: NULL, or why it cannot be read to its end. */
bool
cache_read_file(struct cache *c, const char *name, uint64_t most, struct buf *to, const char **why);

#endif
