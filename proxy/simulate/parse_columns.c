/* parse_columns.c - lines of columns that a header names: TSV, CSV, and logs with #Fields. */
#include "proxy/simulate/parse_inside.h"

enum { LEAST_KNOWN = 2 };

static struct str
unquoted(struct str v)
{
	v = str_trim(v);
	if (v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"')
		return (struct str){v.p + 1, v.n - 2};
	return v;
}

/* The next column of *rest; a quoted one may hold the delimiter. */
static struct str
take_column(struct str *rest, char delimiter)
{
	size_t end = 0;
	if (rest->n && rest->p[0] == '"' && delimiter != '\t')
		for (end = 1; end < rest->n; end++)
			if (rest->p[end] == '"' &&
			    (end + 1 == rest->n || rest->p[end + 1] == delimiter)) {
				end++;
				break;
			}
	const char *at = end < rest->n ? memchr(rest->p + end, delimiter, rest->n - end) : NULL;
	struct str column = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
	*rest = str_from(*rest, column.n + 1);
	return delimiter == '\t' ? column : unquoted(column);
}

/* A name that only a client's column has beside it. */
static bool
is_of_clients(struct str title)
{
	return str_ieq(title, STR("logname")) || str_ieq(title, STR("ident")) ||
	       str_ieq(title, STR("rfc931"));
}

static bool
has(const struct parsing *p, enum role r)
{
	for (unsigned i = 0; i < p->columns_n; i++)
		if (p->columns[i] == r)
			return true;
	return false;
}

/* Of several columns for one role the one with the best name is taken. */
static void
add_column(struct parsing *p, struct str title, uint8_t ranks[ROLE_COUNT])
{
	unsigned rank, i = p->columns_n++;
	enum role r = roles_find(p->own, title, &rank);
	/* In a trace that is a table, "size" is the object's. */
	if (r == ROLE_BYTES && p->format == FORMAT_TABLE && str_ieq(title, STR("size")))
		r = ROLE_SIZE;
	p->columns[i] = (uint8_t)r;
	if (r == ROLE_NONE)
		return;
	for (unsigned j = 0; j < i; j++)
		if (p->columns[j] == r) {
			bool better = rank + 1 < ranks[r];
			p->columns[better ? j : i] = ROLE_NONE;
			if (!better)
				return;
		}
	ranks[r] = (uint8_t)(rank + 1);
}

static bool
is_enough(struct parsing *p, bool clients)
{
	if (clients && has(p, ROLE_HOST) && !has(p, ROLE_CLIENT)) {
		for (unsigned i = 0; i < p->columns_n; i++)
			if (p->columns[i] == ROLE_HOST)
				p->columns[i] = ROLE_CLIENT;
		p->host_is_client = true;
	}
	p->host_is_doubtful =
		p->format == FORMAT_TABLE && has(p, ROLE_HOST) && !has(p, ROLE_CLIENT);
	/* In a log of requests, an id is the request's. */
	bool requests = has(p, ROLE_STATUS) || has(p, ROLE_CLIENT) || has(p, ROLE_HOST);
	bool id = has(p, ROLE_ID) && (!requests || roles_is_named(p->own, ROLE_ID));
	bool what = has(p, ROLE_TARGET) || has(p, ROLE_REQUEST) || id;
	return what && has(p, ROLE_TIME);
}

static bool
read_titles(struct parsing *p, struct str line)
{
	uint8_t ranks[ROLE_COUNT] = {0};
	bool clients = false;
	p->columns_n = 0;
	while (line.n && p->columns_n < PARSE_COLUMNS_MOST) {
		struct str title = unquoted(take_column(&line, p->delimiter));
		clients = clients || is_of_clients(title);
		add_column(p, title, ranks);
	}
	return p->columns_n >= LEAST_KNOWN && is_enough(p, clients);
}

bool
parse_titles(struct parsing *p, struct str line)
{
	static const char delimiters[] = "\t,;|";
	for (size_t i = 0; i < sizeof delimiters - 1; i++) {
		p->delimiter = delimiters[i];
		if (memchr(line.p, p->delimiter, line.n) && read_titles(p, line))
			return true;
	}
	return false;
}

/* The names are apart by blanks, the columns below by tabs or blanks: the first line tells. */
bool
parse_fields(struct parsing *p, struct str line)
{
	char blank[4096];
	line = str_trim(line);
	if (line.n > sizeof blank)
		return false;
	for (size_t i = 0; i < line.n; i++)
		blank[i] = line.p[i];
	for (size_t i = 0; i < line.n; i++)
		if (blank[i] == '\t')
			blank[i] = ' ';
	p->delimiter = ' ';
	bool good = read_titles(p, (struct str){blank, line.n});
	p->delimiter = 0; /* not known yet */
	return good;
}

/* Date and time of day in two columns. */
static bool
set_time(struct parsing *p, struct entry *e, struct str date, struct str time)
{
	if (!date.n)
		return roles_set(e, ROLE_TIME, time);
	p->scratch.n = 0;
	buf_add_str(&p->scratch, date);
	buf_add_lit(&p->scratch, " ");
	buf_add_str(&p->scratch, time);
	return roles_set(e, ROLE_TIME, buf_str(&p->scratch));
}

bool
parse_columns(struct parsing *p, struct str line, struct entry *e)
{
	struct str date = {0}, time = {0};
	unsigned i = 0;
	if (!p->delimiter)
		p->delimiter = memchr(line.p, '\t', line.n) ? '\t' : ' ';
	for (; i < p->columns_n && (line.n || i + 1 == p->columns_n); i++) {
		struct str v = take_column(&line, p->delimiter);
		enum role r = (enum role)p->columns[i];
		if (r == ROLE_DATE)
			date = v;
		else if (r == ROLE_TIME)
			time = v;
		else if (r != ROLE_NONE && !roles_set(e, r, v))
			return false;
	}
	/* The last columns of a table may be empty, and left out. */
	return time.n && set_time(p, e, date, time);
}
