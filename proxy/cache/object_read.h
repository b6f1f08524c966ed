/* object_read.h - the bytes of an object's body, wherever they are.
 *
 * Threads   any worker; a body_read is its owner's.
 * Errors    what cannot be read or is damaged is never served: the answer is cut off.
 */
#ifndef CACHE_OBJECT_READ_H
#define CACHE_OBJECT_READ_H

#include "proxy/base/mailbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block;
struct cache;
struct file_piece;
struct object;

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

#endif
