/* parse_fixed.c - formats whose columns have a fixed order: a row each.
 *
 * A row is words of roles.h, "-" for what says nothing here, and "..." at the end where more may
 * follow. Several ids make one. Where blanks are between columns, "..." and [...] are one.
 */
#include "proxy/simulate/parse_inside.h"

enum {
	COLUMN_SECTORS = ROLE_COUNT + 1, /* a size in units of 512 bytes */
	COLUMN_WRITES,			 /* 0: read, 1: written */
	COLUMN_STAMP,			 /* a time such as 20160201164604, and no other */
	SECTOR = 512,
	STAMP_BYTES = 14,
};

/* clang-format off */
static const struct layout {
	char delimiter;
	const char *columns;
} layouts[FORMAT_COUNT] = {
	[FORMAT_ISTIO] = {' ', "time request status - - - - - bytes - - - - - host ..."},
	[FORMAT_ENVOY] = {' ', "time request status - - bytes - - - - - host ..."},
	[FORMAT_ALB] = {' ', "- time - client - - - - status - - bytes request ..."},
	[FORMAT_ELB] = {' ', "time - client - - - - status - - bytes request ..."},
	[FORMAT_S3] = {' ', "- host time client - - - - request status - bytes size ..."},
	[FORMAT_BUNNY] = {'|', "cache status time bytes - client - target ..."},
	[FORMAT_REALTIME] = {'\t', "time client - status bytes method scheme - target - - - host ..."},
	[FORMAT_TWITTER] = {',', "time id - size - method -"},
	[FORMAT_MSR] = {',', "time id id method id size -"},
	[FORMAT_PHOTO] = {' ', "stamp id id id size - - -"},
	[FORMAT_BLOCK] = {',', "time id sectors writes id"},
};
/* clang-format on */

static uint8_t
column_of(struct str word)
{
	if (str_eq(word, STR("sectors")))
		return COLUMN_SECTORS;
	if (str_eq(word, STR("writes")))
		return COLUMN_WRITES;
	return str_eq(word, STR("stamp")) ? COLUMN_STAMP : (uint8_t)roles_of_word(word);
}

static void
read_layout(struct parsing *p, const struct layout *l)
{
	for (struct str rest = str_of(l->columns); rest.n;) {
		struct str word = str_before(rest, ' ');
		rest = str_from(rest, word.n + 1);
		if (!str_eq(word, STR("...")))
			p->columns[p->columns_n++] = column_of(word);
	}
}

static bool
has_more(const struct layout *l)
{
	return strstr(l->columns, "...") != NULL;
}

/* The next column of *rest. False: it does not end. */
static bool
take_cell(struct str *rest, char delimiter, struct str *cell)
{
	bool words = delimiter == ' ' && rest->n;
	if (words && rest->p[0] == '"') {
		*rest = str_from(*rest, 1);
		if (!parse_take_quoted(rest, cell))
			return false;
	} else {
		*cell = str_before(*rest, words && rest->p[0] == '[' ? ']' : delimiter);
		bool bracket = cell->n < rest->n && rest->p[cell->n] == ']';
		cell->n += bracket;
		*rest = str_from(*rest, cell->n);
	}
	if (rest->n == 0)
		return true;
	bool apart = rest->p[0] == delimiter;
	*rest = str_from(*rest, 1);
	return apart;
}

static bool
is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] | 32) < 'a' || (s.p[i] | 32) > 'z')
			return false;
	return s.n > 0;
}

/* An id of several parts; it lies in the scratch memory. */
static void
add_id(struct parsing *p, struct entry *e, struct str v)
{
	if (p->scratch.n)
		buf_add_lit(&p->scratch, ":");
	buf_add_str(&p->scratch, v);
	e->target = buf_str(&p->scratch);
}

/* Nothing but these marks the format, so values must be what they are said to be. */
static bool
set_cell(struct parsing *p, struct entry *e, uint8_t column, struct str v)
{
	bool absent = v.n == 1 && v.p[0] == '-', good = true;
	int status;
	switch (column) {
	case ROLE_STATUS:
		good = absent || str_eq(v, STR("0")) || value_status(v, &status);
		break;
	case ROLE_METHOD:
		good = is_word(v);
		break;
	case ROLE_TARGET:
		good = v.n && (v.p[0] == '/' || memmem(v.p, v.n, "://", 3));
		break;
	case ROLE_ID:
		add_id(p, e, v);
		return v.n > 0;
	case COLUMN_SECTORS:
		good = roles_set(e, ROLE_SIZE, v);
		e->bytes *= SECTOR;
		return good;
	case COLUMN_WRITES:
		e->method = str_eq(v, STR("1")) ? STR("PUT") : STR("GET");
		return v.n == 1 && (v.p[0] == '0' || v.p[0] == '1');
	case COLUMN_STAMP:
		return v.n == STAMP_BYTES && roles_set(e, ROLE_TIME, v);
	case ROLE_NONE:
		return true;
	default:
		break;
	}
	return good && roles_set(e, (enum role)column, v);
}

bool
parse_fixed(struct parsing *p, struct str line, struct entry *e)
{
	const struct layout *l = &layouts[p->format];
	struct str cell;
	unsigned i = 0;
	if (!p->columns_n)
		read_layout(p, l);
	p->scratch.n = 0;
	buf_room(&p->scratch, line.n + PARSE_COLUMNS_MOST); /* so that views of it stay */
	for (; i < p->columns_n && line.n; i++)
		if (!take_cell(&line, l->delimiter, &cell) || !set_cell(p, e, p->columns[i], cell))
			return false;
	return i == p->columns_n && (line.n == 0 || has_more(l));
}
