/* outgoing.c - one request on its way to the origin: its scheme, and whether it has been here
 * before. */
#include "proxy/serve/outgoing.h"

#include "proxy/http/syntax.h"

/* The last proto= of Forwarded: what the nearest forwarder says (RFC 7239 5.4). */
static struct str
forwarded_proto(const struct fields *f)
{
	unsigned at = 0;
	const struct field *line;
	struct str found = {NULL, 0};
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL) {
		struct str rest = line->value, element;
		while (list_next(&rest, &element)) {
			struct str pair, name, value;
			found = (struct str){NULL, 0};
			while (list_next_by(';', &element, &pair))
				if (str_cut(pair, '=', &name, &value) &&
				    str_ieq(name, STR("proto")))
					found = value;
		}
	}
	if (found.n >= 2 && found.p[0] == '"')
		found = (struct str){found.p + 1, found.n - 2};
	return found;
}

static struct str
last_member(const struct fields *f, enum field_id id)
{
	unsigned at = 0;
	const struct field *line;
	struct str last = {NULL, 0};
	while ((line = fields_next(f, id, &at)) != NULL) {
		struct str rest = line->value, item;
		while (list_next(&rest, &item))
			last = item;
	}
	return last;
}

/* By a trusted forwarder's word, else the listener's. */
static struct str
scheme_of(const struct request *rq, bool trusted)
{
	struct str said = {NULL, 0};
	if (trusted)
		said = last_member(&rq->fields, FIELD_X_FORWARDED_PROTO);
	if (trusted && !said.n)
		said = forwarded_proto(&rq->fields);
	if (str_ieq(said, STR("https")))
		return STR("https");
	return str_ieq(said, STR("http")) ? STR("http") : rq->scheme;
}

/* Whether a member of Via, "1.1 name (comment)", is ours. */
static bool
is_own_hop(struct str member, struct str name)
{
	struct str protocol, rest, by, comment;
	str_cut(member, ' ', &protocol, &rest);
	str_cut(str_trim(rest), ' ', &by, &comment);
	return str_ieq(by, name);
}

static bool
has_passed_here(const struct request *rq, struct str via)
{
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(&rq->fields, FIELD_VIA, &at)) != NULL) {
		struct str rest = line->value, member;
		while (list_next(&rest, &member))
			if (is_own_hop(member, via))
				return true;
	}
	return false;
}

const struct fault *
outgoing_init(struct outgoing *o, const struct request *rq, const struct outgoing_settings *set,
	      const struct key_rules *rules, bool trusted, bool shared)
{
	*o = (struct outgoing){.rq = rq,
			       .set = set,
			       .rules = rules,
			       .scheme = scheme_of(rq, trusted),
			       .trusted = trusted,
			       .shared = shared};
	if (has_passed_here(rq, set->via))
		return &fault_LOOP;
	return fields_read_listed(&rq->fields, &o->listed) ? NULL : &fault_CONNECTION_OPTIONS;
}
