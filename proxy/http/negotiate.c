/* negotiate.c - normal forms of the Accept family. */
#include "proxy/http/negotiate_inside.h"

#include "proxy/http/negotiate.h"
#include "proxy/http/syntax.h"

/* A browser's longest list has a few hundred bytes and some thirty members. Bytes of lists cost a client by
 * HTTP/2 next to nothing (RFC 7541 6.1), and are read for each answer that varies on them. */
enum { VALUE_BYTES_MOST = 1 << 10, PARTS_MOST = 128 };

static bool
is_read(struct str value)
{
	unsigned parts = 0;
	if (value.n <= PARTS_MOST)
		return true;
	if (value.n > VALUE_BYTES_MOST)
		return false;
	for (size_t i = 0; i < value.n; i++)
		parts += value.p[i] == ',' || value.p[i] == ';';
	return parts <= PARTS_MOST;
}

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

/* q is the last parameter (12.5.1: nothing follows it). False when the item is not
 * of this form. */
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
	if ((rest.n && memchr(rest.p, '"', rest.n)) || !out->name.n)
		return false;
	if (!is_q(parameter, &value))
		return !has_q(rest);
	out->params = str_trim((struct str){rest.p, last ? last - 1 : 0});
	out->q = quality(value);
	return out->q >= 0 && !has_q(out->params);
}

static void
add_weight(int q, struct buf *out)
{
	if (q == 1000)
		return;
	buf_add_lit(out, ";q=0"); /* 0, 0.5, 0.05 */
	if (q)
		buf_add_lit(out, ".");
	for (int left = q, unit = 100; left; left %= unit, unit /= 10) {
		char digit = (char)('0' + left / unit);
		buf_add(out, &digit, 1);
	}
}

/* All of the list, each name as add_name writes it. */
static bool
add_choices(struct str value, void (*add_name)(struct str name, struct buf *out), struct buf *out)
{
	struct str item, parameter;
	struct choice c;
	size_t from = out->n;

	if (!is_read(value))
		return false;
	while (list_next(&value, &item)) {
		if (!parse_choice(item, &c)) {
			out->n = from;
			return false;
		}
		if (out->n > from)
			buf_add_lit(out, ",");
		add_name(c.name, out);
		while (list_next_by(';', &c.params, &parameter)) {
			buf_add_lit(out, ";");
			buf_add_str(out, parameter);
		}
		add_weight(c.q, out);
	}
	return true;
}

bool
negotiate_types(struct str value, struct buf *out)
{
	return add_choices(value, str_add_lower, out);
}

static bool
is_letters(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (byte_lower(s.p[i]) < 'a' || byte_lower(s.p[i]) > 'z')
			return false;
	return true;
}

/* RFC 5646 2.1.1: what follows a singleton is in lower case. */
static void
add_tag(struct str tag, struct buf *out)
{
	char *p = buf_room(out, tag.n);
	bool first = true, single = false;
	while (tag.n) {
		struct str part, rest;
		bool more = str_cut(tag, '-', &part, &rest);
		bool plain = first || single || !is_letters(part);
		for (size_t i = 0; i < part.n; i++) {
			char c = byte_lower(part.p[i]);
			bool upper = !plain && (part.n == 2 || (part.n == 4 && i == 0));
			*p++ = (char)(upper ? c & ~0x20 : c);
		}
		if (more)
			*p++ = '-';
		single = single || part.n == 1;
		first = false;
		tag = rest;
	}
	buf_added(out, (size_t)(p - (out->p + out->n)));
}

bool
negotiate_languages(struct str value, struct buf *out)
{
	return add_choices(value, add_tag, out);
}

/* ---- codings ------------------------------------------------------------------------------- */

enum { GZIP, DEFLATE, BR, ZSTD, IDENTITY, STAR, NAMES };
_Static_assert(1 << GZIP == NEGOTIATE_GZIP && 1 << DEFLATE == NEGOTIATE_DEFLATE &&
		       1 << BR == NEGOTIATE_BR && 1 << ZSTD == NEGOTIATE_ZSTD &&
		       1 << IDENTITY == NEGOTIATE_IDENTITY,
	       "the names in their order are the bits");
static const struct str codings[NAMES] = {STR_INIT("gzip"), STR_INIT("deflate"),  STR_INIT("br"),
					  STR_INIT("zstd"), STR_INIT("identity"), STR_INIT("*")};

static int
coding_of(struct str name)
{
	for (int i = 0; i < NAMES; i++)
		if (str_ieq(name, codings[i]))
			return i;
	return str_ieq(name, STR("x-gzip")) ? GZIP : -1; /* 8.4.1.3 */
}

/* An item that cannot be read is not wanted; one that is wanted and refused is refused: less is
 * safe. */
unsigned
negotiate_takes(struct str value)
{
	unsigned wanted = 0, refused = 0;
	struct str item;
	struct choice c;

	if (!is_read(value))
		value.n = 0;
	while (list_next(&value, &item)) {
		int i = parse_choice(item, &c) && !c.params.n ? coding_of(c.name) : -1;
		if (i >= 0)
			*(c.q ? &wanted : &refused) |= 1u << i;
	}
	const unsigned star = 1u << STAR, plain = NEGOTIATE_IDENTITY;
	if (!(refused & plain) && !(refused & star && !(wanted & plain)))
		wanted |= plain;
	else if (wanted & star && !(refused & star))
		wanted |= plain - 1;
	return wanted & ~refused & (star - 1);
}

bool
negotiate_codings(struct str value, struct buf *out)
{
	unsigned takes = negotiate_takes(value);
	size_t from = out->n;

	for (int i = 0; i < IDENTITY; i++) {
		if (!(takes & 1u << i))
			continue;
		if (out->n > from)
			buf_add_lit(out, ", ");
		buf_add_str(out, codings[i]);
	}
	if (!(takes & NEGOTIATE_IDENTITY))
		buf_add_str(out, out->n > from ? STR(", identity;q=0") : STR("identity;q=0"));
	else if (out->n == from)
		buf_add_lit(out, "identity");
	return true;
}

bool
negotiate_tokens(struct str value, struct buf *out)
{
	size_t from = out->n;
	struct str rest = value, item;

	if (!value.n || !is_read(value) || !memchr(value.p, ',', value.n))
		return false;
	while (list_next(&rest, &item)) {
		if (!str_is_token(item)) {
			out->n = from;
			return false;
		}
		if (out->n > from)
			buf_add_lit(out, ", ");
		buf_add_str(out, item);
	}
	return out->n > from;
}

/* ---- which one ------------------------------------------------------------------------------ */

/* How exactly a media range names a type: 0 not at all, 1 with both stars, 2 one, 3 none. */
static int
exactness(struct str range, struct str type)
{
	struct str kind, rest;
	if (str_eq(range, STR("*/*")))
		return 1;
	str_cut(type, '/', &kind, &rest);
	if (range.n == kind.n + 2 && str_eq(str_from(range, kind.n), STR("/*")) &&
	    str_ieq((struct str){range.p, kind.n}, kind))
		return 2;
	return str_ieq(range, type) ? 3 : 0;
}

struct liking {
	int q, exact;
	unsigned at; /* the place of the item in the list */
};

static struct liking
liking_of(struct str accept, struct str type)
{
	struct liking l = {0, 0, 0};
	struct str item;
	struct choice c;
	for (unsigned at = 0; list_next(&accept, &item); at++) {
		int exact = parse_choice(item, &c) && !c.params.n ? exactness(c.name, type) : 0;
		if (exact > l.exact)
			l = (struct liking){c.q, exact, at};
	}
	return l;
}

static bool
is_better(const struct liking *a, const struct liking *b)
{
	if (a->q != b->q)
		return a->q > b->q;
	return a->exact != b->exact ? a->exact > b->exact : a->at < b->at;
}

int
negotiate_choose(struct str accept, const struct str *types, unsigned n)
{
	struct liking best = {0, 0, 0};
	if (!is_read(accept))
		accept.n = 0;
	int chosen = accept.n ? -1 : 0;
	for (unsigned i = 0; accept.n && i < n; i++) {
		struct liking l = liking_of(accept, types[i]);
		if (l.q > 0 && is_better(&l, &best)) {
			best = l;
			chosen = (int)i;
		}
	}
	return chosen;
}
