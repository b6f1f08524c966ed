/* buf.h - bytes that grow.
 *
 * Memory    the buf owns its bytes; buf_fini frees them. A view of a buf holds until the next
 *           call that may grow or consume it.
 * Errors    out of memory aborts with a line: every caller bounds what goes in.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "proxy/base/str.h"

struct buf {
	char *p;
	size_t n;   /* bytes in use */
	size_t cap; /* bytes allocated */
};

/* {0} is an empty buf. */
void buf_fini(struct buf *b);
/* For use again: its memory is kept, if that is no more than most bytes. */
void buf_empty(struct buf *b, size_t most);

/* Room for at least n more bytes; returns where they start. buf_added says how many were used. */
char *buf_room(struct buf *b, size_t n);

static inline void
buf_added(struct buf *b, size_t n)
{
	b->n += n;
}

static inline void
buf_add(struct buf *b, const void *p, size_t n)
{
	if (n) {
		memcpy(b->cap - b->n < n ? buf_room(b, n) : b->p + b->n, p, n);
		b->n += n;
	}
}

void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Decimal digits of v, without printf: for the hot path. put says how many there are. */
enum { BUF_U64_BYTES = 20 };
size_t buf_put_u64(char to[BUF_U64_BYTES], uint64_t v);
void buf_add_u64(struct buf *b, uint64_t v);
/* Drops the first n bytes; the rest moves to the front. */
void buf_consume(struct buf *b, size_t n);

static inline void
buf_add_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}

#define buf_add_lit(b, lit) buf_add((b), (lit), sizeof(lit) - 1)

static inline struct str
buf_str(const struct buf *b)
{
	return (struct str){b->p, b->n};
}

#endif
