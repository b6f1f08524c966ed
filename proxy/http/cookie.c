/* cookie.c - strict where it counts, lenient where it looks for trouble. */
#include "proxy/http/cookie.h"

#include "proxy/http/syntax.h"

#include <assert.h>

/* ODD_MOST: of pieces whose names have to be decoded; no browser keeps as many cookies. */
enum { SLOTS = 64, FOLDED_BYTES = 64, ODD_MOST = 512 };

/* PHP reads these as an underscore in a name. */
static char
plain(char c)
{
	return c == '.' || c == ' ' || c == '+' ? '_' : byte_lower(c);
}

/* The byte of a name at *i, as a lenient server has it; *i moves on. */
static char
decoded(struct str said, size_t *i)
{
	char c = said.p[*i];
	if (c == '%' && *i + 2 < said.n && byte_hex(said.p[*i + 1]) >= 0 &&
	    byte_hex(said.p[*i + 2]) >= 0) {
		c = (char)(byte_hex(said.p[*i + 1]) << 4 | byte_hex(said.p[*i + 2]));
		*i += 2;
	}
	++*i;
	return plain(c);
}

/* Whether a lenient server could take the text before the "=" or "[" for that name: in another case,
 * or percent-encoded. */
static bool
could_be(struct str said, struct str name)
{
	size_t n = 0;
	for (size_t i = 0; i < said.n; n++)
		if (n == name.n || decoded(said, &i) != plain(name.p[n]))
			return false;
	return n == name.n;
}

/* ---- which of the names it could be ---------------------------------------------------------- */

struct search {
	const struct str *names;
	unsigned n;
	uint8_t first[SLOTS], next[COOKIES_MOST]; /* places + 1 of names with that hash */
	uint32_t hash[COOKIES_MOST];
	uint64_t lengths; /* a bit for each; the last also for longer ones */
	size_t longest;
	unsigned found[COOKIES_MOST], odd;
	const char *at[COOKIES_MOST]; /* the last that was found */
};

static uint64_t
word(const char *p, size_t n)
{
	uint64_t x = 0;
	memcpy(&x, p, n);
	return x;
}

/* All of a text of at most eight bytes, without reading behind it. */
static uint64_t
short_word(const char *p, size_t n)
{
	if (n == 8)
		return word(p, 8);
	if (n >= 4)
		return word(p, 4) | word(p + n - 4, 4) << 32;
	return n ? word(p, 1) | word(p + n / 2, 1) << 8 | word(p + n - 1, 1) << 16 : 0;
}

/* The same for names that could be one another: of their first bytes, without case. The text has no
 * bytes that plain changes otherwise. n: of the whole name. */
static uint32_t
hash_of(const char *p, size_t n)
{
	const uint64_t lower = UINT64_C(0x2020202020202020), prime = UINT64_C(0x9e3779b97f4a7c15);
	size_t left = n < FOLDED_BYTES ? n : FOLDED_BYTES;
	uint64_t h = n * prime;
	for (; left > 8; p += 8, left -= 8)
		h = ((h ^ h >> 32) ^ (word(p, 8) | lower)) * prime;
	h = ((h ^ h >> 32) ^ (short_word(p, left) | lower)) * prime;
	return (uint32_t)(h >> 32);
}

/* The same of a name that has such bytes, or encoded ones. Those of names that are longer than what is
 * looked for are not told apart. */
static uint32_t
hash_of_odd(struct str said, size_t longest)
{
	char folded[FOLDED_BYTES];
	size_t n = 0;
	for (size_t i = 0; i < said.n && n <= longest; n++) {
		char c = decoded(said, &i);
		if (n < FOLDED_BYTES)
			folded[n] = c;
	}
	return hash_of(folded, n);
}

static uint64_t
length_bit(size_t n)
{
	return UINT64_C(1) << (n < 63 ? n : 63);
}

static void
search_init(struct search *s, const struct str *names, unsigned n)
{
	assert(n <= COOKIES_MOST);
	*s = (struct search){.names = names, .n = n};
	for (unsigned i = 0; i < n; i++) {
		char folded[FOLDED_BYTES];
		for (size_t k = 0; k < names[i].n && k < FOLDED_BYTES; k++)
			folded[k] = plain(names[i].p[k]);
		s->hash[i] = hash_of(folded, names[i].n);
		s->lengths |= length_bit(names[i].n);
		s->longest = names[i].n > s->longest ? names[i].n : s->longest;
		uint8_t *slot = &s->first[s->hash[i] % SLOTS];
		s->next[i] = *slot;
		*slot = (uint8_t)(i + 1);
	}
}

static void
note(struct search *s, struct str said, bool odd)
{
	if (!odd && !(s->lengths & length_bit(said.n)))
		return;
	if (odd && ++s->odd > ODD_MOST)
		return;
	uint32_t h = odd ? hash_of_odd(said, s->longest) : hash_of(said.p, said.n);
	for (unsigned i = s->first[h % SLOTS]; i; i = s->next[i - 1])
		if (s->hash[i - 1] == h && could_be(said, s->names[i - 1])) {
			s->found[i - 1]++;
			s->at[i - 1] = said.p;
		}
}

/* ---- lines ----------------------------------------------------------------------------------- */

enum { SEPARATOR = 1, ENDS_NAME = 2, ODD = 4 };
static const uint8_t kinds[256] = {
	[';'] = SEPARATOR, [','] = SEPARATOR, [' '] = SEPARATOR, ['\t'] = SEPARATOR,
	['"'] = SEPARATOR, ['='] = ENDS_NAME, ['['] = ENDS_NAME, ['\0'] = ENDS_NAME,
	['%'] = ODD,	   ['.'] = ODD,	      ['+'] = ODD,
};

static uint8_t
kind_of(char c)
{
	return kinds[(unsigned char)c];
}

/* Each piece of the line, by anybody's separators, that could be one of the cookies. An index behind a
 * name ("lang[x]") is passed over. */
static void
read_line(struct search *s, struct str line)
{
	const char *p = line.p, *end = p + line.n;
	while (p < end) {
		const char *begin = p;
		uint8_t kind = 0, seen = 0;
		for (; p < end && !((kind = kind_of(*p)) & (SEPARATOR | ENDS_NAME)); p++)
			seen |= kind;
		if (p > begin)
			note(s, (struct str){begin, (size_t)(p - begin)}, seen & ODD);
		while (p < end && !(kind_of(*p) & SEPARATOR))
			p++;
		p++;
	}
}

/* Whether the piece is exactly "name=value" between semicolons. */
static bool
is_exact(struct str line, const char *at, struct str name, struct str *value)
{
	const char *before = at;
	while (before > line.p && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	struct str pair = str_before(str_from(line, (size_t)(at - line.p)), ';'), said;
	return (before == line.p || before[-1] == ';') &&
	       str_cut(str_trim(pair), '=', &said, value) && str_eq(said, name);
}

static struct cookie_found
judge(const struct search *s, unsigned i, struct str line, bool sure)
{
	struct str value = {NULL, 0};
	if (!s->found[i])
		return (struct cookie_found){s->odd > ODD_MOST ? COOKIE_DOUBTFUL : COOKIE_NONE,
					     value};
	if (!sure || s->found[i] > 1 || !is_exact(line, s->at[i], s->names[i], &value) ||
	    (value.n && (value.p[0] == ' ' || value.p[0] == '\t')))
		return (struct cookie_found){COOKIE_DOUBTFUL, {NULL, 0}};
	return (struct cookie_found){COOKIE_ONE, value};
}

void
cookie_find(const struct fields *f, const struct str *names, unsigned n, struct cookie_found *out)
{
	unsigned at = 0, lines = 0;
	const struct field *line;
	struct str v = {NULL, 0};
	struct search s;
	bool quotes = false;

	search_init(&s, names, n);
	while ((line = fields_next(f, FIELD_COOKIE, &at)) != NULL) {
		v = line->value;
		lines++;
		read_line(&s, v);
		quotes = quotes || (v.n && (memchr(v.p, '"', v.n) || memchr(v.p, '\\', v.n)));
	}
	bool sure = lines == 1 && !quotes && s.odd <= ODD_MOST;
	for (unsigned i = 0; i < n; i++)
		out[i] = judge(&s, i, v, sure);
}

/* ---- names that begin with a text ------------------------------------------------------------ */

/* Whether a lenient server could take a name to begin so. */
static bool
could_begin(struct str said, struct str beginning)
{
	size_t n = 0;
	for (size_t i = 0; i < said.n && n < beginning.n; n++)
		if (decoded(said, &i) != plain(beginning.p[n]))
			return false;
	return n == beginning.n;
}

/* How many pieces of the line, by anybody's separators, could be a cookie whose name begins so. */
static unsigned
count_beginning(struct str line, struct str beginning)
{
	const char *p = line.p, *end = p + line.n;
	unsigned count = 0;
	while (p < end) {
		const char *begin = p;
		while (p < end && !(kind_of(*p) & (SEPARATOR | ENDS_NAME)))
			p++;
		if (p > begin)
			count += could_begin((struct str){begin, (size_t)(p - begin)}, beginning);
		while (p < end && !(kind_of(*p) & SEPARATOR))
			p++;
		p++;
	}
	return count;
}

bool
cookie_begins(const struct fields *f, const struct str *beginnings, unsigned n)
{
	const struct field *line;
	for (unsigned at = 0; (line = fields_next(f, FIELD_COOKIE, &at)) != NULL;)
		for (unsigned i = 0; i < n; i++)
			if (!beginnings[i].n || count_beginning(line->value, beginnings[i]))
				return true;
	return false;
}

struct pair {
	struct str name, value;
};

static bool
comes_before(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? memcmp(a.p, b.p, n) : 0;
	return d < 0 || (d == 0 && a.n < b.n);
}

/* Sorts it in; false: a name of which a lenient server could find two. */
static bool
insert(struct pair *v, unsigned n, struct pair new)
{
	unsigned i = n;
	for (unsigned k = 0; k < n; k++)
		if (could_be(new.name, v[k].name) || could_be(v[k].name, new.name))
			return false;
	for (; i && comes_before(new.name, v[i - 1].name); i--)
		v[i] = v[i - 1];
	v[i] = new;
	return true;
}

/* Everybody sees where it ends, and nobody decodes it. */
static bool
is_plain_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '%' || (kind_of(name.p[i]) & (SEPARATOR | ENDS_NAME)))
			return false;
	return true;
}

bool
cookie_add_all(const struct fields *f, struct str beginning, struct buf *out)
{
	unsigned at = 0, n = 0;
	struct pair v[COOKIES_MOST];
	const struct field *line = fields_next(f, FIELD_COOKIE, &at);
	if (!line)
		return true;
	struct str rest = line->value, piece;
	unsigned all = count_beginning(rest, beginning);
	bool quotes = rest.n && (memchr(rest.p, '"', rest.n) || memchr(rest.p, '\\', rest.n));
	if (fields_next(f, FIELD_COOKIE, &at) || quotes || all > COOKIES_MOST)
		return false;
	while (rest.n && n < all) {
		piece = str_before(rest, ';');
		rest = str_from(rest, piece.n + 1);
		struct pair p;
		if (!str_cut(str_trim(piece), '=', &p.name, &p.value) ||
		    !str_starts(p.name, beginning))
			continue;
		bool odd = !is_plain_name(p.name) ||
			   (p.value.n && (p.value.p[0] == ' ' || p.value.p[0] == '\t'));
		if (odd || !insert(v, n++, p))
			return false;
	}
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_add_lit(out, ";");
		buf_add_str(out, v[i].name);
		buf_add_lit(out, "=");
		buf_add_str(out, v[i].value);
	}
	return n == all; /* else some server finds one where others do not */
}

/* ---- names that do not count ----------------------------------------------------------------- */

static bool
is_among(struct str name, const struct str *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct str x = names[i];
		bool star = x.n && x.p[x.n - 1] == '*';
		x.n -= star;
		if (star ? str_starts(name, x) : str_eq(name, x))
			return true;
	}
	return false;
}

size_t
cookie_without(struct str value, const struct str *names, unsigned n, char *out)
{
	size_t made = 0;
	while (value.n) {
		struct str piece = str_before(value, ';');
		value = str_from(value, piece.n + 1);
		piece = str_trim(piece);
		if (!piece.n || is_among(str_before(piece, '='), names, n))
			continue;
		if (made) {
			out[made++] = ';';
			out[made++] = ' ';
		}
		memcpy(out + made, piece.p, piece.n);
		made += piece.n;
	}
	return made;
}

bool
cookie_any_besides(const struct fields *f, const struct str *names, unsigned n)
{
	const struct field *line;
	for (unsigned at = 0; (line = fields_next(f, FIELD_COOKIE, &at)) != NULL;)
		for (struct str value = line->value; value.n;) {
			struct str piece = str_before(value, ';');
			value = str_from(value, piece.n + 1);
			piece = str_trim(piece);
			if (piece.n && !is_among(str_before(piece, '='), names, n))
				return true;
		}
	return false;
}
