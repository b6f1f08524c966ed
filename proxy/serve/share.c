/* share.c - two sums: of all, and of one client. */
#include "proxy/serve/share.h"

#include "proxy/base/network.h"
#include "proxy/http/forwarded.h"
#include "proxy/serve/sight.h"
#include "proxy/serve/txn.h"

#include <assert.h>

/* A holder: nobody; all; from OF on, a client too. A client may have so many TIMES as much as is left. */
enum { NOBODY, ALL, OF, TIMES = 3 };

unsigned
share_holder(const struct txn *t)
{
	const struct settings *s = t->settings;
	char peer[STREAM_PEER_BYTES];
	txn_peer(t, peer);
	struct str client =
		forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer));
	if (str_eq(client, STR("unix")) || network_any_holds(s->trusted, s->trusted_count, client))
		return ALL;
	return OF + (unsigned)(sight_asker(t).hash % SHARE_SLOTS);
}

/* n more of both sums. */
static bool
is_within(uint64_t all, uint64_t theirs, uint64_t n, uint64_t most)
{
	return all <= most && n <= most - all && theirs / TIMES < most - all;
}

static _Atomic uint64_t *
slot_of(struct share *s, unsigned holder)
{
	assert(holder != NOBODY);
	return holder == ALL ? NULL : &s->of[holder - OF];
}

bool
share_has_room(const struct share *s, unsigned holder, uint64_t n, uint64_t most)
{
	uint64_t theirs =
		holder == ALL ? 0 : atomic_load_explicit(&s->of[holder - OF], memory_order_relaxed);
	return is_within(atomic_load_explicit(&s->all, memory_order_relaxed), theirs, n, most);
}

bool
share_take(struct share *s, unsigned holder, uint64_t n, uint64_t most)
{
	_Atomic uint64_t *slot = slot_of(s, holder);
	uint64_t all = atomic_fetch_add_explicit(&s->all, n, memory_order_relaxed), theirs = 0;
	if (slot)
		theirs = atomic_fetch_add_explicit(slot, n, memory_order_relaxed);
	if (is_within(all, theirs, n, most))
		return true;
	share_give(s, holder, n);
	return false;
}

void
share_give(struct share *s, unsigned holder, uint64_t n)
{
	_Atomic uint64_t *slot = slot_of(s, holder);
	uint64_t before = atomic_fetch_sub_explicit(&s->all, n, memory_order_relaxed);
	assert(before >= n);
	if (slot)
		before = atomic_fetch_sub_explicit(slot, n, memory_order_relaxed);
	assert(before >= n);
}
