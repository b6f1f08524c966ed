/* forget.h - one order of things in time: what was purged or invalidated, and since when.
 *
 * Time is a number that grows by one with everything that is forgotten: the count of starts (kept
 * on disk) << 40 | n, never the same twice in a directory's life. Whatever is stored carries the
 * time up to which it is known to be clean (clean_as_of): nothing forgotten by then covers it. A
 * lookup compares that with the newest time, which is one load, and asks the tables only where the
 * two differ. So nothing must be found and removed for a purge to hold, and no race can undo it:
 *
 *	a fetch      notes forget_now() before its request leaves, asks at its commit whether
 *	             anything since covers its key, and publishes with the time of that answer
 *	a purge      that comes in between has a later time than what is published, so that the
 *	             next lookup finds it in the tables
 *
 * Always    whatever threads do, between any two of these steps (test_windows.c tries each):
 *
 *	1  An entry is in the tables before its time can be read.
 *	2  A time is given to an object only by who has asked, by the object's key and by all its
 *	   tags, about everything up to that time: forget_judge, forget_covers_fetch, and
 *	   forget_add_own for one's own entry, under one lock with it.
 *	3  What comes of an object is asked for by the tags of both, from the time on when the
 *	   request left or that of the object, whichever is earlier.
 *	4  A copy on disk has every tag of the object in RAM that knows its place; slices have
 *	   every tag of their head. Who gives an object another tag forgets what had it not.
 *	5  When an answer replaces another one and does not take its place on disk, the key is
 *	   forgotten before the new one can be seen.
 *	6  Who joins a fetch asks when its head brings tags.
 *
 * Lasting   what was stored when it was forgotten may be on disk: the entry goes to the purge log
 *           (purge_log.h) and is replayed at the next start.
 * Passing   nothing was stored: the entry is only there for fetches under way, and kept in memory.
 * Ordered   somebody purged it by hand. All else is unordered: a client's unsafe request, or an answer,
 *           or the cache's own upkeep forgets a URL or a key. The changes by clients' requests are gathered:
 *           the log gets those of a second in one write, and so many in a second at most
 *           (FORGET_GATHER_MOST). A crash may bring back what waited.
 * Promise   forget_wait returns 0 only when the entry is on the device (fdatasync). After a failure
 *           the log is written anew in another file, again and again until that works; until then
 *           forget_is_sound_at is false, and the caller must not answer from that directory nor write
 *           to it. The log that misses something is removed, if that can be done, so that a crash
 *           now leaves a directory whose content nobody trusts. A write that hangs counts as one
 *           that failed as soon as somebody was told so, until it is back; a crash meanwhile may
 *           bring back what was purged and not called durable.
 * Disks     of a cache on several disks each has the whole log. One whose log cannot be written is
 *           left out (forget_is_sound_at) until that works again, and the logs of the others say so
 *           before anything more is called durable: their epoch grows. At the start the log of the
 *           newest epoch counts, and a disk that is behind it was left out, or away: nobody knows
 *           what was purged of it.
 * Soft      what a soft entry covers is not gone but stale since then: it may be validated. For a
 *           fetch under way it is as any other.
 * Bound     exact up to a number of entries that follows from log_bytes. At three quarters of
 *           that the URLs and prefixes of the hosts that have most become one entry for the
 *           host each; if that is not enough, the older half of what was ordered is dropped, and
 *           everything that is not known to be clean since then counts as forgotten
 *           (forget_stats.shed); softly, if all that was dropped is soft: too much is fetched or
 *           validated, nothing comes back. There is a warning at half of that.
 *           Unordered entries take no room from ordered ones, and those that are too many for the log
 *           are kept in memory, at least 2^18: the log says instead that all from before them is
 *           stale, so that it is validated after the next start. Beyond, it is so at once.
 * Cost      what is clean as of now: one load. Else one look into a table for each sort of thing
 *           that was forgotten at all and covers the key; for prefixes, where the host has any, one
 *           for each length that there is; for tags, a word of a filter for each tag.
 * Threads   any. One thread of its own writes the log. forget_add waits for no disk.
 */
#ifndef CACHE_FORGET_H
#define CACHE_FORGET_H

#include "proxy/base/str.h"
#include "proxy/cache/forget/purge_log.h"

struct forget;

struct forget_place {
	int dir_fd; /* borrowed */
	const char *dir;
};
enum { FORGET_PLACES_MOST = 16 };

struct forget_options {
	int dir_fd; /* borrowed; -1: memory only */
	const char *dir;
	const struct forget_place *more; /* disks behind this one; borrowed while opening */
	unsigned more_n;
	/* Disks that belong to the cache and are none of these; borrowed while opening. If there are no others,
	 * nothing is durable. */
	const char *left_out[FORGET_PLACES_MOST];
	unsigned left_out_n;
	const struct twice_seed *seed; /* of all hashes here; borrowed */
	uint64_t log_bytes; /* the most that the log may take; 0: there is and will be none */
	const struct diskio_ops *ops; /* NULL: the system's */
	/* False: another process may have the directory of that disk, and its log is not touched. NULL: yes. */
	bool (*has_lock)(void *ctx, unsigned disk);
	void *ctx;
	unsigned retry_ms; /* a log that could not be written is tried again after that; 0: 250 */
};
enum forget_found {
	FORGET_KEPT,
	FORGET_MISSING, /* there is no log: what else is in the directory may have been purged */
	FORGET_LOST,	/* it is damaged: the same */
	FORGET_BEHIND	/* things were forgotten while this disk was away or left out: the same */
};
/* Reads the logs: kept if one was. Then forget_found_at says it of each disk, in the order of the
 * options. */
enum forget_found forget_open(struct forget **out, const struct forget_options *o);
enum forget_found forget_found_at(const struct forget *f, unsigned disk);
/* Begins a new count of starts, on disk, and the writing thread. If the log was missing or lost,
 * what was stored must be gone by now, durably. oldest (may be NULL): the least clean_as_of of all
 * that is stored on disk; called on the writing thread. -1: there is no thread to be had. */
int forget_begin(struct forget *f, uint64_t (*oldest)(void *ctx), void *ctx);
/* Writes what is pending; asks oldest no more. */
void forget_stop(struct forget *f);
/* One that was left out is there again, with nothing on it that was stored: its log is written anew, and it is sound
 * when that is done. place->dir is borrowed until forget_close. */
void forget_join(struct forget *f, const struct forget_place *place);
void forget_close(struct forget **f);

/* One load. */
uint64_t forget_now(const struct forget *f);

/* Something stored, or on its way to be. */
struct forget_thing {
	struct twice_key_hash hash; /* of the key */
	struct str key;
	struct str tags; /* 4 bytes each, little-endian: forget_tag of each; may be empty */
};
enum { FORGET_TAG_MOST = 1024 }; /* bytes of a tag that count */
/* The hash of a tag. Capital letters are as small ones. */
uint32_t forget_tag(const struct forget *f, struct str tag);

enum forget_word {
	FORGET_CLEAN, /* as of *now */
	FORGET_STALE, /* softly: it is not fresh since *stale_s, in unix seconds, and may be validated */
	FORGET_GONE
};
/* Was it forgotten after since? *now is set; *stale_s where that is the answer. */
enum forget_word forget_judge(struct forget *f, const struct forget_thing *o, uint64_t since,
			      uint64_t *now, uint32_t *stale_s);
/* The same for what was fetched since then and is not stored yet, whether softly or not. If not, it
 * is clean as of *now. */
bool
forget_covers_fetch(struct forget *f, const struct forget_thing *o, uint64_t since, uint64_t *now);

/* When was it forgotten last: by prefix or tag, and softly by whatever? 0: never, or not kept any
 * more. For who counts and holds nothing: URLs, hosts and all are told one by one. */
struct forget_latest {
	uint64_t gone, stale;
};
struct forget_latest forget_latest(struct forget *f, const struct forget_thing *o);

/* Why something is forgotten decides how soon it is written, and beside what it is kept. */
enum forget_cause {
	FORGET_PASSING,	 /* see above */
	FORGET_GATHERED, /* unordered */
	FORGET_AT_ONCE, /* the same, and written at once: a crash must not bring back an older answer */
	FORGET_ORDERED
};
enum { FORGET_GATHER_MS = 1000, FORGET_GATHER_MOST = 4096 };

/* FORGET_URL: the URL of key; FORGET_KEY: the key, of which hash.hi is enough; FORGET_HOST: key is
 * host[:port] as in a URL's key; FORGET_PREFIX: key is the beginning of a URL's key, some of its
 * path included, less than PURGE_PREFIX_MOST bytes; FORGET_TAG: key is the tag; FORGET_ALL.
 * Returns the time from which on it holds. */
uint64_t forget_add(struct forget *f, enum forget_kind kind, struct twice_key_hash hash,
		    struct str key, enum forget_cause cause);
/* The same, ordered; what is covered is stale, and may be validated. Not FORGET_KEY. */
uint64_t forget_add_softly(struct forget *f, enum forget_kind kind, struct str key);
/* The same for one who knows better than all before: FORGET_URL or FORGET_KEY of o; *was_clean says
 * whether anything else was forgotten after since that covers o, its tags included. */
uint64_t forget_add_own(struct forget *f, enum forget_kind kind, const struct forget_thing *o,
			enum forget_cause cause, uint64_t since, bool *was_clean);
/* How many ordered entries are kept apart. */
uint64_t forget_most(const struct forget *f);
/* Waits until all that was forgotten up to a time is durable: 0; -1 when it could not be made so,
 * or not within FORGET_LIMIT_MS: then no directory is sound until it is. Where the logs rested
 * meanwhile, that time begins anew when they are written again. */
enum { FORGET_LIMIT_MS = 5000 };
int forget_wait(struct forget *f, uint64_t at);
/* The same as a letter home (cache.h); somebody must call forget_give_up now and then: letters that
 * have waited since before then go home. */
struct forget_letter;
void forget_tell(struct forget *f, struct forget_letter *l, uint64_t at);
void forget_give_up(struct forget *f, int64_t before_ms);
bool forget_is_sound_at(const struct forget *f, unsigned disk);

/* ---- another process takes the directory over ----
 * Resting: the logs are not written. What is forgotten holds at once, as ever, and waits to be made
 * durable. False: what was forgotten before could not be written, and nothing has changed. */
bool forget_rest(struct forget *f);
/* The logs are written again, anew: others may have put theirs in the place. */
void forget_work(struct forget *f);
/* Lists the waiting entries in order; the caller frees. */
size_t forget_waiting(struct forget *f, struct purge_entry **out);
/* From now on, instead of being written, lasting entries are handed on, in order, on the thread. It
 * returns how many were: the rest is tried again. *durable: all of the list are durable there. After
 * forget_rest; for good. */
typedef size_t forget_heir(void *ctx, const struct purge_entry *list, size_t n, bool *durable);
void forget_bequeath(struct forget *f, forget_heir *heir, void *ctx);
/* Entries of a process with the same seed: forgotten now. Returns the time from which on they hold. */
uint64_t forget_inherit(struct forget *f, const struct purge_entry *list, size_t n);

struct forget_stats {
	uint64_t now, lasting, passing, shed;
	uint64_t room;	 /* for so many more that are ordered, before any are merged */
	uint64_t merged; /* URLs and prefixes that became one for the host */
	uint64_t log_bytes, written_bytes; /* the file; all writes to it since start */
	bool sound;
};
void forget_stats(struct forget *f, struct forget_stats *out);

#endif
