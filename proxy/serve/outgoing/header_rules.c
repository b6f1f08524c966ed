/* header_rules.c - what rules do to one message. */
#include "proxy/serve/outgoing/header_rules.h"

#include "proxy/base/template.h"

#include <strings.h>

bool
header_rules_match(struct str pattern, struct str name)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return name.n >= pattern.n - 1 &&
		       strncasecmp(name.p, pattern.p, pattern.n - 1) == 0;
	return str_ieq(pattern, name);
}

bool
header_rules_hide(const struct header_rules *r, struct str name)
{
	for (unsigned i = 0; i < r->whole_n; i++)
		if (str_ieq(r->gone[i], name))
			return true;
	for (unsigned i = r->whole_n; i < r->gone_n; i++)
		if (header_rules_match(r->gone[i], name))
			return true;
	return false;
}

bool
header_rules_apply(const struct header_rule *l, struct str scheme)
{
	return !l->secure || str_eq(scheme, STR("https"));
}

void
header_rules_add_value(const struct header_rule *l, const struct header_values *v, struct buf *out)
{
	struct str rest = l->value, text;
	enum template_piece p;
	if (!l->expands) {
		buf_add_str(out, l->value);
		return;
	}
	while ((p = template_next(&rest, &text)) != TEMPLATE_END)
		buf_add_str(out, p == TEMPLATE_HOST	? v->host
				 : p == TEMPLATE_SCHEME ? v->scheme
				 : p == TEMPLATE_CLIENT ? v->client
							: text);
}
