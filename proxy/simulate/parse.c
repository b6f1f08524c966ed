/* parse.c - the table of formats, and which one a log is of. */
#include "proxy/simulate/parse_inside.h"

enum { TRY_LINES = 40, TRY_MORE = 400 }; /* a log may begin with words of another kind */

typedef bool parse_fn(struct parsing *p, struct str line, struct entry *e);

/* Formats without a row here have columns in a fixed order. */
static parse_fn *const parsers[FORMAT_COUNT] = {
	[FORMAT_CLF] = parse_clf,	[FORMAT_JSON] = parse_json,
	[FORMAT_SQUID] = parse_squid,	[FORMAT_HAPROXY] = parse_haproxy,
	[FORMAT_W3C] = parse_columns,	[FORMAT_TABLE] = parse_columns,
	[FORMAT_LOGFMT] = parse_logfmt, [FORMAT_TRIPLE] = parse_triple,
	[FORMAT_SIZED] = parse_triple,
};

static const struct {
	const char *word;
	bool urls;
} formats[FORMAT_COUNT] = {
#define X(id, word, urls, what) [FORMAT_##id] = {word, urls},
	FORMATS(X)
#undef X
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
#define X(id, word, urls, what) ", " word
		FORMATS(X)
#undef X
			;
}

bool
parse_has_urls(enum format f)
{
	return f < FORMAT_COUNT && formats[f].urls;
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
parse_init(struct parsing *p, const struct shape *shape, struct roles_own *own)
{
	*p = (struct parsing){.format = shape->format, .wrap = shape->wrap, .own = own};
}

void
parse_fini(struct parsing *p)
{
	buf_fini(&p->scratch);
	buf_fini(&p->unwrapped);
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

static struct str
without_end(struct str line)
{
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == '\n'))
		line.n--;
	return line;
}

enum parsed
parse_line(struct parsing *p, struct str line, struct entry *e)
{
	*e = (struct entry){.status = ENTRY_NO_STATUS};
	p->outer_time = (struct str){0};
	line = without_end(line);
	if (line.n == 0)
		return PARSED_NOTHING;
	if (p->format == FORMAT_ORACLE || !parse_unwrap(p, line, &line))
		return PARSED_BAD;
	line = without_end(line);
	if (line.n == 0)
		return PARSED_NOTHING;
	parse_fn *parse = parsers[p->format] ? parsers[p->format] : parse_fixed;
	enum parsed r;
	if (parse == parse_columns)
		r = parse_headed(p, line, e);
	else if (line.p[0] == '#')
		r = PARSED_NOTHING;
	else
		r = parse(p, line, e) ? PARSED_ENTRY : PARSED_BAD;
	if (r == PARSED_ENTRY && !e->has_time && p->outer_time.n)
		e->has_time = value_time(p->outer_time, &e->time_us);
	if (r == PARSED_ENTRY && (!e->has_time || (!e->target.n && !e->has_id)))
		return PARSED_BAD;
	return r;
}

/* ---- which format -------------------------------------------------------------------------- */

/* How many more of the first lines are of this shape than are none. */
static int
score(struct str first, int lines, const struct shape *shape, struct roles_own *own)
{
	struct parsing p;
	struct entry e;
	int good = 0, bad = 0;
	parse_init(&p, shape, own);
	while (first.n && good + bad < lines) {
		struct str line;
		if (!parse_cut(&first, shape->cut, &line) && good + bad > 0)
			break; /* cut short */
		enum parsed r = parse_line(&p, line, &e);
		good += r == PARSED_ENTRY;
		bad += r == PARSED_BAD;
	}
	parse_fini(&p);
	return good > bad ? good - bad : 0;
}

static bool
is_tried(const struct shape *s, enum format wanted)
{
	if (wanted != FORMAT_AUTO && wanted != s->format)
		return false;
	if (s->format == FORMAT_SIZED && wanted != FORMAT_SIZED)
		return false; /* what looks like a triple is judged by its numbers */
	if (s->wrap == WRAP_PREFIX || s->cut == CUT_OBJECTS)
		return s->format == FORMAT_JSON;
	return true;
}

/* Wrapped lines come first: a lenient format could read over what is around them. */
static struct shape
best_of(struct str first, int lines, enum format wanted, struct roles_own *own)
{
	static const enum wrap wraps[WRAP_COUNT] = {WRAP_DOCKER, WRAP_CRI, WRAP_NONE, WRAP_PREFIX};
	struct shape best = {.format = FORMAT_AUTO}, s;
	int most = 0;
	size_t skip;
	enum cut cut = parse_find_cut(first, &skip);
	first = str_from(first, skip);
	for (unsigned i = 0; i < WRAP_COUNT; i++)
		for (s = (struct shape){.wrap = wraps[i], .cut = cut, .skip = skip};
		     s.format < FORMAT_ORACLE; s.format++) {
			int is = is_tried(&s, wanted) ? score(first, lines, &s, own) : 0;
			if (is > most) {
				most = is;
				best = s;
			}
		}
	return best;
}

struct shape
parse_detect(struct str first, enum format wanted, struct roles_own *own)
{
	bool any = wanted == FORMAT_AUTO;
	if (wanted == FORMAT_ORACLE || (any && parse_is_oracle(first)))
		return (struct shape){.format = FORMAT_ORACLE, .cut = CUT_RECORDS};
	struct shape best = best_of(first, TRY_LINES, wanted, own);
	if (best.format == FORMAT_AUTO)
		best = best_of(first, TRY_MORE, wanted, own);
	if (any && best.format == FORMAT_TRIPLE)
		best.format = parse_order_of_triples(first);
	if (best.format == FORMAT_AUTO)
		best.format = wanted;
	return best;
}
