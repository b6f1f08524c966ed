/* passes.h - a bounded memory of keys and what was found of them lately: their answers could not be shared, so
 * that the next requests for them do not queue behind one another but fetch in parallel, and more of
 * that kind.
 *
 * Tables of fixed size: a newer key may push out an older one of the same table, which costs what it cost
 * to find out.
 * Threads   any, lock-free.
 */
#ifndef SERVE_PASSES_H
#define SERVE_PASSES_H

#include "filter/hash.h"

#include <stdbool.h>

/* A kind, its table, and the fact that is remembered of a key. */
/* clang-format off */
#define PASSES_KINDS(X) \
	X(ALONE,      SHARING, "its answers are not shared among requests without credentials") \
	X(ALONE_OWN,  SHARING, "nor among those with; these say nothing of the others") \
	X(RELOADED,   RELOADS, "it was validated by a client's wish") \
	X(DOUBTED,    RELOADS, "its head was doubted, and asked for again") \
	X(NO_RANGES,  SLICING, "its origin ignores ranges: it is stored as a whole") \
	X(LARGE,      SLICING, "its body did not say how large it is, and was too large") \
	X(BY_DATE,    SLICING, "its servers have two tags for one file: they are asked by its date") \
	X(LIMITED,    SLICING, "its origin refused slices, for there were too many") \
	X(HEARD,      SLICING, "a client was told this of it") \
	X(HEARD_BY,   SLICING, "so was this client") \
	X(WITNESSED,  SLICING, "clients of two addresses were") \
	X(HOPPED,     HOPS,    "the node that owns it was asked for it") \
	X(CHANGED,    HOPS,    "an unsafe request changed it, which the node that owns it may not have heard yet")
/* clang-format on */
enum passes_kind {
#define ROW(id, table, what) PASSES_##id,
	PASSES_KINDS(ROW)
#undef ROW
};

struct passes;

struct passes *passes_create(void);
void passes_destroy(struct passes **p);
void passes_remember(struct passes *p, enum passes_kind kind, struct twice_key_hash key,
		     int64_t until_s);
void passes_forget(struct passes *p, enum passes_kind kind, struct twice_key_hash key);
bool
passes_has(const struct passes *p, enum passes_kind kind, struct twice_key_hash key, int64_t now_s);
/* A key for what belongs to a number besides: a client, a status. */
struct twice_key_hash passes_key(struct twice_key_hash key, uint64_t number);

#endif
