/* parse_json.c - one object a line, read as it comes: no tree is built.
 *
 * Names mean something at the top, in an object called request, response or alike, and where the
 * whole name (a.b.c) is known; what else is nested is skipped. It is lenient: what follows the
 * object is not looked at.
 */
#include "proxy/simulate/pairs.h"
#include "proxy/simulate/parse_inside.h"

enum { DEEPEST = 6, NAME_BYTES = 128 };

struct scan {
	struct pairs pairs;
	const char *at, *end;
	struct buf *scratch;
};

/* An object: its name, and which roles names have in it that mean nothing as a.b.c. */
struct place {
	const struct place *above; /* NULL: the top */
	struct str name;
	uint32_t roles;
	int depth;
};

static void
skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || (*s->at >= '\t' && *s->at <= '\r')))
		s->at++;
}

static bool
next_is(struct scan *s, char c)
{
	skip_space(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* A string, its quote already taken; *plain: nothing in it is escaped. */
static bool
take_string(struct scan *s, struct str *out, bool *plain)
{
	const char *from = s->at;
	*plain = true;
	while (s->at < s->end) {
		const char *quote = memchr(s->at, '"', (size_t)(s->end - s->at));
		if (!quote)
			return false;
		const char *slash = memchr(s->at, '\\', (size_t)(quote - s->at));
		if (!slash) {
			*out = (struct str){from, (size_t)(quote - from)};
			s->at = quote + 1;
			return true;
		}
		*plain = false;
		s->at = slash + 2 < s->end ? slash + 2 : s->end;
	}
	return false;
}

static int
hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The character of \uXXXX as UTF-8; what is half of a pair becomes itself, in three bytes. */
static size_t
add_unicode(char *to, const char *digits)
{
	unsigned v = 0;
	for (int i = 0; i < 4; i++)
		v = v * 16 + (unsigned)(hex(digits[i]) & 15);
	if (v < 0x80) {
		to[0] = (char)v;
		return 1;
	}
	if (v < 0x800) {
		to[0] = (char)(0xc0 | v >> 6);
		to[1] = (char)(0x80 | (v & 63));
		return 2;
	}
	to[0] = (char)(0xe0 | v >> 12);
	to[1] = (char)(0x80 | (v >> 6 & 63));
	to[2] = (char)(0x80 | (v & 63));
	return 3;
}

/* Views of b stay, for it has the room. */
struct str
parse_unescape(struct buf *b, struct str v)
{
	static const char from[] = "nrtbf", into[] = "\n\r\t\b\f";
	char *to = b->p + b->n, *start = to;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] != '\\' || i + 1 == v.n) {
			*to++ = v.p[i];
			continue;
		}
		char c = v.p[++i];
		const char *known = memchr(from, c, sizeof from - 1);
		if (c == 'u' && v.n - i > 4) {
			to += add_unicode(to, v.p + i + 1);
			i += 4;
		} else {
			*to++ = known ? into[known - from] : c;
		}
	}
	struct str out = {start, (size_t)(to - start)};
	buf_added(b, out.n);
	return out;
}

/* Past an object or array whose opening bracket was taken. */
static bool
skip_nested(struct scan *s)
{
	for (int depth = 1; s->at < s->end;) {
		char c = *s->at++;
		struct str ignored;
		bool plain;
		if (c == '"' && !take_string(s, &ignored, &plain))
			return false;
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (depth == 0)
			return true;
	}
	return false;
}

#define BIT(role) (UINT32_C(1) << ROLE_##role)

/* Objects within which short names count, and as what: a request has an id and a size, too. */
static const struct {
	struct str name;
	uint32_t roles;
} opened[] = {
#define OF_REQUESTS                                                                       \
	(BIT(TIME) | BIT(REQUEST) | BIT(METHOD) | BIT(SCHEME) | BIT(HOST) | BIT(TARGET) | \
	 BIT(QUERY) | BIT(CLIENT) | BIT(RANGE))
#define OF_ANSWERS (BIT(STATUS) | BIT(SIZE) | BIT(BYTES) | BIT(CACHE) | BIT(LIFETIME))
#define OF_BOTH	   (OF_REQUESTS | OF_ANSWERS)
	{STR_INIT("request"), OF_REQUESTS}, {STR_INIT("req"), OF_REQUESTS},
	{STR_INIT("response"), OF_ANSWERS}, {STR_INIT("res"), OF_ANSWERS},
	{STR_INIT("resp"), OF_ANSWERS},	    {STR_INIT("httpRequest"), OF_BOTH},
	{STR_INIT("http"), OF_BOTH},	    {STR_INIT("properties"), OF_BOTH},
	{STR_INIT("jsonPayload"), OF_BOTH},
};

static uint32_t
roles_within(struct str name)
{
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		if (str_eq(name, opened[i].name))
			return opened[i].roles;
	return 0;
}

/* As a.b.c, in to, where it is nested. */
static struct str
whole_name(const struct place *in, struct str key, char to[NAME_BYTES])
{
	size_t at = NAME_BYTES;
	if (!in->above)
		return key;
	for (struct str part = key;; part = in->name, in = in->above) {
		if (part.n + 1 > at)
			return (struct str){0};
		at -= part.n;
		memcpy(to + at, part.p, part.n);
		if (!in->above)
			return (struct str){to + at, NAME_BYTES - at};
		to[--at] = '.';
	}
}

static bool take_object(struct scan *s, const struct place *in);

/* Past its opening bracket. */
static bool
take_nested(struct scan *s, const struct place *in, struct str key, bool leads, bool is_object)
{
	/* An object within an opened one means no more than both do: http.request.method. */
	struct place inner = {.above = in, .name = key, .depth = in->depth + 1};
	inner.roles = roles_within(key);
	if (in->above)
		inner.roles &= in->roles;
	bool opens = is_object && (leads || inner.roles) && inner.depth < DEEPEST;
	return opens ? take_object(s, &inner) : skip_nested(s);
}

/* A number or a word; null, true and false are nothing. */
static bool
take_plain(struct scan *s, struct str *v)
{
	const char *from = s->at;
	while (s->at < s->end && !strchr(",}] \t\r\n", *s->at))
		s->at++;
	*v = (struct str){from, (size_t)(s->at - from)};
	bool any = v->n > 0;
	if (str_eq(*v, STR("null")) || str_eq(*v, STR("true")) || str_eq(*v, STR("false")))
		v->n = 0;
	return any;
}

static bool
take_value(struct scan *s, const struct place *in, struct str key)
{
	char room[NAME_BYTES];
	bool plain;
	struct str v;
	struct parse_key k = *pairs_find(&s->pairs, whole_name(in, key, room), key, in->roles);
	enum role role = (enum role)k.role;
	skip_space(s);
	if (s->at == s->end)
		return false;
	char c = *s->at;
	if (c == '{' || c == '[') {
		s->at++;
		return take_nested(s, in, key, k.leads, c == '{');
	}
	if (c != '"')
		return take_plain(s, &v) && pairs_set(&s->pairs, role, k.rank, v);
	s->at++;
	if (!take_string(s, &v, &plain))
		return false;
	if (!plain && role != ROLE_NONE)
		v = parse_unescape(s->scratch, v);
	return pairs_set(&s->pairs, role, k.rank, v);
}

/* Its brace was taken. */
static bool
take_object(struct scan *s, const struct place *in)
{
	if (next_is(s, '}'))
		return true;
	for (;;) {
		struct str key;
		bool plain;
		if (!next_is(s, '"') || !take_string(s, &key, &plain) || !next_is(s, ':') ||
		    !take_value(s, in, key))
			return false;
		if (next_is(s, ','))
			continue;
		return next_is(s, '}');
	}
}

bool
parse_json(struct parsing *p, struct str line, struct entry *e)
{
	struct scan s = {.pairs = {.p = p, .e = e},
			 .at = line.p,
			 .end = line.p + line.n,
			 .scratch = &p->scratch};
	p->scratch.n = 0;
	buf_room(&p->scratch, line.n + 1);
	return next_is(&s, '{') && take_object(&s, &(struct place){0}) &&
	       pairs_have_object(&s.pairs);
}
