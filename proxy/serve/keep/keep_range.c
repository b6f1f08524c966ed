/* keep_range.c - a 206 that goes to its client as it came: it leaves slices where it can
 * (keep_slices.c), or else it only counts, for the whole that it is of.
 */
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep_inside.h"
#include "proxy/http/head.h"

/* The next request does not know what the whole varies on, unless a marker says so. */
static void
count(struct fill *f, const struct response *rs)
{
	struct buf names = {0}, variant = {0};
	bool sees = keep_meet_marker(f);
	if (keep_names(f, &rs->fields, keep_may_be_one(f, &rs->fields), &names)) {
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&names), &variant);
		keep_sight(f, 200, f->in.stores, buf_str(&variant));
		f->sighting.writes = false; /* there is nothing to write */
		if (names.n && sees)
			keep_marker(f, buf_str(&names));
	}
	f->sighting.verdict = ADMISSION_NOT_STORABLE;
	buf_fini(&names);
	buf_fini(&variant);
}

static void
bill(struct fill *f, const struct response *rs, int64_t now)
{
	struct range s;
	uint64_t total;
	struct buf head = {0};
	head_store(rs, now, &head, &f->terms);
	if (content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &s, &total) &&
	    total != UINT64_MAX) {
		f->filed.key_bytes = f->key.primary_bytes;
		f->filed.head_bytes = head.n;
		f->filed.validator = bill_validator(buf_str(&head), &f->terms);
		bill_fetch(f, GHOST_PART, total, s.n);
	}
	buf_fini(&head);
}

bool
keep_range(struct fill *f, const struct response *rs, struct flight_head *h, int64_t now)
{
	if (f->kind != FILL_MISS || rs->status != 206)
		return false;
	struct response whole = *rs;
	whole.status = 200;
	if (!storable_is_yes(keep_judge(f, &whole, false, now)))
		return false;
	if (keep_tapped(f, rs, h, now))
		return true;
	count(f, rs);
	bill(f, rs, now);
	return true;
}
