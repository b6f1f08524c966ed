/* cache_forget.h - forgetting by URL, host, prefix and tag, as the cache does it for others
 * (forget.h).
 *
 * Threads   any; what waits for the disk says so, and is not for workers.
 */
#ifndef CACHE_CACHE_FORGET_H
#define CACHE_CACHE_FORGET_H

#include "filter/hash.h"
#include "proxy/base/mailbox.h"
#include "proxy/base/str.h"
#include "proxy/cache/forget/forget_kind.h"

#include <stdbool.h>
#include <stdint.h>

struct cache;

/* The time now: grows with everything that is forgotten. One load. */
uint64_t cache_now(const struct cache *c);
/* Was nothing that covers the key forgotten after since? For what is fetched and shared before it
 * is stored. */
bool cache_is_clean(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags,
		    uint64_t since);
/* The times of the latest purges of what has this key and these tags: by prefix or tag, and soft
 * ones of all kinds; 0: none. For the baseline. */
struct cache_purges {
	uint64_t now, gone, stale;
};
struct cache_purges
cache_latest_purges(struct cache *c, struct twice_key_hash hash, struct str key, struct str tags);
/* This number stands for the tag in an object's tags. */
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

/* The same by hand. It holds at once; cache_purge_wait waits until all up to a time is durable.
 * False: it cannot be made so. That is not for workers. */
struct purged {
	uint64_t at;
	bool had; /* URL: stored under this very key; else: anything was stored */
};
/* kind: one that is by hand. name: the URL's key; the beginning of one up to some place in its path, less
 * than CACHE_PREFIX_MOST bytes; host[:port] as in a key; a tag; nothing. hash: of a URL's key. soft: what is
 * covered is not gone but stale: it is validated before it is fresh again. */
enum { CACHE_PREFIX_MOST = 4096 };
struct purged cache_purge(struct cache *c, enum forget_kind kind, bool soft,
			  struct twice_key_hash hash, struct str name);
/* False: it holds until this process ends, and nothing is answered from the directory until it is
 * durable. */
bool cache_purge_wait(struct cache *c, uint64_t at);

/* While it holds, nothing is answered from the directories nor written to them: purges may have been missed that were made
 * elsewhere. Any thread. */
void cache_hold(struct cache *c, bool holds);

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

#endif
