/* upgrade.c - who asks to switch protocols, and who agrees. */
#include "proxy/http/upgrade.h"

#include "proxy/http/syntax.h"

/* The one of the names that a member of the list is. */
static struct str
named(struct str member, const struct str *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (str_ieq(member, names[i]))
			return names[i];
	return (struct str){0};
}

/* No protocol behind so many others counts. */
enum { ASKED_MOST = 32 };

struct str
upgrade_asked(const struct request *rq, const struct str *names, unsigned n)
{
	struct str found = {0};
	const struct field *line;
	unsigned at = 0, read = 0;
	if (rq->method != METHOD_GET || rq->minor < 1 || rq->by_h2 || rq->framing != FRAMING_NONE ||
	    !fields_list_has(&rq->fields, FIELD_CONNECTION, STR("upgrade")))
		return found;
	while (!found.n && (line = fields_next(&rq->fields, FIELD_UPGRADE, &at)) != NULL) {
		struct str rest = line->value, member;
		while (!found.n && read++ < ASKED_MOST && list_next(&rest, &member))
			found = named(member, names, n);
	}
	return found;
}

bool
upgrade_agreed(const struct response *rs, struct str name)
{
	const struct fields *f = &rs->fields;
	return rs->status == 101 && rs->minor >= 1 && fields_count(f, FIELD_UPGRADE) == 1 &&
	       str_ieq(fields_get(f, FIELD_UPGRADE), name) &&
	       fields_list_has(f, FIELD_CONNECTION, STR("upgrade")) &&
	       !fields_has(f, FIELD_CONTENT_LENGTH) && !fields_has(f, FIELD_TRANSFER_ENCODING);
}
