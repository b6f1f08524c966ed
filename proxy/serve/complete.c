/* complete.c - a stored part becomes the whole: what is missing is fetched, before it or behind
 * it, and the part's own bytes take their place.
 */
#include "proxy/serve/complete.h"

#include "proxy/cache/cache_write.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/http/head.h"
#include "proxy/serve/rules/part.h"

#include <assert.h>

bool
complete_may(const struct object *part)
{
	struct range gap;
	struct str validator;
	return part_next_gap(part, 0, &gap, &validator);
}

uint64_t
complete_bytes(const struct fill *f)
{
	struct range held;
	uint64_t total = 0;
	part_held(f->part.object, &held, &total);
	return total;
}

/* Fields of the part's own bytes go. Others keep their place, and which known ones there are. */
static void
drop_of_bytes(struct fields *f)
{
	unsigned n = 0;
	for (unsigned i = 0; i < f->n; i++)
		if (!head_is_of_bytes(f->v[i].name))
			f->v[n++] = f->v[i];
	f->n = n;
}

/* The part's head with the fields of what completes it, as the 200 of the whole. */
static bool
whole_of(const struct object *part, const struct response *rs, char date[DATE_BYTES],
	 struct response *out)
{
	struct field fields[FIELDS_MAX];
	struct response stored = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	if (!head_read(part->head, &stored) || !head_update(&stored, rs, now_s(), date, out))
		return false;
	fields_drop(&out->fields, FIELD_CONTENT_RANGE);
	drop_of_bytes(&out->fields);
	out->status = 200;
	out->reason = STR("OK");
	return true;
}

enum completion
complete_with(struct fill *f, const struct response *rs, char date[DATE_BYTES],
	      struct response *merged)
{
	bool useless = rs->status == 206 || rs->status == 412 || rs->status == 416;
	if (!policy_sets_session(&rs->fields, &f->route->policy) &&
	    part_fills(f->part.object, f->part.gap, rs, keep_length(rs)) &&
	    whole_of(f->part.object, rs, date, merged))
		return COMPLETE_IT;
	object_unref(&f->part.object);
	return useless ? COMPLETE_ASK_ANEW : COMPLETE_NOT;
}

int
complete_add_part(struct fill *f)
{
	struct range held;
	uint64_t total, at = 0;
	assert(f->stage == FILL_ARRIVING || !f->part.object);
	struct body_read r = {.home = f->serve->mailbox};
	if (!f->part.object || f->part.added || !part_held(f->part.object, &held, &total) ||
	    held.at != f->in.came)
		return 0;
	f->part.added = true;
	while (at < held.n) {
		/* Parts live in RAM only, so their bytes are at hand. */
		if (object_read(f->serve->shelves->cache, f->part.object, &r, at, held.n - at) !=
		    BODY_READY)
			return -1;
		intake_add_now(&f->in, f->flight, r.p, r.n);
		at += r.n;
	}
	body_done(&r);
	return 0;
}
