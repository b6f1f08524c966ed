/* doubt.c - is it the doing of one client, or news of what is stored? */
#include "proxy/serve/doubt.h"

#include "proxy/cache/cache_write.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/rules/news.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/witness.h"

#include <string.h>

enum {
	ASK_AGAIN_S = 10, /* the head is not doubted more often for an answer that proves nothing */
	NO_RANGES_S = 3600, /* an origin that ignored a Range is not asked so again for */
	NAMES_S = 3600,	    /* servers with two tags for a file are asked by its date for */
};

static bool
was_doubted(struct fill *f, const struct object *o)
{
	struct passes *p = f->serve->shelves->passes;
	int64_t now = now_s();
	if (passes_has(p, PASSES_DOUBTED, o->hash, now))
		return true;
	passes_remember(p, PASSES_DOUBTED, o->hash, now + ASK_AGAIN_S);
	return false;
}

/* By its own word the answer of another version, for everybody. */
static bool
is_news(struct fill *f, const struct response *rs)
{
	struct news_facts n = keep_news(f, rs->status, keep_judge(f, rs, false, now_s()));
	if (rs->status == 206)
		n.status = 200;
	return news_of_copy(&n) != NEWS_NONE;
}

bool
doubt_is_for_all(struct fill *f, const struct response *rs, bool one_form)
{
	struct response whole = *rs;
	struct buf names = {0};
	whole.status = 200;
	enum storable s = keep_judge(f, &whole, false, now_s());
	bool ok = storable_is_yes(s) || s == STORABLE_NO_FRESHNESS || s == STORABLE_CREDENTIAL ||
		  s == STORABLE_NO_USE;
	ok = ok && keep_names(f, &rs->fields, one_form, &names) &&
	     str_eq(buf_str(&names), buf_str(&f->variants.names));
	buf_fini(&names);
	return ok;
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
	if (!witness_is_second(sh->passes, f->key.primary, witness_of(sh->seed, keep_client(f)),
			       now_s()))
		return;
	if (a == SLICES_IGNORED)
		passes_remember(sh->passes, PASSES_NO_RANGES, f->key.primary,
				now_s() + NO_RANGES_S);
	cache_remove(sh->cache, o->hash, o->key);
}

bool
doubt_is_elsewhere(const struct fill *f, const struct object *o)
{
	return o && o->terms.server && o->terms.server != backend_mark(&f->backend);
}

struct str
doubt_validator(struct fill *f, const struct object *o, struct str head, struct doubt_names *n)
{
	n->by_date = doubt_is_elsewhere(f, o) &&
		     passes_has(f->serve->shelves->passes, PASSES_BY_DATE, f->key.primary, now_s());
	return n->by_date ? slices_date(head) : slices_validator(head);
}

bool
doubt_asks_again(struct fill *f, struct doubt_names *n, enum slices_answer a)
{
	struct passes *p = f->serve->shelves->passes;
	if (n->asked_again || a != (n->by_date ? SLICES_IGNORED : SLICES_RENAMED))
		return false;
	n->asked_again = true;
	if (n->by_date)
		passes_forget(p, PASSES_BY_DATE, f->key.primary);
	else
		passes_remember(p, PASSES_BY_DATE, f->key.primary, now_s() + NAMES_S);
	return true;
}

bool
doubt_asks_elsewhere(struct fill *f, int status)
{
	bool is_page = status == 200 || status == 206;
	if (!is_page || !backend_stays(&f->backend) || !backend_another(&f->backend, now_ms()))
		return false;
	metrics_add(f->serve->metrics, METRIC_ORIGIN_RETRIES, 1);
	return true;
}
