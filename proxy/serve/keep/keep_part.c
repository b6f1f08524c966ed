/* keep_part.c - a part (206) that is kept in RAM, and counts for its whole. */
#include "proxy/cache/cache_write.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep_inside.h"
#include "proxy/serve/rules/part.h"
#include "proxy/http/head.h"

/* The next request does not know what a part varies on, unless a marker says so. */
static void
count_part(struct fill *f, const struct response *rs)
{
	struct buf names = {0}, variant = {0};
	bool sees = keep_meet_marker(f);
	if (keep_names(f, &rs->fields, &names)) {
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&names), &variant);
		keep_sight(f, 200, f->in.stores, buf_str(&variant));
		f->sighting.writes = false; /* the part itself is kept in RAM */
		if (names.n && sees)
			keep_marker(f, buf_str(&names));
	}
	f->sighting.verdict = ADMISSION_NOT_STORABLE;
	buf_fini(&names);
	buf_fini(&variant);
}

static void
bill_part(struct fill *f, const struct response *rs, struct str head)
{
	struct range s;
	uint64_t total;
	if (!content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &s, &total) ||
	    total == UINT64_MAX)
		return;
	f->filed.key_bytes = f->key.primary_bytes;
	f->filed.head_bytes = head.n;
	f->filed.validator = bill_validator(head, &f->terms);
	bill_fetch(f, GHOST_PART, total, s.n);
}

/* A part that passed on first sight counts for its whole object, and is kept in RAM.
 * True if rs is such a part. */
bool
keep_part(struct fill *f, const struct response *rs, struct flight_head *h, int64_t now)
{
	struct shelves *sh = f->serve->shelves;
	if (f->kind != FILL_MISS || rs->status != 206)
		return false;
	struct response whole = *rs;
	whole.status = 200;
	if (!storable_is_yes(keep_judge(f, &whole, false, now)))
		return false;
	if (keep_tapped(f, rs, h, now))
		return true;
	struct buf head = {0};
	count_part(f, rs);
	head_store(rs, now, &head, &f->terms);
	bill_part(f, rs, buf_str(&head));
	/* An answer to If-Range may leave out what describes the whole (RFC 9110 15.3.7). */
	if (!part_is_sound(rs, f->in.comes) || fields_has(&f->rq.fields, FIELD_IF_RANGE)) {
		buf_fini(&head);
		return true;
	}
	struct key key = {0};
	key_copy(&key, &f->key);
	key_back_to_primary(&key);
	key_to_part(&key, sh->seed);
	struct write_options o = {
		.hash = key.hash,
		.key = buf_str(&key.text),
		.head = buf_str(&head),
		.tags = buf_str(&f->tags),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_RESPONSE,
		.body_bytes = h->body_bytes,
	};
	f->in.write = cache_write_begin(sh->cache, &o);
	f->keeps = KEEPS_PART;
	atomic_store_explicit(&sh->has_parts, true, memory_order_relaxed);
	key_fini(&key);
	buf_fini(&head);
	return true;
}

/* An answer that speaks for the whole object is newer than any part of it that is kept: also when it is not
 * stored, or stored for another variant only. */
bool
keep_replaces_part(const struct fill *f, int status)
{
	bool asked_for_all = f->kind != FILL_PASS && f->rq.method == METHOD_GET;
	return asked_for_all && (status == 200 || status == 203 ||
				 (!f->as_it_came && status != 206 && !policy_is_trouble(status)));
}
