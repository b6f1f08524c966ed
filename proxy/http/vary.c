/* vary.c - RFC 9111 4.1: which request fields select a variant. */
#include "proxy/http/cachekey.h"
#include "proxy/http/syntax.h"

#define NAMES_MAX 32 /* a Vary of more is treated as "*" */

static int
compare(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? strncasecmp(a.p, b.p, n) : 0;
	return d ? d : a.n < b.n ? -1 : a.n > b.n;
}

/* Inserts in order, once. False when there are too many. */
static bool
insert(struct str *v, unsigned *n, struct str name)
{
	unsigned i = *n;
	for (; i > 0; i--) {
		int d = compare(v[i - 1], name);
		if (d == 0)
			return true;
		if (d < 0)
			break;
	}
	if (*n == NAMES_MAX)
		return false;
	memmove(v + i + 1, v + i, (*n - i) * sizeof *v);
	v[i] = name;
	++*n;
	return true;
}

static void
add_names(const struct str *v, unsigned n, struct buf *out)
{
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_add_lit(out, ",");
		str_add_lower(v[i], out);
	}
}

bool
vary_names(const struct fields *f, struct buf *out)
{
	struct str v[NAMES_MAX], rest, name;
	unsigned n = 0, at = 0;
	const struct field *line;

	while ((line = fields_next(f, FIELD_VARY, &at)) != NULL) {
		rest = line->value;
		while (list_next(&rest, &name))
			if (str_eq(name, STR("*")) || !str_is_token(name) || !insert(v, &n, name))
				return false;
	}
	add_names(v, n, out);
	return true;
}

bool
vary_union(struct str a, struct str b, struct buf *out)
{
	struct str v[NAMES_MAX], name;
	unsigned n = 0;

	while (list_next(&a, &name))
		if (!insert(v, &n, name))
			return false;
	while (list_next(&b, &name))
		if (!insert(v, &n, name))
			return false;
	add_names(v, n, out);
	return true;
}

bool
vary_drop(struct buf *names, struct str name)
{
	size_t from = 0;
	while (from < names->n) {
		struct str rest = str_from(buf_str(names), from), one = str_before(rest, ',');
		size_t behind = from + one.n + (one.n < rest.n);
		if (str_eq(one, name)) {
			memmove(names->p + from, names->p + behind, names->n - behind);
			names->n -= behind - from;
			if (from && from == names->n)
				names->n--; /* the comma before the last one */
			return true;
		}
		from = behind;
	}
	return false;
}
