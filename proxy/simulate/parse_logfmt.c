/* parse_logfmt.c - lines of name=value. */
#include "proxy/simulate/pairs.h"
#include "proxy/simulate/parse_inside.h"

/* The next name=value of *rest; a word without = has an empty value. False: there is none. */
static bool
take_pair(struct str *rest, struct str *name, struct str *value)
{
	*rest = str_trim(*rest);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '=' && rest->p[n] != '\t')
		n++;
	*name = (struct str){rest->p, n};
	*value = (struct str){0};
	bool has_value = n < rest->n && rest->p[n] == '=';
	*rest = str_from(*rest, n + has_value);
	if (!has_value)
		return n > 0;
	if (rest->n && rest->p[0] == '"') {
		*rest = str_from(*rest, 1);
		return n > 0 && parse_take_quoted(rest, value);
	}
	*value = str_before(*rest, ' ');
	*rest = str_from(*rest, value->n);
	return n > 0;
}

/* level=info time=... method=GET path=/a status=200; the time may be a word in front. */
bool
parse_logfmt(struct parsing *p, struct str line, struct entry *e)
{
	struct pairs s = {.p = p, .e = e};
	struct str name, value, rest = line;
	unsigned pairs = 0;
	p->scratch.n = 0;
	buf_room(&p->scratch, line.n + 1);
	while (take_pair(&rest, &name, &value)) {
		if (!value.n) {
			if (!pairs && !e->has_time)
				e->has_time = value_time(name, &e->time_us);
			continue;
		}
		pairs++;
		const struct parse_key *k = pairs_find(&s, name, name, 0);
		if (k->role != ROLE_NONE && memchr(value.p, '\\', value.n))
			value = parse_unescape(&p->scratch, value);
		if (!pairs_set(&s, (enum role)k->role, k->rank, value))
			return false;
	}
	return rest.n == 0 && pairs > 1 && pairs_have_object(&s);
}
