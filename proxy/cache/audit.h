/* audit.h - what a cache directory holds, read while no proxy has it, every byte that counts against
 * its checksum. Nothing is written.
 *
 * Threads   one. Waits for the disk.
 * Memory    32 bytes for each record in the log, and the purge log's entries.
 */
#ifndef CACHE_AUDIT_H
#define CACHE_AUDIT_H

#include "proxy/cache/forget/forget_kind.h"
#include "proxy/base/str.h"
#include "proxy/http/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum audit_word {
	AUDIT_SOUND,
	AUDIT_STALE,	  /* sound, and purged softly */
	AUDIT_PURGED,	  /* never served again */
	AUDIT_INCOMPLETE, /* a piece of its body went with its segment: a miss */
	AUDIT_DAMAGED,
	AUDIT_WORDS
};
struct audit_object { /* views, until the call returns */
	struct str key, tags;
	struct terms terms; /* with what was purged softly in them */
	uint8_t kind;
	uint64_t body_bytes;
	uint64_t plain_bytes; /* what a body in a coding expands to (object_facts.h) */
	enum audit_word word;
};

enum audit_state { AUDIT_EMPTY, AUDIT_OPEN, AUDIT_SEALED };
struct audit_segment {
	uint32_t slot, generation;
	enum audit_state state;
	bool damaged; /* a table, or what says where it is: what it lists is lost */
	uint64_t used_bytes;
	uint32_t records;
	int64_t opened_s; /* 0: not known */
};

struct audit_purges {
	bool lost; /* the log: all that is stored counts as purged */
	uint64_t hard[FORGET_KINDS], soft[FORGET_KINDS]; /* entries */
	uint64_t bytes;
};

struct audit {
	uint64_t segment_bytes;
	int bad_copies; /* of the files format and seed */
	struct audit_purges purges;
	uint64_t segments, damaged_segments, used_bytes;
	uint64_t superseded; /* records that a later one replaced */
	uint64_t objects[AUDIT_WORDS], body_bytes[AUDIT_WORDS];

	void (*on_object)(void *ctx, const struct audit_object *o);
	void (*on_segment)(void *ctx, const struct audit_segment *s);
	void *ctx;
};
/* Fills a, whose last three are the caller's. -1 and a sentence: there is no such directory, it is
 * in use, or it cannot be read at all. */
int audit_read(struct audit *a, const char *dir, char *err, size_t err_bytes);

#endif
