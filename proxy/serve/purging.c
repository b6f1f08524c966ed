/* purging.c - PURGE, from who may to what is answered. */
#include "proxy/serve/purging.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/serve/bill.h"

#include <assert.h>
#include <stdlib.h>

/* Outlives its request when the client leaves. */
struct purging {
	struct forget_letter letter; /* first */
	struct txn *t;		     /* NULL: it has left */
	struct purged purged;
	bool done;
};

/* Whoever forwards requests does so for everybody: its own address says nothing of theirs. */
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
	stream_peer(t->stream, t->client_ip);
	return !was_forwarded(&t->rq) &&
	       network_any_holds(s->purge_from, s->purge_from_count, str_of(t->client_ip));
}

/* The word that others use for it, too. */
static bool
is_soft(const struct request *rq)
{
	unsigned at = 0;
	const struct field *f = fields_next_named(&rq->fields, STR("fastly-soft-purge"), &at);
	at = 0;
	if (!f)
		f = fields_next_named(&rq->fields, STR("soft-purge"), &at);
	return f && str_eq(f->value, STR("1"));
}

static void
on_letter(struct forget_letter *l)
{
	struct purging *p = (struct purging *)l;
	assert(!p->done && (!p->t || p->t->purging == p));
	p->done = true;
	if (p->t)
		p->t->wake(p->t);
	else
		free(p);
}

bool
purging_begin(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct str key = key_primary(&t->key);
	if (!t->settings->purge_from_count || !str_eq(t->rq.method_name, STR("PURGE")))
		return false;
	if (!may(t)) {
		answer_error(t, 403, "purge-not-allowed");
		t->answer = ANSWER_REJECTED;
		return true;
	}
	assert(t->state == TXN_BEGUN && !t->purging);
	struct purging *p = NEW(struct purging);
	bool soft = is_soft(&t->rq);
	p->t = t;
	p->letter.home = t->serve->mailbox;
	p->letter.done = on_letter;
	p->purged = cache_purge(sh->cache, PURGE_URL, soft, t->key.primary, key);
	if (!soft)
		bill_forget(sh, key);
	t->purging = p;
	txn_move(t, TXN_PURGE);
	cache_purge_tell(sh->cache, &p->letter, p->purged.at);
	return true;
}

bool
purging_run(struct txn *t)
{
	const struct purging *p = t->purging;
	if (!p->done)
		return false;
	if (!p->letter.durable) {
		answer_error(t, 503, "purged-but-not-on-disk");
		return true;
	}
	answer_said(t, 200,
		    p->purged.had ? STR("purged\n") : STR("nothing was stored under this URL\n"));
	return true;
}

void
purging_end(struct txn *t)
{
	struct purging *p = t->purging;
	t->purging = NULL;
	if (p && p->done)
		free(p);
	else if (p)
		p->t = NULL;
}
