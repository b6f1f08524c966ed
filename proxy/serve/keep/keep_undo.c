/* keep_undo.c - what an answer takes away: what an unsafe method changed, a copy that is not the
 * origin's any more.
 */
#include "config/config.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep_inside.h"
#include "proxy/serve/relay.h"

struct undoing {
	struct fill *f;
	struct str ours; /* the URL of the request's own key, which is forgotten already */
};

static void
forget_url(void *ctx, struct str url)
{
	const struct undoing *u = ctx;
	struct shelves *sh = u->f->serve->shelves;
	if (!str_eq(url, u->ours))
		relay_forget(sh, twice_key_hash_of(sh->seed, url.p, url.n), url, STR(""),
			     u->f->begun);
	bill_forget(sh, url);
}

/* RFC 9111 4.4: what an unsafe method changed is forgotten, also where it points on this origin. What is stored
 * for the URL may be another route's than the request's own, by its method or its fields.
 * The answer itself is newer than that, unless something else was forgotten on its way. */
void
keep_invalidated(struct fill *f, const struct response *rs)
{
	struct shelves *sh = f->serve->shelves;
	static const enum field_id pointers[] = {FIELD_LOCATION, FIELD_CONTENT_LOCATION};
	if (!policy_invalidates(f->rq.method, rs->status))
		return;
	bool pointed = f->settings->config->cache.invalidate_locations;
	struct str ours = key_primary(&f->key);
	struct undoing undoing = {f, cachekey_url(ours)};
	struct forgotten done =
		relay_forget(sh, f->key.primary, ours, buf_str(&f->tags), f->begun);
	bill_forget(sh, ours);
	if (done.was_clean)
		f->begun = done.at;
	if (route_is_by_more(f->settings->routes))
		route_each_url(f->settings->routes, &f->rq, forget_url, &undoing);
	for (size_t i = 0; pointed && i < 2; i++) {
		struct str value = fields_get(&rs->fields, pointers[i]);
		struct buf text = {0};
		struct request other;
		if (value.n && cachekey_resolve(&f->rq, value, &text, &other))
			route_each_url(f->settings->routes, &other, forget_url, &undoing);
		buf_fini(&text);
	}
}

/* It is never removed for what one client was answered. */
static void
put_terms(struct fill *f, const struct terms *terms)
{
	struct object *o = cache_refresh(f->serve->shelves->cache, f->object, f->object->head,
					 f->object->tags, terms, f->begun);
	object_unref(&o);
}

void
keep_outdate(struct fill *f, int64_t now)
{
	struct terms terms = f->object->terms;
	terms_outdate(&terms, now);
	terms.stale_while_revalidate = 0; /* what validates it says so anew */
	if (terms.lifetime != f->object->terms.lifetime || f->object->terms.stale_while_revalidate)
		put_terms(f, &terms);
}

void
keep_contradict(struct fill *f, int64_t now)
{
	struct terms terms = f->object->terms;
	terms_contradict(&terms, now);
	if (!(f->object->terms.flags & TERMS_CONTRADICTED))
		put_terms(f, &terms);
}

void
keep_nowhere(struct fill *f)
{
	if (f->object && f->kind == FILL_VALIDATE && f->keeps == KEEPS_ANSWER)
		keep_contradict(f, now_s());
}
