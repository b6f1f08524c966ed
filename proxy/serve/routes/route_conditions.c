/* route_conditions.c - conditions compiled from the configuration, and held against a request. */
#include "proxy/serve/routes/route_conditions.h"

#include "config/headers.h"
#include "config/routes.h"
#include "proxy/base/glob.h"
#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"

#include <stdlib.h>

static void
add_mark(struct route_conditions *c, const struct route_field *f)
{
	buf_add_lit(&c->mark, "\n@if ");
	for (size_t i = 0; i < f->name.n; i++)
		buf_add(&c->mark, &(char){byte_lower(f->name.p[i])}, 1);
	buf_add_lit(&c->mark, ":");
	buf_add_str(&c->mark, f->value);
}

struct route_conditions *
route_conditions_create(const struct config_match *m)
{
	if (!m->method_count && !m->header_count)
		return NULL;
	struct route_conditions *c = NEW(struct route_conditions);
	struct str *methods = mem_alloc((m->method_count + 1) * sizeof *methods);
	for (unsigned i = 0; i < m->method_count; i++)
		methods[i] = str_of(m->methods[i]);
	c->methods = methods;
	c->method_count = m->method_count;
	c->fields = mem_alloc((m->header_count + 1) * sizeof *c->fields);
	for (unsigned i = 0; i < m->header_count; i++) {
		struct route_field *f = &c->fields[c->field_count];
		if (headers_line(m->headers[i], &f->name, &f->value)) {
			add_mark(c, f);
			c->field_count++;
		}
	}
	return c;
}

void
route_conditions_destroy(struct route_conditions **cp)
{
	struct route_conditions *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	free((void *)(uintptr_t)c->methods);
	free(c->fields);
	buf_fini(&c->mark);
	free(c);
}

bool
route_conditions_have_method(const struct route_conditions *c, const struct request *rq)
{
	bool is_get = rq->method == METHOD_GET || rq->method == METHOD_HEAD;
	struct str name = is_get ? STR("GET") : rq->method_name;
	for (unsigned i = 0; i < c->method_count; i++)
		if (str_eq(c->methods[i], name))
			return true;
	return c->method_count == 0;
}

/* The lines of that name that go on, as one (RFC 9110 5.3; cookies: RFC 9113 8.2.3). False: there is none. */
static bool
value_of(const struct request *rq, const struct fields_listed *listed, struct str name,
	 struct buf *joined, struct str *value)
{
	unsigned at = 0, n = 0;
	const struct field *line;
	joined->n = 0;
	while ((line = fields_next_named(&rq->fields, name, &at)) != NULL) {
		if (fields_is_listed(listed, (unsigned)(line - rq->fields.v)))
			continue;
		if (n++ == 0) {
			*value = line->value;
			continue;
		}
		if (n == 2)
			buf_add_str(joined, *value);
		buf_add_str(joined, line->id == FIELD_COOKIE ? STR("; ") : STR(", "));
		buf_add_str(joined, line->value);
	}
	if (n > 1)
		*value = buf_str(joined);
	return n > 0;
}

bool
route_conditions_have_fields(const struct route_conditions *c, const struct request *rq)
{
	struct fields_listed listed = {0};
	struct buf joined = {0};
	struct str value;
	bool have = true;
	if (c->field_count && !fields_read_listed(&rq->fields, &listed))
		return false; /* it is refused for that */
	for (unsigned i = 0; have && i < c->field_count; i++) {
		const struct glob g = {.pattern = c->fields[i].value};
		have = value_of(rq, &listed, c->fields[i].name, &joined, &value) &&
		       glob_matches(&g, value);
	}
	buf_fini(&joined);
	return have;
}
