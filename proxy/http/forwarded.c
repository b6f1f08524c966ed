/* forwarded.c - walks lists from their end, for only the end was written by somebody we know. */
#include "proxy/http/forwarded.h"

#include "proxy/http/syntax.h"

/* Most members looked at, over all lines: more hops than that are nobody's network. */
enum { HOPS_MOST = 64 };

/* Addresses in the order of the field, of which the last are kept; empty: a member that names none. */
struct hops {
	struct str v[HOPS_MOST];
	size_t n; /* all there are */
};

static struct str
unquoted(struct str s)
{
	bool quoted = s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
	return quoted ? (struct str){s.p + 1, s.n - 2} : s;
}

/* Without port and brackets, when it is an address; else empty. */
static struct str
bare(struct str s)
{
	unsigned char a[16];
	if (network_address(s, a) < 0)
		return (struct str){0};
	if (s.p[0] == '[')
		return (struct str){s.p + 1, (size_t)((char *)memchr(s.p, ']', s.n) - s.p - 1)};
	const char *colon = memchr(s.p, ':', s.n);
	if (colon && memchr(s.p, '.', (size_t)(colon - s.p)))
		s.n = (size_t)(colon - s.p);
	return s;
}

/* A parameter of an element of Forwarded (RFC 7239 4). */
static struct str
parameter(struct str element, struct str wanted)
{
	struct str pair, name, value;
	while (list_next_by(';', &element, &pair))
		if (str_cut(pair, '=', &name, &value) && str_ieq(str_trim(name), wanted))
			return unquoted(str_trim(value));
	return (struct str){0};
}

/* Whoever adds a member behind a quote that a client left open would add it to the client's. */
static bool
quotes_close(struct str s)
{
	bool quoted = false;
	for (size_t i = 0; i < s.n; i++)
		if (quoted && s.p[i] == '\\')
			i++;
		else if (s.p[i] == '"')
			quoted = !quoted;
	return !quoted;
}

/* Members of X-Forwarded-... have no quotes; those of Forwarded do, where they close. */
static bool
has_quotes(const struct field *line)
{
	return line->id == FIELD_FORWARDED && quotes_close(line->value);
}

static bool
next_member(struct str *rest, bool quotes, struct str *item)
{
	if (quotes)
		return list_next(rest, item);
	while (rest->n) {
		struct str member = str_before(*rest, ',');
		*rest = str_from(*rest, member.n + 1);
		*item = str_trim(member);
		if (item->n)
			return true;
	}
	return false;
}

static void
collect(const struct fields *f, enum field_id id, struct hops *h)
{
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, id, &at)) != NULL) {
		struct str rest = line->value, item;
		bool quotes = has_quotes(line);
		while (next_member(&rest, quotes, &item)) {
			h->v[h->n++ % HOPS_MOST] =
				bare(id == FIELD_FORWARDED ? parameter(item, STR("for")) : item);
		}
	}
}

static const struct str unknown = {"unknown", 7}; /* as RFC 7239 6.2 has it */

bool
forwarded_is_unknown(struct str client)
{
	return str_eq(client, unknown);
}

static struct str
client_by(const struct fields *f, enum field_id id, const struct network *trusted, unsigned n,
	  struct str peer)
{
	struct hops h = {.n = 0};
	struct str who = peer;
	collect(f, id, &h);
	size_t first = h.n > HOPS_MOST ? h.n - HOPS_MOST : 0, i = h.n;
	if (h.n == 0)
		return unknown;
	while (i > first && network_any_holds(trusted, n, who)) {
		who = h.v[--i % HOPS_MOST];
		if (who.n == 0)
			return unknown;
	}
	return first && i == first && network_any_holds(trusted, n, who) ? unknown : who;
}

static bool
is_same(struct str a, struct str b)
{
	unsigned char one[16], other[16];
	return network_address(a, one) == 0 && network_address(b, other) == 0 &&
	       memcmp(one, other, sizeof one) == 0;
}

struct str
forwarded_client(const struct fields *f, const struct network *trusted, unsigned n, struct str peer)
{
	bool x = fields_has(f, FIELD_X_FORWARDED_FOR), std = fields_has(f, FIELD_FORWARDED);
	if ((!x && !std) || !network_any_holds(trusted, n, peer))
		return peer;
	struct str who =
		client_by(f, x ? FIELD_X_FORWARDED_FOR : FIELD_FORWARDED, trusted, n, peer);
	if (x && std && !is_same(who, client_by(f, FIELD_FORWARDED, trusted, n, peer)))
		return unknown;
	return who;
}

void
forwarded_claims(const struct fields *f, forwarded_each_fn *each, void *ctx)
{
	static const struct str names[] = {{"host", 4}, {"proto", 5}};
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL) {
		struct str rest = line->value, item, pair, name, value;
		if (!quotes_close(line->value)) {
			each(ctx, STR(""), line->value);
			continue;
		}
		while (list_next(&rest, &item))
			while (list_next_by(';', &item, &pair))
				for (size_t i = 0; i < 2; i++)
					if (str_cut(pair, '=', &name, &value) &&
					    str_ieq(str_trim(name), names[i]))
						each(ctx, names[i], unquoted(str_trim(value)));
	}
}

static struct str
last_member(const struct fields *f, enum field_id id)
{
	unsigned at = 0;
	const struct field *line;
	struct str last = {NULL, 0};
	while ((line = fields_next(f, id, &at)) != NULL) {
		struct str rest = line->value, item;
		bool quotes = has_quotes(line);
		while (next_member(&rest, quotes, &item))
			last = item;
	}
	return last;
}

struct str
forwarded_scheme(const struct fields *f)
{
	struct str said = last_member(f, FIELD_X_FORWARDED_PROTO);
	if (!said.n)
		said = parameter(last_member(f, FIELD_FORWARDED), STR("proto"));
	if (str_ieq(said, STR("https")))
		return STR("https");
	return str_ieq(said, STR("http")) ? STR("http") : (struct str){NULL, 0};
}
