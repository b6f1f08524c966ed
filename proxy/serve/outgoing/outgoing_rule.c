/* outgoing_rule.c - which of the client's fields go out, and which of those no key tells apart. */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/syntax.h"

/* Written by the fetch, or here for every request. */
static const uint64_t written_anew = FIELD_BIT(HOST) | FIELD_BIT(CONTENT_LENGTH) |
				     FIELD_BIT(EXPECT) | FIELD_BIT(VIA) | FIELD_BIT(FORWARDED) |
				     FIELD_BIT(X_FORWARDED_FOR) | FIELD_BIT(X_FORWARDED_HOST) |
				     FIELD_BIT(X_FORWARDED_PROTO) | FIELD_BIT(X_REQUEST_ID);
static const uint64_t conditions = FIELD_BIT(IF_MATCH) | FIELD_BIT(IF_NONE_MATCH) |
				   FIELD_BIT(IF_MODIFIED_SINCE) | FIELD_BIT(IF_UNMODIFIED_SINCE) |
				   FIELD_BIT(IF_RANGE) | FIELD_BIT(RANGE);
/* Clients want these of caches (RFC 9111 5.2.1): in no key, so that they must not change what others
 * get. A gateway asks for itself, it does not forward (RFC 9110 3.7; 5.2 binds proxies). */
static const uint64_t wishes = FIELD_BIT(CACHE_CONTROL) | FIELD_BIT(PRAGMA);

bool
outgoing_writes_anew(enum field_id id)
{
	return written_anew & field_bit(id);
}

static bool
is_cacheable_method(const struct request *r)
{
	return r->method == METHOD_GET || r->method == METHOD_HEAD;
}

/* Of letters, digits and dashes alone. CGI, WSGI and PHP read '_' as a dash, and lighttpd makes '_'
 * of every other sign (X.Original.URL). */
static bool
is_plain_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		if (!((c | 0x20) - (unsigned)'a' < 26 || c - (unsigned)'0' < 10 || c == '-'))
			return false;
	}
	return true;
}

/* A name that no key and no setting lets through. Known names are plain and override
 * nothing: what is written anew is asked before. */
static bool
is_dropped_name(const struct outgoing *o, struct str name)
{
	if (!o->set->keep_underscores && !is_plain_name(name) && !outgoing_is_in_key(o, name))
		return true;
	return is_cacheable_method(o->rq) && !o->trusted && outgoing_is_override(o, name) &&
	       !outgoing_is_in_key(o, name);
}

/* A request for the key says neither conditions nor wishes. */
const struct outgoing_asks outgoing_asks_nothing;

/* Whether lines of this name are the client's to say. */
bool
outgoing_goes_out(const struct outgoing *o, enum field_id id, struct str name,
		  const struct outgoing_asks *a)
{
	if (o->headers && header_rules_hide(o->headers, name))
		return false;
	if (id == FIELD_OTHER)
		return !is_dropped_name(o, name);
	if (((written_anew | fields_hop_by_hop) & field_bit(id)) ||
	    (!a->as_it_came && (conditions & field_bit(id))))
		return false;
	if (!(wishes & field_bit(id)))
		return true;
	return !a->no_wishes &&
	       (!o->shared || a->wishes || o->set->keep_wishes || outgoing_is_in_key(o, name));
}

bool
outgoing_is_end_to_end(enum field_id id, const struct outgoing_asks *a)
{
	static const uint64_t ends_here =
		FIELD_BIT(HOST) | FIELD_BIT(CONTENT_LENGTH) | FIELD_BIT(EXPECT) |
		FIELD_BIT(X_REQUEST_ID);
	return id == FIELD_OTHER || (!((ends_here | fields_hop_by_hop) & field_bit(id)) &&
				     (a->as_it_came || !(conditions & field_bit(id))) &&
				     (!a->no_wishes || !(wishes & field_bit(id))));
}

uint64_t
outgoing_asked(const struct outgoing *o, const struct outgoing_asks *a)
{
	uint64_t bits = 0;
	unsigned n = a->as_it_came || a->wishes ? o->rq->fields.n : 0;
	for (unsigned i = 0; i < n; i++) {
		const struct field *f = &o->rq->fields.v[i];
		if (((conditions | wishes) & field_bit(f->id)) &&
		    !fields_is_listed(&o->listed, i) && outgoing_goes_out(o, f->id, f->name, a) &&
		    !outgoing_goes_out(o, f->id, f->name, &outgoing_asks_nothing))
			bits |= field_bit(f->id);
	}
	return bits | FIELD_BIT(X_REQUEST_ID) | (a->range.n ? FIELD_BIT(RANGE) : 0) |
	       (a->if_range.n ? FIELD_BIT(IF_RANGE) : 0) |
	       (a->if_none_match.n ? FIELD_BIT(IF_NONE_MATCH) : 0) |
	       (a->if_modified_since.n ? FIELD_BIT(IF_MODIFIED_SINCE) : 0);
}

bool
outgoing_shows_credential(const struct outgoing *o, const struct fields *answer)
{
	for (unsigned i = 0; i < o->rq->fields.n; i++) {
		const struct field *f = &o->rq->fields.v[i];
		if (f->id == FIELD_OTHER && !outgoing_is_harmless(o, f->name) &&
		    !fields_is_listed(&o->listed, i) &&
		    outgoing_goes_out(o, f->id, f->name, &outgoing_asks_nothing) &&
		    !outgoing_is_in_key(o, f->name) &&
		    !fields_list_has(answer, FIELD_VARY, f->name))
			return true;
	}
	return false;
}

bool
outgoing_shows_own(const struct outgoing *o, struct str names)
{
	for (unsigned i = 0; i < o->rq->fields.n; i++) {
		const struct field *f = &o->rq->fields.v[i];
		if (!fields_is_listed(&o->listed, i) &&
		    outgoing_goes_out(o, f->id, f->name, &outgoing_asks_nothing) &&
		    !outgoing_is_in_key(o, f->name) && !list_has(names, f->name) &&
		    !(o->trusted && outgoing_says_who_asks(f->name)))
			return true;
	}
	return false;
}

bool
outgoing_varies_on(struct str names, uint64_t asked)
{
	struct str name;
	while (asked && list_next(&names, &name)) {
		enum field_id id = field_id_of(name);
		if (id != FIELD_OTHER && (asked & field_bit(id)))
			return true;
	}
	return false;
}

bool
outgoing_varies_on_conditions(struct str names)
{
	return outgoing_varies_on(names, conditions);
}
