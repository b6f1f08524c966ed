/* vary.c - RFC 9111 4.1: which request fields select a variant, and when two values of them are the
 * same although they are written differently.
 */
#include "proxy/http/cachekey.h"
#include "proxy/http/syntax.h"

#define NAMES_MAX 32 /* a Vary of more is treated as "*" */
#define ITEMS_MAX 32 /* a list of more keeps its order: a variant of its own, never a wrong one */

/* -- the names --------------------------------------------------------------------- */

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
add_lower(struct str s, struct buf *out)
{
	char *p = buf_room(out, s.n);
	for (size_t i = 0; i < s.n; i++)
		p[i] = byte_lower(s.p[i]);
	buf_added(out, s.n);
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
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_add_lit(out, ",");
		add_lower(v[i], out);
	}
	return true;
}

/* -- the values -------------------------------------------------------------------- */

/* One of "gzip;q=0.5, br": what is said, its parameters without q, and q in thousandths. */
struct choice {
	struct str name, params;
	int q;
};

/* weight of RFC 9110 12.4.2: 0, 0.5, 0.123, 1.000. -1 when it is none. */
static int
quality(struct str s)
{
	int q = 0, scale = 1000;
	if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
		return -1;
	q = (s.p[0] - '0') * 1000;
	for (size_t i = 2; i < s.n; i++) {
		if (!byte_is_digit(s.p[i]))
			return -1;
		scale /= 10;
		q += (s.p[i] - '0') * scale;
	}
	return q <= 1000 ? q : -1;
}

static bool
is_q(struct str parameter, struct str *value)
{
	struct str key;
	return str_cut(parameter, '=', &key, value) && str_ieq(str_trim(key), STR("q"));
}

static bool
has_q(struct str parameters)
{
	struct str parameter, value;
	while (list_next_by(';', &parameters, &parameter))
		if (is_q(parameter, &value))
			return true;
	return false;
}

/* q is the last parameter (12.5.1: nothing stands behind it any more). False when the item is not
 * of this form; then the list is left as it is. */
static bool
parse_choice(struct str item, struct choice *out)
{
	struct str name, rest, value;
	out->q = 1000;
	bool more = str_cut(item, ';', &name, &rest);
	out->name = str_trim(name);
	out->params = more ? str_trim(rest) : (struct str){NULL, 0};
	if (!more)
		return out->name.n > 0;
	size_t last = rest.n;
	while (last && rest.p[last - 1] != ';')
		last--;
	struct str parameter = str_trim(str_from(rest, last));
	if (memchr(rest.p, '"', rest.n) || !out->name.n)
		return false;
	if (!is_q(parameter, &value))
		return !has_q(rest);
	out->params = str_trim((struct str){rest.p, last ? last - 1 : 0});
	out->q = quality(value);
	return out->q >= 0 && !has_q(out->params);
}

/* One by one as they will be written; their case may mean something. */
static int
compare_params(struct str a, struct str b)
{
	struct str x, y;
	for (;;) {
		bool more_a = list_next_by(';', &a, &x), more_b = list_next_by(';', &b, &y);
		if (!more_a || !more_b)
			return more_a - more_b;
		int d = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
		if (d || x.n != y.n)
			return d ? d : x.n < y.n ? -1 : 1;
	}
}

static int
compare_choices(const struct choice *a, const struct choice *b)
{
	int d = compare(a->name, b->name);
	if (d == 0)
		d = compare_params(a->params, b->params);
	return d ? d : b->q - a->q;
}

/* 8.4.1.3: x-gzip is gzip. */
static struct str
alias(struct str name)
{
	return str_ieq(name, STR("x-gzip")) ? STR("gzip") : name;
}

static void
add_choice(const struct choice *c, struct buf *out)
{
	add_lower(c->name, out);
	struct str rest = c->params, parameter;
	while (list_next_by(';', &rest, &parameter)) {
		buf_add_lit(out, ";");
		buf_add_str(out, parameter);
	}
	if (c->q == 1000)
		return;
	buf_add_lit(out, ";q=0"); /* 0, 0.5, 0.05 */
	if (c->q)
		buf_add_lit(out, ".");
	for (int left = c->q, unit = 100; left; left %= unit, unit /= 10) {
		char digit = (char)('0' + left / unit);
		buf_add(out, &digit, 1);
	}
}

/* The order of preferences is not significant, their weights are (12.4.2). False when the field is
 * none of a form known here. */
static bool
add_choices(const struct fields *f, struct str field_name, bool codings, struct buf *out)
{
	struct choice v[ITEMS_MAX];
	unsigned n = 0, at = 0;
	const struct field *line;

	while ((line = fields_next_named(f, field_name, &at)) != NULL) {
		struct str rest = line->value, item;
		while (list_next(&rest, &item)) {
			if (n == ITEMS_MAX || !parse_choice(item, &v[n]))
				return false;
			if (codings)
				v[n].name = alias(v[n].name);
			struct choice x = v[n];
			unsigned j = n++;
			for (; j > 0 && compare_choices(&x, &v[j - 1]) < 0; j--)
				v[j] = v[j - 1];
			v[j] = x;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		if (i && compare_choices(&v[i], &v[i - 1]) == 0)
			continue;
		if (i)
			buf_add_lit(out, ",");
		add_choice(&v[i], out);
	}
	return true;
}

/* Any other field: lines combined, whitespace around commas dropped. */
static void
add_combined(const struct fields *f, struct str name, struct buf *out)
{
	unsigned at = 0;
	const struct field *line;
	const char *separator = NULL;
	while ((line = fields_next_named(f, name, &at)) != NULL) {
		struct str rest = line->value, item;
		while (list_next(&rest, &item)) {
			if (separator)
				buf_add(out, separator, 1);
			buf_add_str(out, item);
			separator = ",";
		}
	}
}

/* Fields that are no lists: every byte may mean something. */
static void
add_verbatim(const struct fields *f, struct str name, struct buf *out)
{
	unsigned at = 0;
	const struct field *line;
	const char *separator = "";
	while ((line = fields_next_named(f, name, &at)) != NULL) {
		buf_add(out, separator, strlen(separator));
		buf_add_str(out, line->value);
		separator = "; ";
	}
}

static void
add_value(const struct fields *f, struct str name, struct buf *out)
{
	size_t from = out->n;
	switch (field_id_of(name)) {
	case FIELD_ACCEPT:
	case FIELD_ACCEPT_LANGUAGE:
		if (add_choices(f, name, false, out))
			return;
		break;
	case FIELD_ACCEPT_ENCODING:
		if (add_choices(f, name, true, out))
			return;
		break;
	case FIELD_AUTHORIZATION:
	case FIELD_COOKIE:
		add_verbatim(f, name, out);
		return;
	default:
		if (str_ieq(name, STR("accept-charset")) && add_choices(f, name, false, out))
			return;
		break;
	}
	out->n = from;
	add_combined(f, name, out);
}

void
vary_key(struct str names, const struct fields *f, struct buf *out)
{
	struct str name;
	while (list_next(&names, &name)) {
		unsigned at = 0;
		buf_add_lit(out, "\n");
		buf_add_str(out, name);
		if (fields_next_named(f, name, &at)) { /* absent is not empty */
			buf_add_lit(out, ":");
			add_value(f, name, out);
		}
	}
}
