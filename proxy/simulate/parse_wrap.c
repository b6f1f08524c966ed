/* parse_wrap.c - lines within lines: what containers and loggers put around those of a server. */
#include "proxy/simulate/parse_inside.h"

/* The value of a name in a line of JSON without nesting: a string, as it is written. */
static bool
find_string(struct str line, struct str name, struct str *out)
{
	for (struct str rest = line; rest.n;) {
		struct str before = str_before(rest, '"'), key;
		rest = str_from(rest, before.n + 1);
		if (!parse_take_quoted(&rest, &key))
			return false;
		if (!rest.n || rest.p[0] != ':')
			continue;
		rest = str_trim(str_from(rest, 1));
		if (!rest.n || rest.p[0] != '"')
			continue;
		rest = str_from(rest, 1);
		if (!parse_take_quoted(&rest, out))
			return false;
		if (str_eq(key, name))
			return true;
	}
	return false;
}

static bool
unwrap_docker(struct parsing *p, struct str line, struct str *inner)
{
	struct str log;
	if (!str_starts(line, STR("{\"log\":\"")) || !find_string(line, STR("log"), &log) ||
	    !find_string(line, STR("time"), &p->outer_time))
		return false;
	p->unwrapped.n = 0;
	buf_room(&p->unwrapped, log.n + 1);
	*inner = parse_unescape(&p->unwrapped, log);
	return true;
}

/* time stream F|P line */
static bool
unwrap_cri(struct parsing *p, struct str line, struct str *inner)
{
	struct str time = str_before(line, ' '), rest = str_from(line, time.n + 1);
	int64_t us;
	if ((!str_starts(rest, STR("stdout ")) && !str_starts(rest, STR("stderr "))) ||
	    !value_time(time, &us))
		return false;
	rest = str_from(rest, 7);
	if (rest.n < 2 || (rest.p[0] != 'F' && rest.p[0] != 'P') || rest.p[1] != ' ')
		return false;
	p->outer_time = time;
	*inner = str_from(rest, 2);
	return true;
}

/* The time is the first word before the object, or the first two. */
static bool
unwrap_prefix(struct parsing *p, struct str line, struct str *inner)
{
	struct str prefix = str_before(line, '{');
	int64_t us;
	if (prefix.n == 0 || prefix.n == line.n)
		return false;
	*inner = str_from(line, prefix.n);
	struct str tab = str_before(prefix, '\t'), word = str_before(prefix, ' ');
	p->outer_time = value_time(tab, &us) ? tab : word;
	return true;
}

bool
parse_unwrap(struct parsing *p, struct str line, struct str *inner)
{
	switch (p->wrap) {
	case WRAP_DOCKER:
		return unwrap_docker(p, line, inner);
	case WRAP_CRI:
		return unwrap_cri(p, line, inner);
	case WRAP_PREFIX:
		return unwrap_prefix(p, line, inner);
	default:
		*inner = line;
		return true;
	}
}
