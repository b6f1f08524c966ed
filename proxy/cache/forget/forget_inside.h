/* forget_inside.h - what the files of forget.h share. For nobody else.
 *
 *	forget.c        forgetting; life
 *	forget_log.c    the thread that makes it durable
 *	forget_bound.c  the time, and how much is kept
 *	forget_wait.c   waiting for that
 *	forget_shed.c   what goes when it is too much
 *	forget_ask.c    asking, and under which hash a thing is kept
 *	forget_hints.c  what need not be asked
 */
#ifndef CACHE_FORGET_INSIDE_H
#define CACHE_FORGET_INSIDE_H

#include "proxy/cache/cache_forget.h"
#include "proxy/cache/forget/forget.h"
#include "proxy/cache/forget/forget_hints.h"
#include "proxy/cache/forget/forget_table.h"

#include <pthread.h>
#include <stdatomic.h>

/* Times are starts << FORGET_STARTS_SHIFT | n. */
enum { FORGET_STARTS_SHIFT = 40, FORGET_STARTS_MOST = 1 << 24 };

struct forget_disk {
	struct forget_place place;
	struct purge_log log; /* the thread's, once it runs */
	enum forget_found found;
	_Atomic bool sound;
	_Atomic uint64_t log_bytes;
	_Atomic int64_t since_ms; /* of the write to its log that is under way; 0: none */
};

struct purge_list {
	struct purge_entry *of;
	size_t n, room;
};

/* Lasting entries on their way to the logs. */
struct purge_queue {
	struct purge_list pending;  /* to be written at once */
	struct purge_list gathered; /* wait for others until then */
	int64_t gathered_ms;
	bool beyond; /* more was gathered than is listed: all is written anew */
};

struct forget {
	_Alignas(64) _Atomic uint64_t newest;
	/* Everything that is not clean as of floor is forgotten; fetches: as of fetch_floor. */
	_Atomic uint64_t floor, fetch_floor;
	_Atomic bool sound;
	_Atomic bool late; /* a write to a log hangs, and somebody was told so */
	_Atomic uint64_t shed, written, merged;
	struct forget_hints hints;

	_Alignas(64) struct forget_options o;
	struct forget_table *table;
	uint64_t starts, max_entries;
	uint64_t (*oldest)(void *ctx);
	void *oldest_ctx;
	struct forget_disk disks[FORGET_PLACES_MOST];
	_Atomic unsigned disks_n; /* 0: memory only */
	uint32_t epoch, name;	  /* purge_head: epoch, disks */
	int64_t retry_ms;	  /* the thread's: disks that are left out are not tried before */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* everything below, and the order of newest */
	pthread_cond_t work, done;
	struct purge_queue queue;
	uint64_t durable, tried; /* all pending up to here is on the device; was tried to be */
	uint64_t lasting_at;	 /* the newest of those that are written */
	uint64_t late_at;	 /* the newest that somebody was told of in vain */
	struct forget_letter *letters; /* that wait for tried */
	uint64_t recent;	       /* things forgotten since everything was */
	struct forget_hints *fresh;    /* being built, to take the place of hints */
	bool crowded, stopping;
	bool warned;	   /* that the room for what is ordered goes to its end */
	bool resting;	   /* the logs are somebody else's */
	int64_t works_ms;  /* since when they are not, where they were */
	bool writes;	   /* the thread does, without the lock */
	bool anew;	   /* whatever the logs say */
	forget_heir *heir; /* NULL: none */
	void *heir_ctx;
};

/* forget_ask.c: the hash under which a thing is kept in the table: of a URL, a host, a prefix, a tag
 * its name's, of a key alone one made from the key's. */
struct twice_key_hash forget_name(const struct forget *f, enum forget_kind kind,
				  struct twice_key_hash hash, struct str name);
/* 32 bits of the hash of the host of a URL's key, never 0; what the tables hold of a host, of which these are known;
 * an entry of an older log, in which hosts have whole hashes, as one of now. */
uint32_t forget_host_of(const struct forget *f, struct str url);
struct twice_key_hash forget_host_key(uint32_t host);
struct purge_entry forget_of_now(const struct purge_entry *e);
/* Of the scheme and host of a prefix. */
struct twice_key_hash forget_prefix_host(const struct forget *f, struct str url);

/* Under the lock, into table and hints. host: of a URL or a prefix; else 0. */
void forget_enter(struct forget *f, const struct purge_entry *e, uint32_t host, bool lasting);

/* forget_bound.c, under the lock: what must be true between any two calls. */
void forget_check(const struct forget *f);

/* forget_bound.c. Everything up to then is forgotten. */
void forget_raise_floor(struct forget *f, uint64_t to);
void forget_raise_fetch_floor(struct forget *f, uint64_t to); /* for fetches alone */
bool forget_is_crowded(const struct forget *f, unsigned quarters);
bool forget_is_beyond(const struct forget *f, enum forget_class class, unsigned quarters);
/* How many unordered entries the log keeps: what the ordered ones leave of it, a quarter at least. */
uint64_t forget_unordered_room(const struct forget *f);
/* An entry with this time: all that is not clean as of then is stale. */
struct purge_entry forget_all_softly(uint64_t at, uint32_t since_s);
/* Under the lock, of something new: work for the thread when there are too many entries; if it does
 * not keep up, everything is forgotten at once. */
void forget_mind_the_bound(struct forget *f, uint64_t now);
/* Without the lock: entries that no record on disk is older than go. */
void forget_drop_outlived(struct forget *f);
int forget_by_time(const void *a, const void *b); /* of entries, for qsort */
void forget_build_hints(struct forget *f);

/* forget_shed.c, without the lock: fewer entries, where there are too many of a class. */
void forget_shed(struct forget *f);

/* forget_log.c: the log is written to a new file, which takes the place of the old one; the thread
 * (its argument: the struct forget). */
void forget_write_anew(struct forget *f);
void *forget_run(void *arg);
/* Under the lock. */
void forget_pend(struct purge_list *l, const struct purge_entry *e);
/* Under the lock: what was gathered waits no more. */
void forget_hurry(struct forget *f);

#endif
