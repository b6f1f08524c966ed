/* purging.c - PURGE, from who may to what is answered. */
#include "proxy/serve/purging.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/errand.h"
#include "proxy/serve/relay.h"
#include "proxy/serve/rules/purge_method.h"

#include <assert.h>
#include <stdlib.h>

struct purging {
	struct errand errand; /* first */
	struct forget_letter letter;
	struct purged purged;
	bool by_url, soft;
};

/* A forwarder sends requests for everybody: its own address says nothing of theirs. */
static bool
was_forwarded(const struct request *rq)
{
	return fields_has(&rq->fields, FIELD_FORWARDED) ||
	       fields_has(&rq->fields, FIELD_X_FORWARDED_FOR) || fields_has(&rq->fields, FIELD_VIA);
}

static bool
may(struct txn *t)
{
	const struct settings *s = t->settings;
	txn_peer(t, t->from.ip);
	return !was_forwarded(&t->rq) &&
	       network_any_holds(s->purge_from, s->purge_from_count, str_of(t->from.ip));
}

static void
on_letter(struct forget_letter *l)
{
	struct purging *p = (struct purging *)((char *)l - offsetof(struct purging, letter));
	errand_done(&p->errand);
}

/* hash: of a URL's key. */
static void
forget(struct purging *p, enum forget_kind kind, bool soft, struct twice_key_hash hash,
       struct str name)
{
	struct shelves *sh = p->errand.t->serve->shelves;
	struct purged done = relay_purge(sh, kind, soft, hash, name);
	if (kind == FORGET_URL && !soft)
		bill_forget(sh, name);
	p->purged.had = p->purged.had || done.had;
	p->purged.at = done.at;
}

static void
forget_other(void *ctx, struct str url)
{
	struct purging *p = ctx;
	const struct txn *t = p->errand.t;
	if (!str_eq(url, cachekey_url(key_primary(&t->key))))
		forget(p, FORGET_URL, p->soft,
		       twice_key_hash_of(t->serve->shelves->seed, url.p, url.n), url);
}

/* Its own key, and those that routes for other methods or fields have for it. */
static void
forget_url(struct purging *p)
{
	const struct txn *t = p->errand.t;
	forget(p, FORGET_URL, p->soft, t->key.primary, key_primary(&t->key));
	if (route_is_by_more(t->settings->routes))
		route_each_url(t->settings->routes, &t->rq, forget_other, p);
}

/* Routes below may write paths in either form. */
static void
forget_prefix(struct purging *p, const struct purge_request *r)
{
	struct str authority = outgoing_authority(key_primary(&p->errand.t->key));
	struct buf keys[2] = {{0}, {0}};
	for (int i = 0; i < 2; i++) {
		cachekey_add_prefix(p->errand.t->rq.scheme, authority, r->prefix, i, &keys[i]);
		if (i == 0 || !str_eq(buf_str(&keys[0]), buf_str(&keys[1])))
			forget(p, FORGET_PREFIX, r->soft, (struct twice_key_hash){0},
			       buf_str(&keys[i]));
	}
	buf_fini(&keys[0]);
	buf_fini(&keys[1]);
}

static void
forget_asked(struct purging *p, struct purge_request *r)
{
	struct txn *t = p->errand.t;
	struct str tag;
	switch (r->kind) {
	case FORGET_URL:
		forget_url(p);
		return;
	case FORGET_PREFIX:
		forget_prefix(p, r);
		return;
	default:
		while (purge_method_next_tag(&t->rq, &t->settings->tags, r, &tag))
			forget(p, FORGET_TAG, r->soft, (struct twice_key_hash){0}, tag);
	}
}

bool
purging_begin(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct purge_request asked;
	if (!t->settings->purge_from_count || !str_eq(t->rq.method_name, STR("PURGE")))
		return false;
	if (!may(t)) {
		answer_error(t, 403, "purge-not-allowed");
		t->answer = ANSWER_REJECTED;
		return true;
	}
	const char *no = purge_method_read(&t->rq, &t->settings->tags, &asked);
	if (no) {
		answer_said(t, 400, str_of(no));
		return true;
	}
	assert(t->state == TXN_BEGUN && !t->errand);
	struct purging *p = NEW(struct purging);
	p->errand.t = t;
	p->letter.home = t->serve->mailbox;
	p->letter.done = on_letter;
	p->by_url = asked.kind == FORGET_URL;
	p->soft = asked.soft;
	t->learnt.purged = asked.kind;
	t->learnt.softly = asked.soft;
	forget_asked(p, &asked);
	t->errand = &p->errand;
	txn_move(t, TXN_PURGE);
	cache_purge_tell(sh->cache, &p->letter, p->purged.at);
	return true;
}

bool
purging_run(struct txn *t)
{
	const struct purging *p = (const struct purging *)t->errand;
	if (!p->errand.done)
		return false;
	if (!p->letter.durable) {
		answer_error(t, 503, "purged-but-not-on-disk");
		return true;
	}
	answer_said(t, 200,
		    p->purged.had ? STR("purged\n")
		    : p->by_url	  ? STR("nothing was stored under this URL\n")
				  : STR("nothing is stored at all\n"));
	return true;
}
