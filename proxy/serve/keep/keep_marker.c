/* keep_marker.c - what leads from a URL to its variants. */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/cache/admission/seen.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"

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
