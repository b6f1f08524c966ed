/* keep_undo.c - what an answer takes away: what an unsafe method changed, a copy that is not the
 * origin's any more, a part that is older than the whole.
 */
#include "config/config.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep_inside.h"

/* The part stands under a key of its own. */
void
keep_forget_part(struct shelves *sh, struct str primary)
{
	struct key key = {0};
	if (!atomic_load_explicit(&sh->has_parts, memory_order_relaxed))
		return;
	buf_add_str(&key.text, primary);
	key_is_primary(&key, sh->seed);
	key_to_part(&key, sh->seed);
	cache_remove(sh->cache, key.hash, buf_str(&key.text));
	key_fini(&key);
}

/* The primary key under which a request for this would be looked up; a cookie that makes requests
 * pass does not keep what is there. */
static void
primary_key(const struct fill *f, const struct request *rq, struct buf *key)
{
	struct outgoing o;
	const struct route *r = route_find(f->settings->routes, rq);
	outgoing_init(&o, rq, &f->settings->outgoing, &r->key, f->outgoing.trusted, true);
	o.headers = r->request;
	o.scheme = rq->scheme;
	outgoing_key(&o, key);
}

/* RFC 9111 4.4: what an unsafe method changed is forgotten, also where it points on this origin.
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
	struct forgotten done =
		cache_forget(sh->cache, f->key.primary, ours, buf_str(&f->tags), f->begun);
	bill_forget(sh, ours);
	if (done.was_clean)
		f->begun = done.at;
	for (size_t i = 0; pointed && i < 2; i++) {
		struct str value = fields_get(&rs->fields, pointers[i]);
		struct buf text = {0}, key = {0};
		struct request other;
		if (value.n && cachekey_resolve(&f->rq, value, &text, &other)) {
			primary_key(f, &other, &key); /* by its own route's rules */
			struct twice_key_hash hash = twice_key_hash_of(sh->seed, key.p, key.n);
			if (!str_eq(cachekey_url(buf_str(&key)), cachekey_url(ours)))
				cache_forget(sh->cache, hash, buf_str(&key), STR(""), f->begun);
			bill_forget(sh, buf_str(&key));
		}
		buf_fini(&text);
		buf_fini(&key);
	}
}

/* The copy is to be validated before its next use. It is never removed for what one client was
 * answered. */
void
keep_outdate(struct fill *f, int64_t now)
{
	struct terms terms = f->object->terms;
	terms_outdate(&terms, now);
	terms.stale_while_revalidate = 0; /* what validates it says so anew */
	if (terms.lifetime == f->object->terms.lifetime && !f->object->terms.stale_while_revalidate)
		return;
	struct object *o = cache_refresh(f->serve->shelves->cache, f->object, f->object->head,
					 f->object->tags, &terms, f->begun);
	object_unref(&o);
}
