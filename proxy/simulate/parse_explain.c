/* parse_explain.c - what was looked for in a log of which no format is known, and what to say. */
#include "proxy/simulate/parse_inside.h"

#include <ctype.h>

enum { NAMES_BYTES = 240, PATH_BYTES = 120, LEVELS = 4, NAMES_SHOWN = 7, LINE_SHOWN = 80 };

/* The names of a log, and which of the two facts that it must tell were found. */
struct look {
	struct roles_own *own;
	struct buf names;
	char time[PATH_BYTES], target[PATH_BYTES]; /* names that may be of them, for an example */
	bool has_time, has_object;
};

static bool
holds(struct str name, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= name.n; i++)
		if (strncasecmp(name.p + i, word, n) == 0)
			return true;
	return false;
}

static void
keep(char to[PATH_BYTES], struct str name)
{
	if (!*to && name.n < PATH_BYTES && !memchr(name.p, '"', name.n)) {
		memcpy(to, name.p, name.n);
		to[name.n] = 0;
	}
}

static void
note_name(struct look *l, struct str name)
{
	unsigned rank;
	enum role role = roles_find(l->own, name, &rank);
	l->has_time = l->has_time || role == ROLE_TIME;
	l->has_object = l->has_object || role == ROLE_TARGET || role == ROLE_REQUEST;
	if (holds(name, "time") || holds(name, "date"))
		keep(l->time, name);
	if (holds(name, "url") || holds(name, "uri") || holds(name, "path"))
		keep(l->target, name);
	if (l->names.n > NAMES_BYTES)
		return;
	if (l->names.n)
		buf_add_lit(&l->names, ", ");
	buf_add_str(&l->names, name);
	if (l->names.n > NAMES_BYTES)
		buf_add_lit(&l->names, ", ...");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* The names of the objects that lie around, as a.b. */
struct path {
	char text[PATH_BYTES];
	size_t ends[LEVELS + 1]; /* ends[i]: of the name of level i */
	int level;
};

/* False: it is too long, or too deep. */
static bool
enter(struct path *at, struct str name)
{
	if (at->level < 0 || at->level >= LEVELS)
		return false;
	size_t n = at->ends[at->level];
	if (n + name.n + 1 >= PATH_BYTES)
		return false;
	if (n)
		at->text[n++] = '.';
	memcpy(at->text + n, name.p, name.n);
	at->ends[at->level + 1] = n + name.n;
	return true;
}

static void
look_at_object(struct look *l, struct str s)
{
	struct path at = {.level = -1};
	struct str name = {0};
	int arrays = 0;
	while (s.n) {
		char c = s.p[0];
		s = str_from(s, 1);
		arrays += (c == '[') - (c == ']');
		if (arrays == 0)
			at.level += (c == '{') - (c == '}');
		if (c != '"')
			continue;
		if (!parse_take_quoted(&s, &name))
			return;
		s = str_trim(s);
		if (!s.n || s.p[0] != ':' || arrays || !enter(&at, name))
			continue;
		s = str_trim(str_from(s, 1));
		if (s.n && s.p[0] != '{' && s.p[0] != '[')
			note_name(l, (struct str){at.text, at.ends[at.level + 1]});
	}
}

static void
look_at_json(struct look *l, struct str first)
{
	struct parsing p;
	struct entry e = {.status = ENTRY_NO_STATUS};
	struct str line;
	parse_cut(&first, CUT_OBJECTS, &line);
	look_at_object(l, line);
	parse_init(&p, &(struct shape){.format = FORMAT_JSON}, l->own);
	bool good = parse_json(&p, line, &e);
	l->has_time = e.has_time;
	l->has_object = good && (e.target.n || e.has_id);
	parse_fini(&p);
}

/* ---- columns ------------------------------------------------------------------------------- */

static char
delimiter_of(struct str line)
{
	static const char all[] = "\t,;|";
	for (const char *d = all; *d; d++)
		if (line.n && memchr(line.p, *d, line.n))
			return *d;
	return 0;
}

static bool
are_names(struct str line, char delimiter)
{
	while (line.n) {
		struct str name = str_trim(str_before(line, delimiter));
		line = str_from(line, str_before(line, delimiter).n + 1);
		if (!name.n ||
		    (!isalpha((unsigned char)name.p[0]) && !strchr("\"_@:#", name.p[0])) ||
		    name.n > PATH_BYTES / 2)
			return false;
	}
	return true;
}

static void
look_at_titles(struct look *l, struct str line, char delimiter)
{
	while (line.n) {
		struct str name = str_before(line, delimiter);
		line = str_from(line, name.n + 1);
		name = str_trim(name);
		if (name.n >= 2 && name.p[0] == '"')
			name = (struct str){name.p + 1, name.n - 2};
		note_name(l, name);
	}
}

/* ---- what to say --------------------------------------------------------------------------- */

static void
add_names_of(struct buf *out, enum role role)
{
	const char *const *names = roles_names(role);
	for (int i = 0; i < NAMES_SHOWN && names[i]; i++)
		buf_printf(out, "%s%s", i ? ", " : "", names[i]);
	buf_add_lit(out, ", ...");
}

static void
say_names(struct buf *out, const struct look *l, const char *what)
{
	const char *missing = l->has_time     ? "URL and no id of an object"
			      : l->has_object ? "time"
					      : "time and no URL";
	buf_printf(out, "its %s, but no %s is among their names: ", what, missing);
	buf_add_str(out, buf_str(&l->names));
	buf_add_lit(out, ". Looked for were ");
	if (!l->has_time)
		add_names_of(out, ROLE_TIME);
	if (!l->has_time && !l->has_object)
		buf_add_lit(out, " and ");
	if (!l->has_object)
		add_names_of(out, ROLE_TARGET);
	buf_add_lit(out, ". Name it, such as");
	if (!l->has_time)
		buf_printf(out, " --field time=%s", *l->time ? l->time : "event.created");
	if (!l->has_object)
		buf_printf(out, " --field target=%s", *l->target ? l->target : "request.url");
}

static void
say_line(struct buf *out, struct str line)
{
	buf_add_lit(out, "its format is not known. Line 1 is \"");
	for (size_t i = 0; i < line.n && i < LINE_SHOWN; i++)
		buf_printf(out, "%c", isprint((unsigned char)line.p[i]) ? line.p[i] : '?');
	buf_printf(out, "%s\"; ", line.n > LINE_SHOWN ? "..." : "");
}

void
parse_explain(struct str first, struct roles_own *own, struct buf *out)
{
	struct look l = {.own = own};
	struct str line = str_trim(str_before(first, '\n'));
	char delimiter = delimiter_of(line);
	while (first.n && isspace((unsigned char)first.p[0]))
		first = str_from(first, 1);
	if (first.n && (first.p[0] == '{' || str_starts(first, STR("[{")))) {
		look_at_json(&l, first);
		say_names(out, &l, "lines are JSON");
	} else if (delimiter && are_names(line, delimiter)) {
		look_at_titles(&l, line, delimiter);
		say_names(out, &l, "first line names columns");
	} else if (delimiter) {
		say_line(out, line);
		buf_add_lit(out,
			    "if these are columns, write a first line that names them, such as "
			    "time,url,status,bytes, and name others with --field target=my_url");
	} else {
		say_line(out, line);
		buf_printf(
			out,
			"name it with --format (%s), or make it columns or JSON, whose names can "
			"be told: --field target=request.url",
			parse_words());
	}
	buf_fini(&l.names);
}
