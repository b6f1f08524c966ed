/* cookie.c - strict where it counts, lenient where it looks for trouble. */
#include "proxy/http/cookie.h"

#include "proxy/http/syntax.h"

/* PHP reads these as an underscore in a name. */
static char
plain(char c)
{
	return c == '.' || c == ' ' || c == '+' ? '_' : byte_lower(c);
}

/* Whether a lenient server could take the text before the "=" for that name: in another case,
 * percent-encoded, with an index ("lang[x]"). */
static bool
could_be(struct str said, struct str name)
{
	size_t n = 0;
	for (size_t i = 0; i < said.n && n <= name.n; i++) {
		char c = said.p[i];
		if (c == '[' || c == '\0')
			break;
		if (c == '%' && i + 2 < said.n && byte_hex(said.p[i + 1]) >= 0 &&
		    byte_hex(said.p[i + 2]) >= 0) {
			c = (char)(byte_hex(said.p[i + 1]) << 4 | byte_hex(said.p[i + 2]));
			i += 2;
		}
		if (n == name.n || plain(c) != plain(name.p[n]))
			return false;
		n++;
	}
	return n == name.n;
}

static bool
is_separator(char c)
{
	return c == ';' || c == ',' || c == ' ' || c == '\t' || c == '"';
}

/* How many pieces of the line, by anybody's separators, could be that cookie. */
static unsigned
candidates(struct str line, struct str name)
{
	unsigned n = 0;
	while (line.n) {
		size_t end = 0;
		while (end < line.n && !is_separator(line.p[end]))
			end++;
		struct str piece = {line.p, end}, said, value;
		str_cut(piece, '=', &said, &value);
		n += said.n && could_be(said, name);
		line = str_from(line, end + 1);
	}
	return n;
}

/* The one pair that is exactly "name=value", between semicolons. */
static bool
exact(struct str line, struct str name, struct str *out)
{
	struct str pair, said, value;
	while (line.n) {
		str_cut(line, ';', &pair, &line);
		if (str_cut(str_trim(pair), '=', &said, &value) && str_eq(said, name)) {
			*out = value;
			return true;
		}
	}
	return false;
}

enum cookie
cookie_find(const struct fields *f, struct str name, struct str *value)
{
	unsigned at = 0, found = 0, lines = 0;
	const struct field *line;
	bool quotes = false, one = false;

	while ((line = fields_next(f, FIELD_COOKIE, &at)) != NULL) {
		struct str v = line->value;
		lines++;
		found += candidates(v, name);
		quotes = quotes || (v.n && (memchr(v.p, '"', v.n) || memchr(v.p, '\\', v.n)));
		one = one || exact(v, name, value);
	}
	if (!found)
		return COOKIE_NONE;
	bool blank = one && value->n && (value->p[0] == ' ' || value->p[0] == '\t');
	return found == 1 && one && lines == 1 && !quotes && !blank ? COOKIE_ONE : COOKIE_DOUBTFUL;
}
