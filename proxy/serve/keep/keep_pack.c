/* keep_pack.c - which answers may be packed when they are admitted to the disk (packing.h), or coded on their way to
 * clients (coded.h). */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/coding/compress_types.h"
#include "proxy/http/credential.h"
#include "proxy/http/form.h"
#include "proxy/http/range.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/packing.h"
#include "proxy/serve/rules/slices.h"

bool
keep_is_of_text(const struct response *rs)
{
	return compress_types_match(compress_types_default, compress_types_default_n,
				    fields_get(&rs->fields, FIELD_CONTENT_TYPE));
}

/* The key says who asks, perhaps. */
static bool
is_keyed_by_person(const struct key_rules *k)
{
	for (unsigned i = 0; i < k->header_count; i++)
		if (field_id_of(k->headers[i]) == FIELD_AUTHORIZATION ||
		    credential_is_name(k->headers[i]))
			return true;
	return k->cookie_count || k->cookie_star_count || k->header_star_count;
}

/* The length of what is packed tells something of the secrets in it to whoever can choose a part of it, and
 * sees the length (BREACH). */
static bool
may_have_secrets(const struct fill *f)
{
	return policy_has_credentials(&f->rq) || is_keyed_by_person(&f->route->key);
}

static bool
forbids(const struct fields *answer)
{
	return fields_list_has(answer, FIELD_CACHE_CONTROL, STR("no-transform")) ||
	       fields_list_has(answer, FIELD_CACHE_CONTROL, STR("private")) ||
	       fields_list_has(answer, FIELD_CACHE_CONTROL, STR("no-store")) ||
	       fields_has(answer, FIELD_SET_COOKIE);
}

/* Of the whole. UINT64_MAX: not known. */
static uint64_t
whole_bytes(const struct response *rs)
{
	struct range part;
	uint64_t total;
	if (rs->status != 206)
		return keep_length(rs);
	bool said = content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &part, &total);
	return said ? total : UINT64_MAX;
}

/* Of 1 KiB or more, or of a length that is not known; by what is found soonest. A 304 mostly does not say the type of
 * what it is about. */
static bool
may_be_made_smaller(const struct fill *f, const struct response *rs)
{
	const struct route_packing *p = &f->route->packing;
	const struct fields *fs = &rs->fields;
	bool may_be_text = rs->status == 304 && !fields_has(fs, FIELD_CONTENT_TYPE);
	return !fields_has(fs, FIELD_CONTENT_ENCODING) &&
	       (may_be_text || compress_types_match(p->types, p->type_count,
						    fields_get(fs, FIELD_CONTENT_TYPE))) &&
	       whole_bytes(rs) >= PACKING_LEAST_BYTES &&
	       (rs->status == 206 || !fields_has(fs, FIELD_CONTENT_RANGE)) && !forbids(fs) &&
	       (p->any || !may_have_secrets(f));
}

bool
keep_may_pack(const struct fill *f, const struct response *rs)
{
	const struct route_packing *p = &f->route->packing;
	if (!p->type_count || !packing_is_on(f->serve) || rs->status != 200 ||
	    f->rq.method != METHOD_GET || !may_be_made_smaller(f, rs))
		return false;
	uint64_t bytes = keep_length(rs);
	return bytes == UINT64_MAX || bytes <= PACKING_MOST_BYTES;
}

/* Of what may lie in slices clients want parts. */
static bool
may_be_sliced(const struct fill *f, const struct response *rs)
{
	uint64_t bytes = whole_bytes(rs);
	return f->outgoing.shared && bytes > SLICE_BYTES && slices_may(rs, bytes, now_s());
}

bool
keep_may_code(const struct fill *f, const struct response *rs)
{
	const struct route_packing *p = &f->route->packing;
	return p->streams && p->type_count && f->route->codings.n &&
	       (rs->status == 200 || rs->status == 206 || rs->status == 304) &&
	       (f->rq.method == METHOD_GET || f->rq.method == METHOD_HEAD) &&
	       may_be_made_smaller(f, rs) && !may_be_sliced(f, rs);
}

void
keep_say_codable(struct fill *f, const struct response *rs)
{
	if (!fields_list_has(&rs->fields, FIELD_VARY, STR("accept-encoding")))
		f->terms.flags |= TERMS_SAYS_VARY;
}

/* Caches behind us must hear from the first answer on that a client that takes a coding will get it packed one day (RFC
 * 9110 12.5.5). */
void
keep_say_packable(struct fill *f, const struct response *rs)
{
	uint32_t *flags = &f->terms.flags;
	if (!(*flags & TERMS_ONE_FORM))
		form_is_one(&f->terms, rs, f->asked.class, false);
	*flags &= ~(uint32_t)TERMS_LEFT_PLAIN;
	*flags |= TERMS_MAY_PACK;
	keep_say_codable(f, rs);
}
