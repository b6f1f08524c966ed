/* learn.c - what is learnt of a stored object without its body: from a 304, and from a HEAD.
 */
#include "proxy/serve/learn.h"

#include "config/config.h"
#include "proxy/cache/cache_variants.h"
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/http/head.h"

/* Filed under what it was said to vary on, an object must not live on as what varies on more. */
static bool
names_more(const struct fill *f, const struct fields *fresh)
{
	struct buf names = {0};
	bool more = !keep_names(f, fresh, f->object->terms.flags & TERMS_ONE_FORM, &names) ||
		    !str_eq(buf_str(&names), buf_str(&f->variants.names));
	buf_fini(&names);
	return more;
}

/* Another coding has another tag and another length, which are no news. */
static bool
asked_as_stored(const struct fill *f)
{
	const struct terms *t = &f->object->terms;
	return !(t->flags & TERMS_ONE_FORM) || t->flags & TERMS_SAYS_VARY ||
	       f->asked.class == terms_asked(t);
}

/* RFC 9111 4.3.5: what a HEAD brought is news of the stored GET. */
void
learn_from_head(struct fill *f, const struct response *rs)
{
	struct field fields[FIELDS_MAX], more[FIELDS_MAX];
	struct response stored = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct response updated = {.fields = {.v = more, .cap = FIELDS_MAX}};
	char date[DATE_BYTES];
	struct buf head = {0};
	struct terms terms;
	int64_t now = now_s();
	struct news_facts news = keep_news(f, rs->status, STORABLE_METHOD);
	if (!f->object || !news.by_key || news.credentials || rs->status != 200 ||
	    !asked_as_stored(f) || !head_read(f->object->head, &stored))
		return;
	news.differs = policy_head(&stored.fields, slices_length(f->object), &rs->fields) ==
		       HEAD_SAYS_CHANGED;
	if (news.differs) {
		if (news_of_copy(&news) != NEWS_NONE)
			keep_outdate(f, now);
		return;
	}
	if (policy_sets_session(&rs->fields, &f->route->policy))
		return;
	struct request get = f->rq;
	get.method = METHOD_GET;
	struct storing_facts facts = {
		.request = &get,
		.response = &updated,
		.request_time = f->request_time,
		.response_time = now,
		.settings = &f->route->policy,
		.updated = true,
	};
	if (!names_more(f, &rs->fields) && head_update(&stored, rs, now, date, &updated) &&
	    storable_is_yes(policy_storable(&facts, &terms))) {
		head_store(&updated, now, &head, &terms);
		terms.server = f->object->terms.server;
		terms.flags |= f->object->terms.flags & TERMS_FORM;
		struct object *o = cache_refresh(
			f->serve->shelves->cache, f->object, buf_str(&head),
			f->tags.n ? buf_str(&f->tags) : f->object->tags, &terms, f->begun);
		object_unref(&o);
	}
	buf_fini(&head);
}

/* A 304 says these of the object itself. The rest of one that sets a cookie, or answers one, is its
 * owner's, perhaps, where nothing says in words that all may have it: of a 200 like that nothing would be
 * kept. */
static const uint64_t of_object = FIELD_BIT(AGE) | FIELD_BIT(CACHE_CONTROL) |
				  FIELD_BIT(CDN_CACHE_CONTROL) | FIELD_BIT(DATE) | FIELD_BIT(ETAG) |
				  FIELD_BIT(EXPIRES) | FIELD_BIT(LAST_MODIFIED) |
				  FIELD_BIT(SURROGATE_CONTROL) | FIELD_BIT(VARY);

static bool
is_for_owner(const struct fill *f, const struct response *rs)
{
	return policy_sets_session(&rs->fields, &f->route->policy) ||
	       (fields_has(&f->rq.fields, FIELD_COOKIE) && (f->terms.flags & TERMS_HEURISTIC));
}

static bool
update_object_alone(const struct response *stored, const struct response *rs, int64_t now,
		    char date[DATE_BYTES], struct response *out)
{
	struct field few[FIELDS_MAX];
	struct response said = *rs;
	said.fields = (struct fields){.v = few, .cap = FIELDS_MAX};
	for (unsigned i = 0; i < rs->fields.n; i++)
		if (of_object & field_bit(rs->fields.v[i].id))
			fields_add(&said.fields, rs->fields.v[i].name, rs->fields.v[i].value);
	return head_update(stored, &said, now, date, out);
}

/* The stored object is still good: it gets the 304's fields (RFC 9111 4.3.4), its body stays. */
void
learn_from_304(struct fill *f, const struct response *rs, struct flight_head *h)
{
	struct shelves *sh = f->serve->shelves;
	struct buf head = {0};
	struct field fields[FIELDS_MAX], more[FIELDS_MAX];
	struct response updated = {.fields = {.v = more, .cap = FIELDS_MAX}};
	char date[DATE_BYTES];
	int64_t now = now_s();
	*h = (struct flight_head){.status = 304};
	/* A 304 with another validator than ours must not update what is stored; that our own
	 * validator still held it said all the same. */
	struct response stored = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	bool ours = head_read(f->object->head, &stored) &&
		    policy_304_is_of(&stored.fields, &rs->fields, now);
	bool ok = ours && !names_more(f, &rs->fields) &&
		  head_update(&stored, rs, now, date, &updated);
	if (ok) {
		f->keeps = storable_is_yes(keep_judge(f, &updated, true, now)) ? KEEPS_ANSWER
									       : KEEPS_NOTHING;
		if (f->keeps == KEEPS_ANSWER && is_for_owner(f, rs))
			ok = update_object_alone(&stored, rs, now, date, &updated);
		head_store(&updated, now, &head, &f->terms);
	}
	if (ok && f->keeps == KEEPS_ANSWER) {
		h->object = cache_refresh(sh->cache, f->object, buf_str(&head), buf_str(&f->tags),
					  &f->terms, f->begun);
		keep_count_landed(f);
		f->filed.hash = f->object->hash;
		if (f->variants.names.n)
			cache_variant_used(sh->cache, f->key.primary, f->filed.hash,
					   f->settings->config->cache.variants);
		f->filed.key_bytes = f->object->key.n;
		f->filed.head_bytes = head.n;
		f->filed.validator = bill_validator(f->object->head, &f->object->terms);
		bill_fetch(f, GHOST_CHECKED, object_own_bytes(f->object), 0);
	}
	if (!h->object) {
		h->object = object_ref(f->object);
		/* Purged meanwhile: who asked before may have it, and nobody who joined since. */
		if (keep_is_forgotten(f))
			h->judged = STORABLE_OVERTAKEN;
	}
	buf_add_str(&h->tags, buf_str(&f->tags));
	buf_add_str(&h->tags, f->object->tags); /* who joined on the way asks by both */
	h->storable = f->keeps == KEEPS_ANSWER;
	h->of_owner = policy_has_credentials(&f->rq);
	h->terms = h->object->terms;
	buf_fini(&head);
	struct news_facts news = keep_news(f, 304, STORABLE_METHOD);
	keep_rest(f, 304, false);
	keep_sharing(f, &news);
}
