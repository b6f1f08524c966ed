/* parse_json.c - one object a line, read as it comes: no tree is built.
 *
 * Only names at the top, and in an object called request, response or alike, mean something; what
 * else is nested is skipped. It is lenient: what follows the object is not looked at.
 */
#include "proxy/simulate/parse_inside.h"

struct scan {
	struct parsing *p;
	struct entry *e;
	const char *at, *end;
	unsigned key_i;
	uint8_t best[ROLE_COUNT]; /* 1 + rank of what was set */
};

static void
skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
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

/* Into scratch, which has room for the whole line: views of it stay. */
static struct str
unescape(struct scan *s, struct str v)
{
	static const char from[] = "nrtbf", into[] = "\n\r\t\b\f";
	struct buf *b = &s->p->scratch;
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

/* The role of a key; the keys of a log come in the same order line after line. */
static enum role
role_of(struct scan *s, struct str key, unsigned *rank)
{
	unsigned i = s->key_i < PARSE_KEYS_MOST ? s->key_i++ : PARSE_KEYS_MOST - 1;
	if (key.n && key.n == s->p->keys[i].n && memcmp(key.p, s->p->keys[i].name, key.n) == 0) {
		*rank = s->p->keys[i].rank;
		return (enum role)s->p->keys[i].role;
	}
	enum role role = roles_find(s->p->own, key, rank);
	if (key.n < PARSE_KEY_BYTES) {
		memcpy(s->p->keys[i].name, key.p, key.n);
		s->p->keys[i].n = (uint8_t)key.n;
		s->p->keys[i].role = (uint8_t)role;
		s->p->keys[i].rank = (uint8_t)*rank;
	}
	return role;
}

/* A better name of the same role may have come before. */
static bool
set(struct scan *s, enum role role, unsigned rank, struct str value)
{
	if (role == ROLE_NONE || (s->best[role] && s->best[role] <= rank + 1) || value.n == 0)
		return true;
	s->best[role] = (uint8_t)(rank + 1);
	return roles_set(s->e, role, value);
}

/* Objects within which names count. */
static bool
is_opened(struct str key)
{
	static const struct str names[] = {STR_INIT("request"),	    STR_INIT("response"),
					   STR_INIT("req"),	    STR_INIT("res"),
					   STR_INIT("httpRequest"), STR_INIT("http")};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_eq(key, names[i]))
			return true;
	return false;
}

static bool take_object(struct scan *s, int depth);

static bool
take_value(struct scan *s, struct str key, int depth)
{
	unsigned rank;
	bool plain;
	struct str v;
	enum role role = role_of(s, key, &rank);
	skip_space(s);
	if (s->at == s->end)
		return false;
	char c = *s->at;
	if (c == '{' || c == '[') {
		s->at++;
		return c == '{' && depth == 0 && is_opened(key) ? take_object(s, depth + 1)
								: skip_nested(s);
	}
	if (c == '"') {
		s->at++;
		if (!take_string(s, &v, &plain))
			return false;
		return set(s, role, rank, plain || role == ROLE_NONE ? v : unescape(s, v));
	}
	const char *from = s->at;
	while (s->at < s->end && *s->at != ',' && *s->at != '}' && *s->at != ' ')
		s->at++;
	v = (struct str){from, (size_t)(s->at - from)};
	if (str_eq(v, STR("null")) || str_eq(v, STR("true")) || str_eq(v, STR("false")))
		return true;
	return v.n > 0 && set(s, role, rank, v);
}

/* Its brace was taken. */
static bool
take_object(struct scan *s, int depth)
{
	if (next_is(s, '}'))
		return true;
	for (;;) {
		struct str key;
		bool plain;
		if (!next_is(s, '"') || !take_string(s, &key, &plain) || !next_is(s, ':') ||
		    !take_value(s, key, depth))
			return false;
		if (next_is(s, ','))
			continue;
		return next_is(s, '}');
	}
}

bool
parse_json(struct parsing *p, struct str line, struct entry *e)
{
	struct scan s = {.p = p, .e = e, .at = line.p, .end = line.p + line.n};
	p->scratch.n = 0;
	buf_room(&p->scratch, line.n + 1);
	return next_is(&s, '{') && take_object(&s, 0);
}
