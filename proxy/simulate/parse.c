/* parse.c - the table of formats, and which one a log is of. */
#include "proxy/simulate/parse_inside.h"

enum { TRY_LINES = 40, TRY_MORE = 400 }; /* a log may begin with words of another kind */

static const struct {
	const char *word;
	bool headed;
	bool (*parse)(struct parsing *, struct str, struct entry *);
} formats[FORMAT_COUNT] = {
	[FORMAT_CLF] = {"clf", false, parse_clf},
	[FORMAT_JSON] = {"json", false, parse_json},
	[FORMAT_SQUID] = {"squid", false, parse_squid},
	[FORMAT_HAPROXY] = {"haproxy", false, parse_haproxy},
	[FORMAT_W3C] = {"w3c", true, parse_columns},
	[FORMAT_TABLE] = {"table", true, parse_columns},
	[FORMAT_TRIPLE] = {"triple", false, parse_triple},
	[FORMAT_ORACLE] = {"oracle", false, NULL},
};

const char *
parse_word(enum format f)
{
	return f < FORMAT_COUNT ? formats[f].word : "auto";
}

const char *
parse_words(void)
{
	return "auto"
#define X(id, word, headed, what) ", " word
		FORMATS(X)
#undef X
			;
}

int
parse_format_of(const char *word, enum format *out)
{
	for (enum format f = 0; f <= FORMAT_AUTO; f++)
		if (strcmp(parse_word(f), word) == 0) {
			*out = f;
			return 0;
		}
	return -1;
}

void
parse_init(struct parsing *p, enum format f, struct roles_own *own)
{
	*p = (struct parsing){.format = f, .own = own};
}

void
parse_fini(struct parsing *p)
{
	buf_fini(&p->scratch);
}

static enum parsed
parse_headed(struct parsing *p, struct str line, struct entry *e)
{
	if (line.p[0] == '#') {
		if (str_starts(line, STR("#Fields:")))
			p->has_header = parse_fields(p, str_from(line, 8));
		return PARSED_NOTHING;
	}
	if (!p->has_header && p->format == FORMAT_TABLE) {
		p->has_header = parse_titles(p, line);
		return p->has_header ? PARSED_NOTHING : PARSED_BAD;
	}
	if (!p->has_header)
		return PARSED_BAD;
	return parse_columns(p, line, e) ? PARSED_ENTRY : PARSED_BAD;
}

enum parsed
parse_line(struct parsing *p, struct str line, struct entry *e)
{
	*e = (struct entry){.status = ENTRY_NO_STATUS};
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == '\n'))
		line.n--;
	if (line.n == 0)
		return PARSED_NOTHING;
	if (p->format == FORMAT_ORACLE)
		return PARSED_BAD;
	enum parsed r;
	if (formats[p->format].headed)
		r = parse_headed(p, line, e);
	else if (line.p[0] == '#')
		r = PARSED_NOTHING;
	else
		r = formats[p->format].parse(p, line, e) ? PARSED_ENTRY : PARSED_BAD;
	if (r == PARSED_ENTRY && (!e->has_time || (!e->target.n && !e->has_id)))
		return PARSED_BAD;
	return r;
}

/* How many more of the first lines are of this format than are none. */
static int
score(struct str first, int lines, enum format f, struct roles_own *own)
{
	struct parsing p;
	struct entry e;
	int good = 0, bad = 0;
	parse_init(&p, f, own);
	while (first.n && good + bad < lines) {
		struct str line = str_before(first, '\n');
		if (line.n == first.n && good + bad > 0)
			break; /* cut short */
		first = str_from(first, line.n + 1);
		enum parsed r = parse_line(&p, line, &e);
		good += r == PARSED_ENTRY;
		bad += r == PARSED_BAD;
	}
	parse_fini(&p);
	return good > bad ? good - bad : 0;
}

static enum format
best_of(struct str first, int lines, struct roles_own *own)
{
	enum format best = FORMAT_AUTO;
	int most = 0;
	for (enum format f = 0; f < FORMAT_ORACLE; f++) {
		int is = score(first, lines, f, own);
		if (is > most) {
			most = is;
			best = f;
		}
	}
	return best;
}

enum format
parse_detect(struct str first, struct roles_own *own)
{
	if (parse_is_oracle(first))
		return FORMAT_ORACLE;
	enum format best = best_of(first, TRY_LINES, own);
	return best == FORMAT_AUTO ? best_of(first, TRY_MORE, own) : best;
}
