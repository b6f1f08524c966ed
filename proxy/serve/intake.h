/* intake.h - the bytes of an exchange become the bytes of an object: to the flight's readers, and
 * to the cache write. Everything that comes from an origin goes through here, and nowhere else.
 *
 * There are two numbers of bytes, and they may differ: those of the exchange, by which the rest of
 * a body is asked for (resume.h), and those of the object, which readers, ranges, slices and the
 * store see. A transformer stands between them; none is: they are the same.
 *
 * Memory    zeroed: nothing has come. intake_fini ends what stands between; the write is its
 *           owner's.
 * Threads   its trip's worker.
 */
#ifndef SERVE_INTAKE_H
#define SERVE_INTAKE_H

#include "proxy/base/buf.h"

#include <stdbool.h>

struct block;
struct flight;
struct object_write;

struct transformer { /* constant; ctx is the intake's */
	/* Each byte of the exchange is one of the object, in its place: it may lie in slices, and be
	 * asked for by range. */
	bool keeps_places;
	/* Takes n bytes of the exchange and adds what there is of the object to out. */
	void (*take)(void *ctx, const char *p, size_t n, struct buf *out);
	/* May be NULL. The exchange's body is whole: the rest of the object. */
	void (*end)(void *ctx, struct buf *out);
};

struct intake {
	/* Of the exchange's body; of the object, or the slice, under way. comes, stores: in all;
	 * UINT64_MAX: not known. */
	uint64_t came, comes, stored, stores;
	struct object_write *write; /* what is kept of it; NULL: nothing */
	/* In place of write, where several writes share it: gets bytes [at, at + n) of b. */
	void (*keep)(void *trip, struct block *b, uint32_t at, uint32_t n);
	void *trip;
	const struct transformer *by; /* NULL: as it comes */
	void *ctx;
	struct buf made; /* by it; from made_at on the flight has not taken it */
	size_t made_at;
};

/* A body of so many bytes begins. */
void intake_begin(struct intake *in, uint64_t comes);
/* How many of these bytes were taken: fewer than n, the flight's window is full; bring the others
 * when it has room, or FLIGHT_ASK_MS later. */
size_t intake_add(struct intake *in, struct flight *to, const char *p, size_t n, int64_t now_ms);
/* The exchange's body is whole, and so is the object then. */
void intake_end(struct intake *in, struct flight *to);
/* All that was said to come has. */
static inline bool
intake_is_whole(const struct intake *in)
{
	return in->came == in->comes;
}
void intake_fini(struct intake *in);

#endif
