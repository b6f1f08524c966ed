/* relay.c - there first, then here. */
#include "proxy/serve/relay.h"

#include "proxy/base/clock.h"
#include "proxy/serve/rules/passes.h"

static uint64_t
tell(const struct shelves *sh, enum forget_kind kind, bool soft, bool passing, struct str name)
{
	const struct relay *r = sh->relay;
	return r ? r->tell(r->ctx, kind, soft, passing, name) : 0;
}

struct purged
relay_purge(const struct shelves *sh, enum forget_kind kind, bool soft, struct twice_key_hash hash,
	    struct str name)
{
	uint64_t number = tell(sh, kind, soft, false, name);
	struct purged p = cache_purge(sh->cache, kind, soft, hash, name);
	if (number)
		sh->relay->applied(sh->relay->ctx, number, p.at);
	return p;
}

void
relay_note_change(const struct shelves *sh, struct twice_key_hash hash)
{
	enum { HEARD_S = 2 }; /* a second at least */
	if (sh->relay)
		passes_remember(sh->passes, PASSES_CHANGED, hash, now_s() + HEARD_S);
}

struct forgotten
relay_forget(const struct shelves *sh, struct twice_key_hash hash, struct str key, struct str tags,
	     uint64_t since)
{
	tell(sh, FORGET_URL, false, true, key);
	relay_note_change(sh, hash);
	return cache_forget(sh->cache, hash, key, tags, since);
}
