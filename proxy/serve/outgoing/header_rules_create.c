/* header_rules_create.c - two levels of rules become one list, once. */
#include "proxy/serve/outgoing/header_rules.h"

#include "config/headers.h"
#include "config/routes.h"
#include "proxy/base/mem.h"
#include "proxy/base/template.h"

#include <assert.h>
#include <stdlib.h>

static unsigned
count_of(const struct config_headers *h)
{
	return h->set_count + h->add_count + h->remove_count;
}

static void
drop_lines(struct header_rules *r, struct str name)
{
	unsigned n = 0;
	for (unsigned i = 0; i < r->n; i++)
		if (!header_rules_match(name, r->lines[i].name))
			r->lines[n++] = r->lines[i];
	r->n = n;
}

static void
hide(struct header_rules *r, struct str name)
{
	bool star = name.n && name.p[name.n - 1] == '*';
	drop_lines(r, name);
	if (!star && header_rules_hide(r, name))
		return;
	r->gone[r->gone_n++] = name;
	if (star)
		return;
	r->gone[r->gone_n - 1] = r->gone[r->whole_n]; /* whole names come first */
	r->gone[r->whole_n++] = name;
}

static void
add_line(struct header_rules *r, struct str name, struct str value)
{
	r->lines[r->n++] = (struct header_rule){
		.name = name,
		.value = value,
		.expands = memchr(value.p, '$', value.n) != NULL,
		.secure = str_ieq(name, STR("strict-transport-security")),
	};
}

static void
add_level(struct header_rules *r, const struct config_headers *h)
{
	struct str name, value;
	for (unsigned i = 0; i < h->remove_count; i++)
		hide(r, str_of(h->remove[i]));
	for (unsigned i = 0; i < h->set_count; i++)
		if (headers_line(h->set[i], &name, &value)) {
			hide(r, name);
			add_line(r, name, value);
		}
	for (unsigned i = 0; i < h->add_count; i++)
		if (headers_line(h->add[i], &name, &value))
			add_line(r, name, value);
}

struct header_rules *
header_rules_create(const struct config_headers *all, const struct config_headers *route)
{
	unsigned most = count_of(all) + count_of(route);
	if (most == 0)
		return NULL;
	struct header_rules *r = NEW(struct header_rules);
	r->gone = mem_zalloc(most * sizeof *r->gone);
	r->lines = mem_zalloc(most * sizeof *r->lines);
	add_level(r, all);
	add_level(r, route);
	assert(r->n <= most && r->gone_n <= most);
	for (unsigned i = 0; i < r->n; i++)
		r->per_client |= (template_pieces(r->lines[i].value) & TEMPLATE_BIT(CLIENT)) != 0;
	return r;
}

void
header_rules_destroy(struct header_rules **rp)
{
	struct header_rules *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	free(r->gone);
	free(r->lines);
	free(r);
}
