/* expanded.h - a coded body that is there as a whole, expanded at once by the proxy's expander. */
#ifndef KIT_EXPANDED_H
#define KIT_EXPANDED_H

#include "proxy/base/buf.h"
#include "proxy/coding/expand.h"
#include "proxy/coding/pieces.h"

static inline enum expansion
expanded_feed(struct expander *x, struct str in, size_t room, struct buf *out)
{
	enum expansion e;
	size_t made;
	do {
		char *to = buf_room(out, room);
		e = expand_feed(x, &in, to, out->cap - out->n, &made);
		buf_added(out, made);
	} while (e == EXPAND_FULL);
	return e;
}

/* Appended to out: DONE, or a fault, and out is as it was. comes may be 0: it is as many bytes as there are. */
static inline enum expansion
expanded_whole(enum coding c, const struct pieces *in, const struct expand_limits *limits,
	       struct buf *out)
{
	enum { ROOM_LEAST = 64, ROOM_MOST = 64 << 10 };
	size_t from = out->n, n = pieces_bytes(in), room = 4 * n + ROOM_LEAST;
	struct expand_limits l = *limits;
	if (!l.comes)
		l.comes = n;
	struct expander *x = expand_create(c, &l);
	enum expansion e = x ? EXPAND_MORE : EXPAND_NO_MEMORY;

	if (room > ROOM_MOST)
		room = ROOM_MOST;
	for (size_t i = 0; i < in->n && e == EXPAND_MORE; i++)
		e = expanded_feed(x, in->at[i], room, out);
	if (e == EXPAND_MORE)
		e = expand_end(x);
	if (e != EXPAND_DONE)
		out->n = from;
	expand_destroy(&x);
	return e;
}

#endif
