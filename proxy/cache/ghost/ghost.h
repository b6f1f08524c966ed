/* ghost.h - a cache of a certain disk and memory, as numbers: what would it hold, what would it
 * write, what would it ask the origin for?
 *
 * It admits at first sight, which is the baseline that the proxy is compared with; the simulator
 * marks what its rule of admission refuses, and then it does as the proxy does.
 *
 * It runs the real ledger and the real policy of the RAM tier over sizes instead of bytes, and the
 * same rules of freshness, validation and eviction over what the real proxy was asked for and
 * learnt. Up to max_entries objects it is exact; beyond, it keeps the largest ones, and of the others
 * a sample of keys chosen by hash (SHARDS: Waldspurger et al., FAST 2015); each of these stands for
 * `weight` keys and takes so much more of the ghost's log and RAM. Few objects have most of the
 * bytes: sampled like the others, one more or less of them would move all figures.
 *
 * Pure: no clock, no file, no threads. baseline.h feeds it while the proxy runs; the simulator asks
 * it directly.
 */
#ifndef CACHE_GHOST_H
#define CACHE_GHOST_H

#include "proxy/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct ghost;

struct ghost_options {
	uint64_t disk_bytes;	/* as the cache's; 0: no disk, and nothing to compare with */
	uint64_t segment_bytes; /* 0, or as the cache's */
	uint64_t reserve_bytes;
	uint64_t max_object_bytes;
	uint64_t memory_bytes; /* of its RAM tier, as the cache's; 0: it has none */
	uint32_t max_entries;  /* 0: 32 Ki */
	bool plain_urls;       /* no URL has variants: each event's url is its key */
	bool packs;	       /* bodies that are packed lie on its disk so; false: an ordinary cache */
	bool asked_before;     /* it writes what was asked for before, as cache_expect; false: an ordinary cache */
};
struct ghost *ghost_create(const struct ghost_options *o);
void ghost_destroy(struct ghost **g);

/* The real proxy did this for one request. */
enum ghost_deed {
	GHOST_HIT,     /* answered without asking an origin */
	GHOST_FETCHED, /* asked, and got the whole */
	GHOST_PART,    /* asked, and got a part of it: origin_bytes */
	GHOST_CHECKED, /* asked, and was told 304: nothing came but a head */
	GHOST_ASKED    /* asked, and learnt nothing that could be stored */
};

struct ghost_event {
	uint64_t key;  /* of 64 good bits: of the URL, or of the URL's variant */
	uint64_t url;  /* of the URL: all its variants are forgotten together */
	uint64_t head; /* of a slice: key of the object that is the head of its body */
	uint64_t
		behind; /* of a Range behind the first byte, the number of the slice that it counts for, and 1; 0: it
			  * counts for the key */
	uint64_t record_bytes; /* what the object takes in the log; GHOST_ASKED: not used */
	uint64_t packed_bytes; /* what it takes there packed; 0: that is not known, or it is not */
	uint64_t
		sampled_as; /* 0: record_bytes; else the size that says whether it is a large one */
	uint64_t body_bytes;   /* of the whole */
	uint64_t origin_bytes; /* of bodies that the origin sent us for this request */
	uint32_t host;	       /* of the URL's host, hashed */
	uint32_t now_s;
	uint32_t fresh_s;   /* how long an answer that the origin gave now would be fresh */
	uint32_t validator; /* of the object as it is now, hashed; 0: it has none */
	/* Times of purges (cache.h): of this event; of the last purge by prefix or tag that covers
	 * the object, and of the last soft one, 0: none. The ghost asks nobody what it may answer
	 * with, so it learns of these when the object is asked for. */
	uint64_t purge_now, gone_at, stale_at;
	uint32_t
		request; /* of a client, told from others: several events tell of it; 0: this one tells all */
	uint8_t deed;	   /* enum ghost_deed */
	uint8_t sightings; /* that it is worth, those of who waited for it included */
	bool first;	   /* a Range that asks for the first byte */
	bool always;	   /* its route admits it at first sight */
	bool slice;	   /* of a body whose head is an object of its own */
	bool joins; /* of a trip to an origin that another event counts: a slice besides the first */
	bool background; /* no client waited for it */
	bool whole;	   /* the ghost would fetch the whole if it did not hold it */
	bool packable; /* packed_bytes are not known, and it would be packed when it is written */
	bool refused; /* its disk must not have it: what it would fetch stays in RAM, or nowhere */
};

/* The ghost did this with an event, and wrote so many bytes for it: of a sampled key, as often as
 * the key counts. */
enum ghost_answer {
	GHOST_IGNORED, /* the key is not in the sample */
	GHOST_FROM_RAM,
	GHOST_FROM_DISK,
	GHOST_VALIDATED, /* asked the origin, which said 304 */
	GHOST_MISSED,	 /* fetched the whole */
	GHOST_PASSED	 /* fetched what was asked for, and kept nothing */
};
struct ghost_did {
	enum ghost_answer answer;
	bool wrote;	 /* the object itself, on this event */
	uint32_t weight; /* how many keys this one stands for */
	uint64_t written_bytes;
	/* To origins, and of bodies from them: its own less ours, as often as the key counts. */
	int64_t net_requests, net_bytes;
};

/* Whether the key is in the sample, with this size (sampled_as): else the event would change nothing.
 * Any thread. */
bool ghost_samples(const struct ghost *g, uint64_t key, uint64_t record_bytes);
/* Ask for the key's place in memory, to be there when see comes: the second one some events after
 * the first. */
void ghost_prefetch(const struct ghost *g, uint64_t key);
void ghost_prefetch_shade(const struct ghost *g, uint64_t key);
struct ghost_did ghost_see(struct ghost *g, const struct ghost_event *e);
bool ghost_is_on_disk(const struct ghost *g, uint64_t key);
/* The event's object takes so much on its disk. */
uint64_t ghost_disk_bytes(const struct ghost *g, const struct ghost_event *e);
/* These were purged or invalidated: a URL with all its variants; all
 * of a host; everything. */
void ghost_forget(struct ghost *g, uint64_t url);
void ghost_forget_host(struct ghost *g, uint32_t host); /* looks at every object */
void ghost_forget_all(struct ghost *g);

/* Keeps a sample of at most one key in 2^halvings, and all that is of large_bytes (sampled_as) or more;
 * UINT64_MAX: nothing is large. Does no more than it must, and never goes back. */
void ghost_thin(struct ghost *g, unsigned halvings, uint64_t large_bytes);

/* A size from which on records have most of the bytes and are a quarter, at most; UINT64_MAX: there is
 * none. */
uint64_t ghost_large_from(const struct ghost *g);

struct ghost_stats {
	/* Scaled up from the sample. A body in slices counts once, by its head. */
	uint64_t written_bytes, hits, misses, validated;
	int64_t net_missed; /* the sum of ghost_did.net_missed */
	/* The bill: what we asked the origin for and the ghost would have had; what we had and it
	 * would have asked for. Bytes are of bodies. */
	uint64_t extra_requests, extra_bytes, avoided_requests, avoided_bytes;
	double sample_share;  /* of keys whose records are not large */
	uint64_t large_bytes; /* sampled_as, from which on they are; UINT64_MAX: none is */
	uint64_t entries, memory_bytes;
};
void ghost_stats(const struct ghost *g, struct ghost_stats *out);
/* Of its log, once that grows no more; 0: it grows, or is none. As cache_stats.turn_bytes. */
uint64_t ghost_turn_bytes(const struct ghost *g);

/* Appends a snapshot of at most `most` bytes: the sample is halved until it fits. tag: of what the
 * keys were hashed with. The counters are not in it: they count since start. */
void ghost_snapshot_save(struct ghost *g, uint64_t tag, uint64_t most, struct buf *out);
/* Into a ghost that saw nothing yet; also one of another size. NULL, or why not, and it is as it
 * was. The bytes may be anything at all. */
const char *ghost_snapshot_load(struct ghost *g, uint64_t tag, struct str bytes);

/* From now on it notes what comes to lie on its disk, and leaves it otherwise than by eviction. */
void ghost_journal_begin(struct ghost *g);
/* Moves what was noted behind out. False: the sample has changed since, and only a snapshot tells. */
bool ghost_journal_take(struct ghost *g, struct buf *out);
/* The same once more, in a ghost that is as that one was when it began, or was restored from there. The
 * bytes may be anything at all. */
void ghost_journal_replay(struct ghost *g, struct str rows);

void ghost_check(const struct ghost *g);

#endif
