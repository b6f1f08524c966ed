/* outgoing_form.c - is this request shared, or does it go out as it came? */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/cookie.h"
#include "proxy/http/credential.h"
#include "proxy/http/policy.h"

/* All that the origin is sent, in one of both forms, but for what is said to caches. */
static void
add_form(const struct outgoing *o, struct str primary, bool shared, struct buf *out)
{
	struct outgoing form = *o;
	struct outgoing_asks asks = {.as_it_came = !shared, .no_wishes = true};
	form.shared = shared;
	struct buf target = {0};
	buf_add_str(out, outgoing_target(&form, primary, &target));
	buf_fini(&target);
	buf_add_lit(out, "\r\n");
	buf_add_str(out, outgoing_host(&form, primary));
	buf_add_lit(out, "\r\n");
	outgoing_fields(&form, primary, &asks, out);
}

static bool
differs_from_normal(const struct outgoing *o, struct str primary)
{
	struct buf normal = {0}, came = {0};
	add_form(o, primary, true, &normal);
	add_form(o, primary, false, &came);
	bool same = str_eq(buf_str(&normal), buf_str(&came));
	buf_fini(&normal);
	buf_fini(&came);
	return !same;
}

bool
outgoing_goes_as_it_came(const struct outgoing *o, struct str primary)
{
	return credential_signs(o->rq) && differs_from_normal(o, primary);
}

bool
outgoing_drop_foreign_range(struct request *rq)
{
	if (!policy_range_is_foreign(rq))
		return true;
	if (credential_signs(rq))
		return false;
	fields_drop(&rq->fields, FIELD_RANGE);
	return true;
}

/* Of several lines servers may read only one, and a signature may cover them: then they stay. */
void
outgoing_ignore_cookies(const struct outgoing_settings *set, struct request *rq, char *memory)
{
	unsigned at = 0;
	const struct field *line = fields_next(&rq->fields, FIELD_COOKIE, &at);
	if (!line || fields_next(&rq->fields, FIELD_COOKIE, &at) || credential_signs(rq))
		return;
	size_t n = cookie_without(line->value, set->ignored, set->ignored_count, memory);
	if (!n)
		fields_drop(&rq->fields, FIELD_COOKIE);
	else
		rq->fields.v[line - rq->fields.v].value = (struct str){memory, n};
}
