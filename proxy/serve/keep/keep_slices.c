/* keep_slices.c - a large answer whose version can be told: its head is an object of its own, which
 * says how long the whole is, and its body lies in slices (slices.h) that come and go one by one.
 */
#include "config/config.h"
#include "proxy/cache/cache_variants.h"
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep_inside.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/run.h"
#include "proxy/serve/rules/slices.h"

#include <assert.h>

/* This origin's ranges are of no use: it once answered a question for a slice with the whole. Or nothing is kept. */
static bool
has_no_ranges(const struct fill *f, int64_t now)
{
	return f->asked.cold ||
	       passes_has(f->serve->shelves->passes, PASSES_NO_RANGES, f->key.primary, now);
}

/* The head can be found from now on. A reference, or NULL: it is kept nowhere. */
static struct object *
store_head(struct fill *f, const struct key *key, struct str head, uint64_t total)
{
	struct shelves *sh = f->serve->shelves;
	assert(f->run && !f->in.write && total);
	struct write_options o = {
		.hash = key->hash,
		.key = buf_str(&key->text),
		.head = head,
		.tags = buf_str(&f->tags),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_SLICED,
		.whole_bytes = total,
		.disk = f->sighting.writes,
		.written = &f->claims.written,
	};
	f->filed.hash = key->hash;
	f->filed.key_bytes = key->text.n;
	f->filed.head_bytes = head.n;
	f->filed.validator = bill_validator(head, &f->terms);
	struct object_write *w = cache_write_begin(sh->cache, &o);
	struct object *object = cache_write_commit(&w, false);
	if (!object)
		return NULL;
	bool variant = key->hash.lo != key->primary.lo || key->hash.hi != key->primary.hi;
	keep_count_landed(f);
	if (variant) {
		cache_variant_stored(sh->cache, key->primary, key->hash,
				     f->settings->config->cache.variants);
		if (object->on_disk)
			keep_admit_marker(sh, &f->key);
	}
	f->filed.sliced_bytes = total;
	bill_fetch(f, GHOST_FETCHED, 0, 0);
	f->filed.sliced_bytes = 0;
	f->keeps = KEEPS_SLICES;
	return object;
}

/* The memory of a long key is not kept. */
static void
done_with(struct key *key)
{
	if (key->text.cap > FILL_KEY_BYTES)
		key_fini(key);
}

bool
keep_sliced(struct fill *f, const struct response *rs, struct flight_head *h)
{
	struct key *key = &f->serve->stored_key;
	int64_t now = now_s();
	/* A head that all share does not hold what its own client is told besides. What varies on
	 * conditions or ranges cannot be asked for in pieces. */
	if (f->as_it_came || f->rq.method != METHOD_GET || h->asker.n ||
	    !slices_may(rs, h->body_bytes, now) || has_no_ranges(f, now) ||
	    outgoing_varies_on_conditions(buf_str(&h->vary)))
		return false;
	keep_key(f, h, key);
	run_of_whole(f, key, buf_str(&h->head), h->body_bytes);
	h->object = store_head(f, key, buf_str(&h->head), h->body_bytes);
	h->sliced = h->object != NULL;
	done_with(key);
	if (!h->sliced)
		run_end(f);
	return h->sliced;
}

/* Of the part, not of the whole. */
static bool
is_of_part(const struct field *f)
{
	return f->id == FIELD_CONTENT_RANGE || head_is_of_bytes(f->name);
}

/* The head of the whole, by that of a part of it. False: a field of it is for the one who asked. */
static bool
head_of_whole(const struct response *rs, int64_t now, struct buf *out, struct terms *terms)
{
	struct field fields[FIELDS_MAX];
	struct response whole = {
		.status = 200, .reason = STR("OK"), .fields = {.v = fields, .cap = FIELDS_MAX}};
	for (unsigned i = 0; i < rs->fields.n; i++)
		if (!is_of_part(&rs->fields.v[i]))
			fields_add(&whole.fields, rs->fields.v[i].name, rs->fields.v[i].value);
	return !head_store(&whole, now, out, terms);
}

bool
keep_tapped(struct fill *f, const struct response *rs, struct flight_head *h, int64_t now)
{
	struct range which;
	uint64_t total;
	struct flight_head whole = {0};
	/* An answer to If-Range may leave out what describes the whole (RFC 9110 15.3.7). */
	if (!f->as_it_came || fields_has(&f->rq.fields, FIELD_IF_RANGE) ||
	    !content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &which, &total) ||
	    !slices_may(rs, total, now) || has_no_ranges(f, now) || f->in.comes != which.n ||
	    !storable_is_yes(keep_file(f, rs, &whole.vary)) ||
	    outgoing_varies_on_conditions(buf_str(&whole.vary)) ||
	    !head_of_whole(rs, now, &whole.head, &f->terms)) {
		buf_fini(&whole.head);
		buf_fini(&whole.vary);
		return false;
	}
	outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&whole.vary), &whole.variant);
	keep_sight(f, 200, total,
		   buf_str(&whole.variant)); /* a part's sighting counts for the whole */
	struct key *key = &f->serve->stored_key;
	keep_key(f, &whole, key);
	run_of_part(f, key, buf_str(&whole.head), total, which);
	struct object *o = store_head(f, key, buf_str(&whole.head), total);
	done_with(key);
	if (!o)
		run_end(f);
	h->sliced = true; /* nobody has to fetch the whole */
	object_unref(&o);
	buf_fini(&whole.head);
	buf_fini(&whole.vary);
	buf_fini(&whole.variant);
	return true;
}
