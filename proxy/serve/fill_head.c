/* fill_head.c - the head of an origin's answer before it is used: whether it fits what was asked,
 * without what is not for clients, and with the paths that they ask for.
 */
#include "proxy/serve/fill_inside.h"

#include "proxy/http/uri.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/rules/unasked.h"

void
fill_on_interim(void *ctx, const struct response *rs)
{
	struct fill *f = ctx;
	struct buf head = {0};
	if (backend_is_sibling(&f->backend) && rs->status == 102)
		return; /* it has to ask somebody itself */
	struct field_block_writer w;
	field_block_begin(&w, &head, rs->status, rs->reason);
	for (unsigned i = 0; i < rs->fields.n; i++)
		field_block_add(&w, rs->fields.v[i].id, rs->fields.v[i].name,
				rs->fields.v[i].value);
	field_block_end(&w);
	flight_interim(f->flight, buf_str(&head));
	buf_fini(&head);
}

/* A copy whose fields are to lie in room, which holds FIELDS_MAX. */
static struct response
with_room(const struct response *rs, struct field *room)
{
	struct response copy = *rs;
	copy.fields.v = room;
	copy.fields.cap = FIELDS_MAX;
	return copy;
}

/* Two functions of their own, for their lists of fields are large. */
__attribute__((noinline)) static void
use_stripped(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	struct field fields[FIELDS_MAX];
	struct response rest = with_room(rs, fields);
	tags_strip(&f->settings->tags, &rs->fields, &rest.fields);
	use(f, &rest);
}

static void
use_answer(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	if (keep_tags(f, rs) && f->settings->tags.strip)
		use_stripped(f, rs, use);
	else
		use(f, rs);
}

/* A 206 that is all of what was asked for, as the 200 that it should have been. */
__attribute__((noinline)) static void
use_as_whole(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	struct field fields[FIELDS_MAX];
	struct response whole = {.status = 200,
				 .minor = rs->minor,
				 .reason = STR("OK"),
				 .fields = {.v = fields, .cap = FIELDS_MAX}};
	for (unsigned i = 0; i < rs->fields.n; i++)
		if (rs->fields.v[i].id != FIELD_CONTENT_RANGE)
			fields_add(&whole.fields, rs->fields.v[i].name, rs->fields.v[i].value);
	use_answer(f, &whole, use);
}

/* A trip for slices looks itself whether the answer fits; so does the operator whose rule says what Range the
 * origin is sent. */
static enum unasked
decide(const struct fill *f, const struct response *rs)
{
	const struct header_rules *rules = f->outgoing.headers;
	struct str range = f->as_it_came ? fields_get(&f->rq.fields, FIELD_RANGE) : STR("");
	bool ranged = rs->status == 206 || rs->status == 416;
	if (!ranged || f->kind == FILL_SLICES || (rules && header_rules_hide(rules, STR("Range"))))
		return UNASKED_NOT;
	return unasked_decide(f->rq.method, range, rs, keep_length(rs));
}

static bool
read_answer(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	switch (decide(f, rs)) {
	case UNASKED_NOT:
		use_answer(f, rs, use);
		return true;
	case UNASKED_WHOLE:
		use_as_whole(f, rs, use);
		return true;
	case UNASKED_ODD:
		break;
	}
	keep_invalidated(f, rs);
	keep_rest(f, 502, false);
	fill_count_failure(f,
			   &(struct fetch_result){.end = FETCH_PROTOCOL, .word = "bad-response"});
	return false;
}

/* ---- where it points ------------------------------------------------------------------------ */

/* Whether the path, of the client's host, is one by which this route would ask for the origin's. */
static bool
is_of_route(const struct fill *f, struct str path)
{
	struct request rq = f->rq;
	rq.method = METHOD_GET;
	rq.path_query = path;
	return route_find(f->settings->routes, &rq)->rewrite == f->route->rewrite;
}

/* The reference that the origin gave, as clients ask for it: in the place of a path that the route would make of exactly
 * one of theirs. A path alone, or a URL of the host that the client asked. All else stays as it is. */
static struct str
as_clients_ask(const struct fill *f, struct str reference)
{
	struct uri to;
	struct buf b = {0};
	struct str made = reference;
	if (!uri_split(reference, &to) || !str_starts(to.path, STR("/")) ||
	    (to.authority.n
		     ? !uri_same_authority(to.scheme.n ? to.scheme : f->rq.scheme, to.authority,
					   outgoing_authority(key_primary(&f->key)))
		     : to.scheme.n > 0))
		return reference;
	size_t at = (size_t)(to.path.p - reference.p);
	buf_add(&b, reference.p, at);
	if (rewrite_back(f->route->rewrite, to.path, &b) &&
	    is_of_route(f, str_from(buf_str(&b), at))) {
		buf_add_str(&b, str_from(reference, at + to.path.n));
		made = arena_copy(f->arena, buf_str(&b));
	}
	buf_fini(&b);
	return made;
}

static bool
points(enum field_id id)
{
	return id == FIELD_LOCATION || id == FIELD_CONTENT_LOCATION;
}

__attribute__((noinline)) static bool
use_pointing_back(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	struct field fields[FIELDS_MAX];
	struct response back = with_room(rs, fields);
	memcpy(fields, rs->fields.v, rs->fields.n * sizeof *fields);
	for (unsigned i = 0; i < rs->fields.n; i++)
		if (points(fields[i].id))
			fields[i].value = as_clients_ask(f, fields[i].value);
	return read_answer(f, &back, use);
}

bool
fill_read_answer(struct fill *f, const struct response *rs, fill_use_fn *use)
{
	bool points_back = f->route->rewrite && (fields_has(&rs->fields, FIELD_LOCATION) ||
						 fields_has(&rs->fields, FIELD_CONTENT_LOCATION));
	return points_back ? use_pointing_back(f, rs, use) : read_answer(f, rs, use);
}
