/* purge_log.h - what was forgotten, in order, on disk: the file "purges" in the cache directory.
 *
 * Pages of 4096 bytes, each written twice in a row (page k lies at 8192 k and at 8192 k + 4096), so
 * that one damaged copy loses nothing. The file is made as long as it may grow, and written from
 * its start; behind the last page it is zeros. All numbers are little-endian.
 *
 * page: header (64), entries
 *  0 u32 magic "TWP2"        4 u32 entries in this page (at most 126)
 *  8 u64 number of the page 16 u64 id: random, one per file
 * 24 u64 starts             32 u64 floor: everything up to here is forgotten
 * 40 u64 fingerprint of the seed of the hashes
 * 48 u64 0                  56 u64 XXH3 of bytes 0..55 and, going on from that, of the entries
 *
 * entry (32): u64 at, u64 hash.lo, u64 hash.hi, u8 kind (enum forget_kind), u8 flags (1: soft; 2: of a
 *             client's request or of the cache itself), u16 bytes of a prefix, u32 when, in unix seconds
 *             (of soft ones), else 32 bits of the host's hash (of a URL or a prefix), or 0
 * One kind to come has its number: 7 the id of the entry before it in somebody else's journal, and
 * so the offset up to which that journal was followed (hash.hi and hash.lo: the id). Unknown kinds
 * and flags are what a newer twice wrote: the log is then treated as damaged, because what they say
 * would be lost.
 *
 * Valid     page 0 says whose file it is; the pages behind it carry the same id and their number.
 *           Of two right copies the one with more entries counts (the other was not reached).
 *           All pages before the last one are full.
 * Lost      page 0, a page in the middle, or one whose copies are both neither right nor zeros:
 *           nobody can know what was purged, so all that was stored must go.
 * Crash     a page that was being written holds entries that nobody was told of yet. Its older
 *           entries are in it too; both copies damaged at once means "lost".
 *
 * Threads   one at a time.
 * Errors    -1 with errno. After a write or a sync that failed, the file is never written again:
 *           the kernel may have dropped what it could not write and call the next sync a success.
 *           purge_log_rewrite makes a new file.
 */
#ifndef CACHE_PURGE_LOG_H
#define CACHE_PURGE_LOG_H

#include "filter/hash.h"
#include "proxy/cache/forget/forget_kind.h"

#include <stdbool.h>

struct diskio_ops;

enum {
	PURGE_PAGE = 4096,
	PURGE_HEADER = 64,
	PURGE_ENTRY = 32,
	PURGE_PER_PAGE = (PURGE_PAGE - PURGE_HEADER) / PURGE_ENTRY,
};

/* Flags. Soft: what it covers is stale, and may be validated. Unordered: nobody purged it; a client's
 * request or the cache itself did. */
enum { FORGET_SOFT = 1, FORGET_UNORDERED = 2 };
enum { PURGE_PREFIX_MOST = 4096 }; /* bytes of a prefix, less than this */

struct purge_entry {
	uint64_t at;
	struct twice_key_hash hash;
	uint8_t kind, flags; /* enum forget_kind */
	uint16_t prefix_bytes;
	union {
		uint32_t when_s; /* of a soft one */
		uint32_t
			host; /* of others, for a URL or a prefix: 32 bits of the host's hash; 0: unknown */
	};
};

struct purge_head {
	uint64_t id, starts, floor, fingerprint;
	/* Of a cache on several disks: how often one of them was left out, and which they are. */
	uint32_t epoch, disks;
};

/* PURGE_ENTRY bytes to and from what they say. False: of no kind that is known. */
void purge_log_format_entry(const struct purge_entry *e, char *to);
bool purge_log_parse_entry(const char *p, struct purge_entry *out);

/* Bytes of a file that has room for so many entries. */
uint64_t purge_log_bytes(uint64_t entries);

typedef void purge_log_tell(void *ctx, const struct purge_entry *e);
/* Reads the bytes of a file and tells its entries in order. False: lost (what was told by then says
 * nothing). */
bool
purge_log_parse(const char *p, size_t n, struct purge_head *head, purge_log_tell *tell, void *ctx);

/* A directory's part of purge_head.disks, which is the sum of all. */
uint32_t purge_log_name(const char *dir);
/* Reads how the log of a directory begins. False: there is none, or that is damaged. */
bool purge_log_look(int dir_fd, struct purge_head *head);

struct purge_log {
	const struct diskio_ops *ops;
	int dir_fd, fd; /* fd -1: no file that may be written */
	uint64_t bytes; /* of the file */
	uint64_t written;
	struct purge_head head;
	uint64_t page; /* the one being filled */
	uint32_t n;    /* entries in it */
	char image[PURGE_PAGE];
};

/* A new file with these entries and room for as many bytes, in place of the old one: it is there,
 * or the old one is. */
int purge_log_rewrite(struct purge_log *l, const struct purge_head *head, uint64_t bytes,
		      const struct purge_entry *entries, size_t n);
/* More entries, durable when it returns. -1 ENOSPC: the file is full and as it was. */
int purge_log_append(struct purge_log *l, const struct purge_entry *entries, size_t n);
/* Can the next start find it? Not when somebody has deleted it. */
bool purge_log_is_there(const struct purge_log *l);
/* No file at all: for one that misses what was forgotten since. Without it, whatever is in the
 * directory counts as possibly purged. Best effort. */
void purge_log_remove(struct purge_log *l);
void purge_log_close(struct purge_log *l);

#endif
