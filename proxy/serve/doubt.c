/* doubt.c - is it the doing of one client, or news of what is stored? */
#include "proxy/serve/doubt.h"

#include "proxy/cache/cache_write.h"
#include "proxy/serve/keep.h"
#include "proxy/serve/news.h"
#include "proxy/serve/passes.h"

#include <string.h>

enum {
	ASK_AGAIN_S = 10, /* the head is not doubted more often for an answer that proves nothing */
	SUSPECT_S = 600,  /* within which a second client has to find the same */
	NO_RANGES_S = 3600, /* an origin that ignored a Range is not asked so again for */
};

static bool
was_doubted(struct fill *f, const struct object *o)
{
	struct passes *p = f->serve->shelves->reloads;
	struct twice_key_hash k = {.lo = o->hash.lo + 1, .hi = ~o->hash.hi};
	int64_t now = now_s();
	if (passes_has(p, k, now))
		return true;
	passes_remember(p, k, now + ASK_AGAIN_S);
	return false;
}

/* Whether a client of another address was answered like this lately. */
static bool
another_found_it(struct fill *f)
{
	struct shelves *sh = f->serve->shelves;
	struct twice_key_hash url = f->key.primary;
	int64_t now = now_s();
	struct str client = keep_client(f);
	uint64_t who = twice_key_hash_of(sh->seed, client.p, client.n).lo | 1;
	struct twice_key_hash somebody = {.lo = url.lo + 1, .hi = ~url.hi};
	struct twice_key_hash he = {.lo = url.lo + who, .hi = ~url.hi ^ who};
	bool another =
		passes_has(sh->unsliced, somebody, now) && !passes_has(sh->unsliced, he, now);
	passes_remember(sh->unsliced, somebody, now + SUSPECT_S);
	passes_remember(sh->unsliced, he, now + SUSPECT_S);
	return another;
}

/* By its own word the answer of another version, for everybody. */
static bool
is_news(struct fill *f, const struct response *rs)
{
	struct news_facts n = keep_news(f, rs->status, keep_judge(f, rs, false, now_s()));
	if (rs->status == 206)
		n.status = 200;
	return news_outdates_copy(&n);
}

void
doubt_head(struct fill *f, struct object *o, const struct response *rs, enum slices_answer a,
	   bool for_all)
{
	struct shelves *sh = f->serve->shelves;
	if (policy_has_credentials(&f->rq) || a == SLICES_FAILED)
		return;
	if (a == SLICES_CHANGED || a == SLICES_IT) { /* the latter: not for everybody */
		f->object = object_ref(o);
		if ((a == SLICES_CHANGED && for_all && is_news(f, rs)) || !was_doubted(f, o))
			keep_outdate(f, now_s());
		return;
	}
	if (!another_found_it(f))
		return;
	if (a == SLICES_IGNORED)
		passes_remember(sh->unsliced, f->key.primary, now_s() + NO_RANGES_S);
	cache_remove(sh->cache, o->hash, o->key);
}
