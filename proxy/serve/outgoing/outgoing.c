/* outgoing.c - one request on its way to the origin: its scheme, and whether it has been here
 * before. */
#include "proxy/serve/outgoing/outgoing.h"

#include "proxy/http/forwarded.h"
#include "proxy/http/syntax.h"

/* Whether a member of Via, "1.1 name (comment)", is ours. */
static bool
is_own_hop(struct str member, struct str name)
{
	struct str protocol, rest, by, comment;
	str_cut(member, ' ', &protocol, &rest);
	str_cut(str_trim(rest), ' ', &by, &comment);
	return str_ieq(by, name);
}

/* So many members count as a loop too: no request comes over as many hops, and each is read before
 * anything else is known of the request. */
enum { HOPS_MOST = 64 };

static bool
has_passed_here(const struct request *rq, struct str via)
{
	unsigned at = 0, hops = 0;
	const struct field *line;
	while ((line = fields_next(&rq->fields, FIELD_VIA, &at)) != NULL) {
		struct str rest = line->value, member;
		while (list_next(&rest, &member))
			if (++hops > HOPS_MOST || is_own_hop(member, via))
				return true;
	}
	return false;
}

const struct fault *
outgoing_init(struct outgoing *o, const struct request *rq, const struct outgoing_settings *set,
	      const struct key_rules *rules, bool trusted, bool shared)
{
	struct str said = trusted ? forwarded_scheme(&rq->fields) : (struct str){0};
	*o = (struct outgoing){.rq = rq,
			       .set = set,
			       .rules = rules,
			       .scheme = said.n ? said : rq->scheme,
			       .trusted = trusted,
			       .shared = shared};
	if (has_passed_here(rq, set->via))
		return &fault_LOOP;
	return fields_read_listed(&rq->fields, &o->listed) ? NULL : &fault_CONNECTION_OPTIONS;
}

void
outgoing_is_from(struct outgoing *o, struct str peer, const struct network *trusted, unsigned n)
{
	o->client_ip = o->asker = peer;
	if (o->headers && o->headers->per_client)
		o->asker = forwarded_client(&o->rq->fields, trusted, n, peer);
}
