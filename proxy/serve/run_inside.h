/* run_inside.h - what the files of run share: run.c (slices that are led) and run_tap.c (a 206 as it came). For
 * nobody else.
 */
#ifndef SERVE_RUN_INSIDE_H
#define SERVE_RUN_INSIDE_H

#include "proxy/serve/doubt.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/run.h"

enum run_kind {
	RUN_CUT, /* led: each slice has a flight */
	RUN_TAP	 /* bytes for one client, of which slices are kept */
};

struct run {
	enum run_kind kind;
	struct key key; /* scratch; its first base_bytes are the key of the whole */
	size_t base_bytes;
	struct buf head, version; /* of the whole, as stored; what the keys say of it */
	struct terms terms;
	struct object *object; /* of that head, when it was there before; a reference */
	uint64_t total;
	uint64_t number, end; /* the slice under way; behind the last that comes */
	uint64_t at;	      /* of the next byte, of a tap */
	uint64_t skip;	      /* bytes that come before the first slice that was asked for */
	bool begun;	      /* the slice under way is being written; its head is published */
	struct doubt_names names;
	bool billed;	 /* a slice of this exchange counted as its request */
	bool each;	 /* slices count each for itself: */
	uint64_t judged; /* f->sighting is of this one alone, */
	bool untold;	 /* and of a tap the bill does not know of it yet */
	struct again again;
	struct flight *before, *next;
	int64_t alone_since_ms; /* 0: somebody reads */
};

/* f has a run from now on. */
struct run *run_create(struct fill *f, enum run_kind kind, struct str head, uint64_t total);
/* This must be true of slices as they come, between two events. O(1). */
void run_check(const struct fill *f);
/* Of the slice at hand. */
void run_begin_write(struct fill *f, bool disk);
bool run_is_admitted(const struct fill *f);
/* The slice under way, of so many bytes, is whole: an object from now on. A reference, or NULL. */
struct object *run_commit(struct fill *f, uint64_t bytes);

#endif
