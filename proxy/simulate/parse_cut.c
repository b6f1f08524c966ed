/* parse_cut.c - where an entry ends: lines, objects of JSON, records. */
#include "proxy/simulate/parse_inside.h"

/* How long the object at the start is, braces included; 0: it does not end. */
static size_t
object_bytes(struct str s)
{
	int depth = 0;
	bool within = false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (within) {
			i += c == '\\';
			within = c != '"';
			continue;
		}
		within = c == '"';
		depth += (c == '{') - (c == '}');
		if (depth == 0)
			return i + 1;
	}
	return 0;
}

static bool
cut_object(struct str *rest, struct str *line)
{
	*rest = str_from(*rest, str_before(*rest, '{').n);
	size_t n = object_bytes(*rest);
	*line = (struct str){rest->p, n ? n : rest->n};
	*rest = str_from(*rest, line->n);
	return n > 0;
}

bool
parse_cut(struct str *rest, enum cut cut, struct str *line)
{
	if (cut == CUT_OBJECTS)
		return cut_object(rest, line);
	if (cut == CUT_RECORDS) {
		bool whole = rest->n >= ORACLE_BYTES;
		*line = (struct str){rest->p, whole ? ORACLE_BYTES : rest->n};
		*rest = str_from(*rest, line->n);
		return whole;
	}
	*line = str_before(*rest, '\n');
	bool whole = line->n < rest->n;
	*rest = str_from(*rest, line->n + 1);
	return whole;
}

static struct str
without_space(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\r' || s.p[0] == '\n'))
		s = str_from(s, 1);
	return s;
}

/* Past {"records": or past nothing. */
static struct str
within_records(struct str s)
{
	struct str in = without_space(str_from(s, 1)), name = STR("\"records\"");
	if (in.n <= name.n || s.p[0] != '{' || !str_ieq((struct str){in.p, name.n}, name))
		return s;
	in = without_space(str_from(in, name.n));
	return in.n && in.p[0] == ':' ? without_space(str_from(in, 1)) : s;
}

/* An array of objects, or objects over several lines; *skip: what is before the first one. */
enum cut
parse_find_cut(struct str first, size_t *skip)
{
	struct str s = without_space(first), in;
	*skip = 0;
	if (s.n == 0)
		return CUT_LINES;
	in = within_records(s);
	if (in.p[0] == '[' && (in = without_space(str_from(in, 1))).n && in.p[0] == '{') {
		*skip = (size_t)(in.p - first.p);
		return CUT_OBJECTS;
	}
	bool on_a_line = s.p[0] != '{' || object_bytes(str_before(s, '\n')) > 0;
	return on_a_line || object_bytes(s) == 0 ? CUT_LINES : CUT_OBJECTS;
}
