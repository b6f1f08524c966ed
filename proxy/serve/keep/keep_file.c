/* keep_file.c - under which key an answer is filed: the URL's, or a variant's behind a marker. */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"

/* The variants of this URL differ on what this answer names, and on what others named before. An
 * answer that names less, or nothing, hides no variant that is there. */
bool
keep_names(const struct fill *f, const struct fields *fields, struct buf *out)
{
	struct buf named = {0};
	bool ignored = f->route->policy.ignore & IGNORE_VARY;
	bool ok = (ignored || vary_names(fields, &named)) &&
		  vary_union(buf_str(&f->variants.names), buf_str(&named), out);
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

/* The names under which an answer is filed; why it cannot be. */
enum storable
keep_file(struct fill *f, const struct response *rs, struct buf *names)
{
	bool sees = keep_meet_marker(f);
	if (!keep_names(f, &rs->fields, names))
		return STORABLE_VARY_STAR;
	if (outgoing_varies_on(buf_str(names), f->asked))
		return STORABLE_VARY_ASKED;
	/* Where the names are those of the marker that was met, it is not written again. */
	bool known = names->n && str_eq(buf_str(names), buf_str(&f->variants.names));
	return sees || known ? STORABLE_YES : STORABLE_OVERTAKEN;
}

/* A marker under the primary key says on what its variants differ: the union of what the answers so
 * far named. The one that the request met stays while nothing new is named. */
void
keep_marker(struct fill *f, struct str names)
{
	if (str_eq(buf_str(&f->variants.names), names))
		return;
	variants_read(&f->variants, names);
	struct cache *c = f->serve->shelves->cache;
	struct object *old;
	bool was_on_disk =
		cache_peek(c, f->key.primary, key_primary(&f->key), &old) == FOUND_LATER ||
		(old && old->on_disk);
	object_unref(&old);
	struct write_options o = {
		.hash = f->key.primary,
		.key = key_primary(&f->key),
		.head = names,
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_MARKER,
		.body_bytes = 0,
		.disk = f->sighting.writes || was_on_disk,
		.written = &f->claims.written,
	};
	struct object_write *w = cache_write_begin(c, &o);
	struct object *marker = cache_write_commit(&w, false);
	object_unref(&marker);
	keep_count_landed(f); /* whoever is about to write another one looks at this first */
}

void
keep_admit_marker(struct shelves *sh, const struct key *key)
{
	struct object *o = NULL;
	if (cache_peek(sh->cache, key->primary, key_primary(key), &o) == FOUND_OBJECT &&
	    o->kind == OBJECT_MARKER && cache_admit(sh->cache, o))
		seen_charge(sh->seen, NULL, cache_record_bytes(o->key.n, o->head.n, 0));
	object_unref(&o);
}

void
keep_admit(struct txn *t)
{
	struct shelves *sh = t->serve->shelves;
	struct object *o = t->object;
	if (t->rq.method != METHOD_GET || !t->sighting.writes || !cache_admit(sh->cache, o))
		return;
	seen_charge(sh->seen, &t->sighting, cache_record_bytes(o->key.n, o->head.n, o->body_bytes));
	if (t->variants.names.n)
		keep_admit_marker(sh, &t->key);
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
	if (f->object && rs->status == 304 && !any)
		buf_add_str(&f->tags, f->object->tags);
	return any;
}
