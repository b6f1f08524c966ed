/* cache_inside.h - what the files behind the door share.
 *
 *	heritage.c        a directory goes over to another process
 *	cache_open.c      made and ended
 *	cache_earned.c    what segments have earned, over a restart
 *	cache_late.c      a disk that hangs
 *	cache_watch.c     a directory whose files were deleted, or that was left out
 *	cache_join.c      a directory that was left out is taken back
 *	cache_lookup.c    RAM first, then the disk
 *	cache_refresh.c   a new head for an object that is there
 *	read.c            objects and bodies from the disk
 *	write.c           objects coming in
 *	cache_replace.c   what RAM or a disk had of the key before
 *	cache_place.c     a record on the disk for an object in memory
 *	cache.c           forgetting, removing, counting
 *	cache_disks.c     which disk: to write to, and what lies where
 *	files_saved.c     small files beside the segments
 *	files.c           which directories can be used
 *	directory.c       one of them: opened, locked
 *
 * Calls go down this list.
 */
#ifndef CACHE_CACHE_INSIDE_H
#define CACHE_CACHE_INSIDE_H

#include "proxy/cache/cache.h"
#include "proxy/cache/cache_disk.h"
#include "proxy/cache/forget/forget.h"
#include "proxy/cache/store/object.h"
#include "proxy/cache/ram.h"
#include "proxy/cache/siblings.h"
#include "proxy/cache/reads.h"
#include "proxy/cache/store/store.h"

#include <pthread.h>

/* Without a disk, bodies in memory lie in such blocks; with one, its fragments say it. */
enum { CACHE_RAM_BLOCK = 256 << 10 };

/* Memory of ended writes for the next ones: a slot per thread, more or less. */
enum { SPARE_WRITES = 16 };
struct object_write;
struct spare_write {
	_Atomic(struct object_write *) write;
	char apart[64 - sizeof(void *)]; /* threads do not share a line */
};

enum { COMMIT_LOCKS = 64 };

struct disk {
	struct cache *cache;
	struct store *store;
	char *dir; /* owned */
	int dir_fd, lock_fd;
	uint64_t bytes, name; /* name: a hash of dir, by which objects choose their disks */
	bool fresh;	      /* its seed is new: what lies there cannot be found again */
	bool must_empty;      /* that, or nobody knows what was purged */
	bool moved;	      /* its place is another directory's: cache_watch alone knows */
};

/* A directory is opened, by a thread where cache_options.still_ms says so. */
enum { DIRECTORY_TEXT = 512 };
struct visit {
	struct disk d; /* whoever takes it leaves one without descriptors and dir */
	struct aside *aside;
	bool again; /* it was left out: nothing is made, and a directory that never was a cache's is none */
	int locks[CACHE_DISKS_MOST];
	unsigned locks_n;
	/* When it is over. */
	bool inherits; /* the lock is one that was sent */
	int result;    /* 0: opened and locked; -1: it cannot be used; -2: another process has it */
	int error;     /* errno, of -1 */
	char err[DIRECTORY_TEXT];
};

/* A directory that was left out: cache_watch alone knows it, once the cache is open. */
struct away {
	char *dir; /* owned */
	uint64_t bytes;
	struct visit *visit; /* under way, or NULL */
	bool waits;	     /* it can be used again, with what it holds (cache_waits) */
};

/* Directories that cannot be used. */
enum { CACHE_SEED_RANDOM = CACHE_SEED_BYTES };
struct cache_lost {
	/* A bit for each disk from which a read is not back in time, or whose files were deleted; of the latter
	 * alone. */
	_Atomic uint32_t hangs, deleted;
	_Atomic unsigned left_out; /* of those in the configuration */
	_Atomic unsigned waiting;  /* of these: away.waits */
	struct away away[CACHE_DISKS_MOST];
	unsigned away_n;		/* at the start */
	uint64_t begun_at;		/* of the order of what was forgotten */
	char random[CACHE_SEED_RANDOM]; /* of the seed, for a directory that is taken back */
};

/* The thread of cache_late.c. */
struct late_watch {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool runs, ends; /* ends: under the lock */
};

struct cache {
	struct cache_options o;
	struct disk disks[CACHE_DISKS_MOST];
	_Atomic unsigned disks_n; /* 0: RAM only. It grows when one is taken back */
	struct cache_lost lost;
	const char *_Atomic dir; /* of the first disk, where the small files lie; NULL: RAM only */
	int dir_fd;		 /* the same, set before */
	struct twice_seed seed;
	_Atomic bool stopped;	   /* no I/O thread any more */
	_Atomic bool bequeathed;   /* what is stored is the other one's */
	_Atomic bool rests;	   /* another process writes to the directories (heritage.h) */
	_Atomic bool asked_before; /* cache_expect */
	_Atomic bool held;	   /* cache_hold */
	/* Disks that do not know yet all they hold, and what RAM took meanwhile. */
	_Atomic unsigned unread;
	_Atomic uint64_t superseded;
	struct forget *forget;
	struct ram *ram;
	struct siblings *siblings;
	struct reads *reads;  /* under way on I/O threads */
	uint32_t block_bytes; /* bodies in memory lie in blocks of this; a fragment's size */
	uint64_t max_body_bytes;
	struct spare_write spare_writes[SPARE_WRITES];
	_Atomic uint64_t building_bytes; /* bodies of writes under way */
	/* One thread after the other changes the meaning of a key: a write for RAM alone takes an older answer off the
	 * disk, and one to the disk takes it out of RAM, so that of two at once neither might be left. */
	pthread_mutex_t commit_locks[COMMIT_LOCKS];
	_Atomic uint64_t damaged, refused;

	struct late_watch late;

	/* Held while a file is written, that is, while a disk hangs: for nobody who asks for numbers. */
	pthread_mutex_t files_lock;
	_Atomic uint64_t files_bytes; /* saved files */
	uint64_t reserve_bytes;	      /* how much they may be */
	_Atomic uint64_t files_written;
};

/* The files of what segments have earned (earnings.h): one for each disk, beside the other small ones. */
#define CACHE_EARNED "earned"
enum { CACHE_EARNED_NAME = 32 };

/* files.c, and the last of files_saved.c */
int files_open(struct cache *c, char *err, size_t err_bytes);
void files_close(struct cache *c);
/* A directory that is to be taken back gets this cache's seed, and what lies there is believed by nobody. 0 or -1. */
int files_join(struct cache *c, struct disk *d);
void files_joined(struct cache *c); /* it is one of the disks */
void files_earned_name(unsigned disk, char to[CACHE_EARNED_NAME]);

/* directory.c. Each visit is ended; one that is not over then ends by itself. */
struct visit *directory_visit_begin(struct cache *c, const struct cache_disk *to, bool again);
bool directory_visit_is_over(const struct visit *v);
bool directory_visit_wait(const struct visit *v,
			  int64_t still_ms); /* false: its thread has stood still for so long */
void directory_visit_end(struct visit **v);
void directory_close(struct disk *d);
bool directory_has_seed(const struct disk *d);
bool directory_is_at_root(const struct disk *d); /* on the file system of "/" */
/* A lock file is made in the place of a deleted one. False: another process has the directory, or it is gone. */
bool directory_lock_again(struct disk *d);

/* May a disk hold more than can be found there? */
static inline bool
cache_has_unread(const struct cache *c)
{
	return atomic_load_explicit(&c->unread, memory_order_acquire) > 0;
}

/* May the disk be used? Not while a purge could not be made durable there, or may have been missed (cache_hold), or a read
 * hangs; nor when
 * another disk may have a newer record of the key. NULL: no. */
static inline bool
cache_store_is_open(const struct cache *c, const struct store *st)
{
	unsigned n;
	return st && !(c->disks_n > 1 && cache_has_unread(c)) &&
	       (n = store_number(st), forget_is_sound_at(c->forget, n)) &&
	       !atomic_load_explicit(&c->held, memory_order_acquire) &&
	       !(atomic_load_explicit(&c->lost.hangs, memory_order_relaxed) >> n & 1) &&
	       !atomic_load_explicit(&c->stopped, memory_order_relaxed);
}

/* May any? */
static inline bool
cache_disk_is_open(const struct cache *c)
{
	for (unsigned i = 0; i < c->disks_n; i++)
		if (cache_store_is_open(c, c->disks[i].store))
			return true;
	return false;
}

/* Purges and evictions do not wait for who holds it. */
static inline pthread_mutex_t *
cache_commit_lock(struct cache *c, struct twice_key_hash hash)
{
	return &c->commit_locks[hash.hi % COMMIT_LOCKS];
}

/* Here another thread may do anything: what it forgets must hold all the same. */
static inline void
cache_window(const struct cache *c)
{
	if (c->o.window)
		c->o.window(c->o.window_ctx);
}

/* How often hits on disk have faded. */
static inline uint32_t
cache_fades(const struct cache *c)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < c->disks_n; i++)
		n += store_fades(c->disks[i].store);
	return n;
}

/* cache_disks.c. Where a new object of the key goes: of the disks that can be written to one, chosen
 * by hash and sizes. NULL: RAM only. */
struct store *cache_home(const struct cache *c, struct twice_key_hash hash);
/* Does any disk's index have the key? */
bool cache_disks_have(const struct cache *c, struct twice_key_hash hash);
/* Or will, when all that it holds is known? */
bool cache_disks_may_have(const struct cache *c, struct twice_key_hash hash);
/* May a record of it be there that no index knows, or not yet? */
bool cache_disks_may_be_left(const struct cache *c, struct twice_key_hash hash);
/* Out of all indexes, as store_remove and store_drop; true if it was in one. */
bool cache_disks_remove(struct cache *c, struct twice_key_hash hash);
void cache_disks_drop(struct cache *c, struct twice_key_hash hash);
/* The first disk from one on that may be read and has the key, or disks_n. */
unsigned cache_disk_of(const struct cache *c, struct twice_key_hash hash, unsigned from);

/* cache.c: was o forgotten? If not at all, it is marked as clean as of now. */
struct judged {
	enum forget_word word;
	uint32_t stale_s; /* FORGET_STALE: since when, in unix seconds */
	uint64_t now;
};
struct judged cache_judge(struct cache *c, struct stored *o);
/* The same of a record. What is stale is told so in its terms, and with that it is clean too. */
bool cache_record_is_forgotten(struct cache *c, struct record *r);
/* Is it gone? */
bool cache_is_forgotten(struct cache *c, struct stored *o);
/* o is forgotten, and a slice: was it still as good as a head when somebody began with that, which was
 * known to be clean since `from` without a gap? Slices that are older than that may have been gone by
 * then. */
bool cache_was_of(const struct object *o, uint64_t from, struct str tags);
/* cache.c: the same for who has just published o; if it was, it is removed. */
bool cache_is_still_clean(struct cache *c, struct stored *o);
/* cache.c: o takes the place of what the cache has under its key so far, or under its URL: that is
 * forgotten, lastingly, and o clean as of then. False: since then something else was forgotten that
 * covers the key or these tags, and o is as clean as it was. */
bool cache_outlives(struct cache *c, struct stored *o, enum forget_kind kind, struct str tags,
		    uint64_t since);
/* cache.c: what other disks than o's have of its key is forgotten, and o clean as of then. False: o was
 * forgotten itself meanwhile. */
bool cache_leave_others(struct cache *c, struct stored *o);
/* cache.c: is every tag of a one of b? May say no where there are very many. */
bool cache_tags_within(struct str a, struct str b);
/* cache.c: the key alone is forgotten, for good. */
void cache_remove_lasting(struct cache *c, struct twice_key_hash hash, struct str key);

/* cache_refresh.c: o, whole in memory, as what was forgotten softly: stale since then, by its terms. It
 * takes its place in RAM; a reference. */
struct stored *cache_outdate(struct cache *c, struct stored *o, const struct judged *j);

/* cache_replace.c: RAM has the same body, which is on disk: o is a new head for it, and is published. */
bool cache_renews(struct cache *c, struct stored *o);
/* cache_replace.c: what the disks have of o's key is forgotten, for o will be in RAM only; first whether
 * there is room for that. False: something else that covers o was forgotten meanwhile. */
bool cache_may_supersede(struct cache *c);
bool cache_supersedes(struct cache *c, struct stored *o);

/* cache_place.c: puts the body's bytes (in memory, or the fragments that are on disk already) and a
 * record for o on the disk; over: as store_put. */
bool cache_place(struct cache *c, struct stored *o, const struct fragment *fragments,
		 uint32_t fragments_n, const struct locator *over);
/* cache_place.c: a record for o, in place of the one at body->at, whose body is where body says. */
bool cache_refer(struct cache *c, struct stored *o, const struct placement *body);

/* write.c */
void cache_free_spare_writes(struct cache *c);

/* files.c: is the lock that this process has the one in the directory? Then no other process has that. */
bool cache_has_lock(const struct cache *c, unsigned disk);

/* cache_open.c: a store for the disk; err as cache_open. */
int cache_open_store(struct cache *c, struct disk *d, char *err, size_t err_bytes);
/* cache_join.c: d, opened and locked, is taken back. False: not now; d is as it was. */
bool cache_join(struct cache *c, struct disk *d);

/* cache_late.c: the thread that looks for reads that take too long. */
int cache_late_start(struct cache *c); /* -1: there is no thread to be had */
void cache_late_stop(struct cache *c);

/* cache_earned.c: what was saved, before the cache is used. */
void cache_load_earnings(struct cache *c);

#endif
