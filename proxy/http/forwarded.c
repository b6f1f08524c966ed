/* forwarded.c - walks lists from their end, for only the end was written by somebody we know. */
#include "proxy/http/forwarded.h"

#include "proxy/http/syntax.h"

/* Most members looked at, over all lines, and bytes of Forwarded: more hops than that are nobody's network. */
enum { HOPS_MOST = 64, FORWARDED_BYTES_MOST = 4 << 10 };

/* The last members of a field, as they are written. */
struct hops {
	struct str v[HOPS_MOST]; /* v[0] is the last */
	size_t n;
	bool all; /* there are no others */
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

/* A member added behind a quote that a client left open would be part of the client's. */
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

/* Forwarded is read from its beginning, for its quotes, and by each who asks. */
static bool
is_long(const struct fields *f)
{
	unsigned at = 0;
	size_t n = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL)
		n += line->value.n;
	return n > FORWARDED_BYTES_MOST;
}

/* Members of X-Forwarded-... have no quotes, so their last ones are found from the end. An empty one is
 * passed over, and counts as looked at. */
static void
collect_plain(const struct fields *f, enum field_id id, struct hops *h)
{
	unsigned looked = 0;
	for (unsigned i = f->n; i > 0; i--) {
		struct str rest = f->v[i - 1].value;
		while (f->v[i - 1].id == id && rest.n) {
			size_t at = rest.n;
			if (looked++ == HOPS_MOST)
				return;
			while (at && rest.p[at - 1] != ',')
				at--;
			h->v[h->n] = str_trim(str_from(rest, at));
			h->n += h->v[h->n].n > 0;
			rest.n = at ? at - 1 : 0;
		}
	}
	h->all = true;
}

/* The next member of a line; where its quotes do not close, commas in them separate too. */
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
collect_quoted(const struct fields *f, struct hops *h)
{
	struct str last[HOPS_MOST], item;
	unsigned at = 0;
	size_t n = 0;
	const struct field *line;
	if (is_long(f))
		return;
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL) {
		struct str rest = line->value;
		bool quotes = quotes_close(rest);
		while (next_member(&rest, quotes, &item))
			last[n++ % HOPS_MOST] = item;
	}
	h->all = n <= HOPS_MOST;
	for (h->n = 0; h->n < n && h->n < HOPS_MOST; h->n++)
		h->v[h->n] = last[(n - 1 - h->n) % HOPS_MOST];
}

static void
collect(const struct fields *f, enum field_id id, struct hops *h)
{
	h->n = 0;
	h->all = false;
	if (id == FIELD_FORWARDED)
		collect_quoted(f, h);
	else
		collect_plain(f, id, h);
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
	struct hops h;
	struct str who = peer;
	size_t i = 0;
	collect(f, id, &h);
	if (h.n == 0)
		return unknown;
	while (i < h.n && network_any_holds(trusted, n, who)) {
		struct str member = h.v[i++];
		who = bare(id == FIELD_FORWARDED ? parameter(member, STR("for")) : member);
		if (who.n == 0)
			return unknown;
	}
	return !h.all && i == h.n && network_any_holds(trusted, n, who) ? unknown : who;
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
	bool all = is_long(f);
	const struct field *line;
	while ((line = fields_next(f, FIELD_FORWARDED, &at)) != NULL) {
		struct str rest = line->value, item, pair, name, value;
		if (all || !quotes_close(line->value)) {
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
	struct hops h;
	if (!fields_has(f, id))
		return (struct str){NULL, 0};
	collect(f, id, &h);
	return h.n ? h.v[0] : (struct str){NULL, 0};
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
