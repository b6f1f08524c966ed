/* keep_file.c - under which key an answer is filed: the URL's, or a variant's behind a marker. */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/http/form.h"
#include "proxy/serve/packing.h"
#include "proxy/serve/sibling_word.h"
#include "proxy/http/syntax.h"

/* The variants of this URL differ on what this answer names, and on what others named before. An
 * answer that names less, or nothing, hides no variant that is there. */
bool
keep_names(const struct fill *f, const struct fields *fields, bool one_form, struct buf *out)
{
	struct buf named = {0};
	bool ignored = f->route->policy.ignore & IGNORE_VARY;
	bool ok = ignored || vary_names(fields, &named);
	if (one_form)
		vary_drop(&named, STR("accept-encoding"));
	ok = ok && vary_union(buf_str(&f->variants.names), buf_str(&named), out);
	buf_fini(&named);
	return ok;
}

bool
keep_meet_marker(struct fill *f)
{
	struct shelves *sh = f->serve->shelves;
	struct object *o;
	if (f->landed == keep_landed(sh, f->key.primary))
		return true;
	enum found found = cache_peek(sh->cache, f->key.primary, key_primary(&f->key), &o);
	if (found == FOUND_LATER)
		return f->object && !f->variants.names.n && cache_is_current(sh->cache, f->object);
	if (found == FOUND_OBJECT && o->kind == OBJECT_MARKER) {
		struct buf all = {0};
		bool ok = vary_union(buf_str(&f->variants.names), o->head, &all);
		if (ok)
			variants_read(&f->variants, buf_str(&all));
		buf_fini(&all);
	}
	object_unref(&o);
	return true;
}

bool
keep_may_be_one(const struct fill *f, const struct fields *fields)
{
	return fields_list_has(fields, FIELD_VARY, STR("accept-encoding")) && !f->asked.by_coding &&
	       !settings_keeps_apart(f->settings, f->route) &&
	       !(f->route->policy.ignore & IGNORE_VARY) && outgoing_has_classes(&f->outgoing) &&
	       !list_has(buf_str(&f->variants.names), STR("accept-encoding"));
}

/* The names under which an answer is filed; why it cannot be. */
enum storable
keep_file(struct fill *f, const struct response *rs, struct buf *names)
{
	bool sees = keep_meet_marker(f);
	bool one_form = keep_may_be_one(f, &rs->fields) && form_may_be_one(rs, keep_length(rs));
	if (one_form)
		form_is_one(&f->terms, rs, f->asked.class,
			    f->asked.class == 0 && keep_is_of_text(rs));
	if (keep_may_pack(f, rs))
		keep_say_packable(f, rs);
	if (keep_may_code(f, rs))
		keep_say_codable(f, rs);
	if (!keep_names(f, &rs->fields, one_form, names))
		return STORABLE_VARY_STAR;
	if (outgoing_varies_on(buf_str(names), f->asked.fields))
		return STORABLE_VARY_ASKED;
	/* Where the names are those of the marker that was met, it is not written again. */
	bool known = names->n && str_eq(buf_str(names), buf_str(&f->variants.names));
	return sees || known ? STORABLE_YES : STORABLE_OVERTAKEN;
}

void
keep_admit(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct object *o = t->object;
	const struct key *marker = t->variants.names.n ? &t->key : NULL;
	if (t->rq.method != METHOD_GET || !t->sighting.writes ||
	    packing_takes(t->serve, o, &t->sighting, marker) || !cache_admit(sh->cache, o))
		return;
	seen_charge(sh->seen, &t->sighting, cache_record_bytes(o->key.n, o->head.n, o->body_bytes));
	if (marker)
		keep_admit_marker(sh, marker);
}

/* The key this answer is stored under. */
void
keep_key(struct fill *f, const struct flight_head *h, struct key *key)
{
	key_copy(key, &f->key);
	key_back_to_primary(key);
	if (h->vary.n == 0)
		return;
	keep_marker(f, buf_str(&h->vary));
	key_to_variant(key, f->serve->shelves->seed, buf_str(&h->variant));
}

/* A 304 that says nothing of tags leaves those of the object; what comes of slices has theirs as
 * well. */
bool
keep_tags(struct fill *f, const struct response *rs)
{
	if (f->kind != FILL_SLICES)
		f->tags.n = 0;
	bool any = tags_read(&f->settings->tags, f->serve->shelves->cache, &rs->fields, &f->tags);
	f->asked.had = false;
	if (backend_is_sibling(&f->backend))
		sibling_read_answer(f, rs);
	if (f->object && rs->status == 304 && !any)
		buf_add_str(&f->tags, f->object->tags);
	return any;
}
