/* cache_control.c - directives to facts. One table says which directive goes where; the shapes of
 * their values are few: none, seconds, a list of field names.
 */
#include "proxy/http/cache_control.h"

#include "proxy/http/structured.h"
#include "proxy/http/syntax.h"

#include <limits.h>

enum shape {
	FLAG,	 /* a bool; a value is ignored */
	SECONDS, /* struct secs; nonsense is 0: RFC 9111 4.2.1 encourages to take it as stale */
	SECONDS_MORE, /* struct secs that permits more: nonsense is not there */
	SECONDS_ANY,  /* the same, and a missing value means any number of them */
	FIELDS	      /* a bool, or a struct str of names when such are given */
};

struct directive {
	struct str name;
	enum shape shape;
	size_t at;     /* offset of the bool or struct secs */
	size_t fields; /* FIELDS: of the struct str; SECONDS_ANY: of the bool */
};

#define ROW(type, name, shape, member)                                  \
	{                                                               \
		STR_INIT(name), shape, offsetof(struct type, member), 0 \
	}
#define ROW2(type, name, shape, member, more)                                                     \
	{                                                                                         \
		STR_INIT(name), shape, offsetof(struct type, member), offsetof(struct type, more) \
	}

/* clang-format off */
static const struct directive request_directives[] = { /* RFC 9111 5.2.1, RFC 5861 4 */
	ROW (request_cc, "no-cache",       FLAG,         no_cache),
	ROW (request_cc, "no-store",       FLAG,         no_store),
	ROW (request_cc, "no-transform",   FLAG,         no_transform),
	ROW (request_cc, "only-if-cached", FLAG,         only_if_cached),
	ROW (request_cc, "max-age",        SECONDS,      max_age),
	ROW (request_cc, "min-fresh",      SECONDS,      min_fresh),
	ROW2(request_cc, "max-stale",      SECONDS_ANY,  max_stale, max_stale_any),
	ROW (request_cc, "stale-if-error", SECONDS_MORE, stale_if_error),
	{{NULL, 0}, FLAG, 0, 0},
};

static const struct directive response_directives[] = { /* RFC 9111 5.2.2, RFC 5861, RFC 8246 */
	ROW (response_cc, "max-age",                SECONDS,      max_age),
	ROW (response_cc, "s-maxage",               SECONDS,      s_maxage),
	ROW (response_cc, "public",                 FLAG,         public_),
	ROW2(response_cc, "private",                FIELDS,       private_, private_fields),
	ROW2(response_cc, "no-cache",               FIELDS,       no_cache, no_cache_fields),
	ROW (response_cc, "no-store",               FLAG,         no_store),
	ROW (response_cc, "must-revalidate",        FLAG,         must_revalidate),
	ROW (response_cc, "proxy-revalidate",       FLAG,         proxy_revalidate),
	ROW (response_cc, "must-understand",        FLAG,         must_understand),
	ROW (response_cc, "no-transform",           FLAG,         no_transform),
	ROW (response_cc, "immutable",              FLAG,         immutable),
	ROW (response_cc, "stale-while-revalidate", SECONDS_MORE, stale_while_revalidate),
	ROW (response_cc, "stale-if-error",         SECONDS_MORE, stale_if_error),
	{{NULL, 0}, FLAG, 0, 0},
};
/* clang-format on */

static const struct directive *
find(const struct directive *table, struct str name)
{
	for (; table->name.n; table++)
		if (str_ieq(table->name, name))
			return table;
	return NULL;
}

/* A directive's argument, without quotes (RFC 9111 5.2: both forms are to be accepted). */
struct argument {
	bool given, malformed;
	struct str text;
};

static struct argument
argument(struct str raw)
{
	struct argument a = {.given = true, .text = raw};
	if (raw.n && raw.p[0] == '"') {
		a.malformed = raw.n < 2 || raw.p[raw.n - 1] != '"' || memchr(raw.p, '\\', raw.n);
		a.text = a.malformed ? raw : (struct str){raw.p + 1, raw.n - 2};
	} else if (!str_is_token(raw)) {
		a.malformed = true; /* also: a space behind the "=" */
	}
	return a;
}

/* Of several the smaller counts: 4.2.1 allows the first or none at all. */
static void
set_seconds(struct secs *s, const struct argument *a, bool more)
{
	int64_t n = 0;
	bool ok = a->given && !a->malformed && digits_parse(a->text, &n);
	if (!ok && more)
		return;
	n = !ok ? 0 : n > SECS_MAX ? SECS_MAX : n;
	if (!s->known || n < s->n)
		*s = (struct secs)SECS(n);
}

enum { NAMES_MOST = 32 }; /* each is compared with every field */

/* no-cache="a, b" restricts itself to those fields; anything else, also two such lists, or a
 * longer list, is taken as the whole response (5.2.2.4, 5.2.2.7). */
static void
set_fields(bool *whole, struct str *fields, const struct argument *a)
{
	if (*whole)
		return;
	bool names = a->given && !a->malformed && a->text.n && !fields->n;
	struct str rest = a->text, name;
	unsigned n = 0;
	while (names && list_next(&rest, &name))
		names = str_is_token(name) && ++n <= NAMES_MOST;
	*fields = names ? a->text : (struct str){NULL, 0};
	*whole = !names;
}

static void
set(const struct directive *d, const struct argument *a, void *out)
{
	char *base = out;
	void *at = base + d->at, *more = base + d->fields;
	switch (d->shape) {
	case FLAG:
		*(bool *)at = true;
		break;
	case SECONDS_ANY:
		if (!a->given)
			*(bool *)more = true;
		/* fall through */
	case SECONDS:
	case SECONDS_MORE:
		set_seconds(at, a, d->shape != SECONDS);
		break;
	case FIELDS:
		set_fields(at, more, a);
		break;
	}
}

/* How many directives there were, known or not: all, or one more than most, which is not read. */
static unsigned
parse_lines(const struct fields *f, const struct directive *table, unsigned most, void *out)
{
	unsigned at = 0, n = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_CACHE_CONTROL, &at)) != NULL) {
		struct str rest = line->value, item, name, value;
		while (list_next(&rest, &item)) {
			struct argument a = {0};
			if (++n > most)
				return n;
			if (str_cut(item, '=', &name, &value))
				a = argument(value);
			const struct directive *d = find(table, str_trim(name));
			if (name.n != str_trim(name).n)
				a.malformed = true; /* "max-age =1" */
			if (d)
				set(d, &a, out);
		}
	}
	return n;
}

/* Of a request: there are not half as many. Of an answer all count. */
enum { ASKED_MOST = 64 };

/* RFC 9111 5.4. No member behind so many others counts. */
static bool
pragma_asks(const struct fields *f)
{
	unsigned at = 0, n = 0;
	const struct field *line;
	while ((line = fields_next(f, FIELD_PRAGMA, &at)) != NULL) {
		struct str rest = line->value, member;
		while (n++ < ASKED_MOST && list_next(&rest, &member))
			if (str_ieq(member, STR("no-cache")))
				return true;
	}
	return false;
}

/* In what is not read may be no-store, which alone concerns what becomes of the answer for others. Apart
 * from request_cc_parse, for most requests say nothing of the kind. */
__attribute__((noinline)) static void
parse_asked(const struct fields *f, struct request_cc *out)
{
	if (!fields_has(f, FIELD_CACHE_CONTROL))
		out->no_cache = pragma_asks(f);
	else if (parse_lines(f, request_directives, ASKED_MOST, out) > ASKED_MOST)
		out->no_store = true;
}

void
request_cc_parse(const struct fields *f, struct request_cc *out)
{
	*out = (struct request_cc){0};
	if (fields_has(f, FIELD_CACHE_CONTROL) || fields_has(f, FIELD_PRAGMA))
		parse_asked(f, out);
}

static void
parse_response(const struct fields *f, struct response_cc *out)
{
	*out = (struct response_cc){0};
	out->has_any = fields_has(f, FIELD_CACHE_CONTROL) &&
		       parse_lines(f, response_directives, UINT_MAX - 1, out) > 0;
}

/* Has a line "private=" or "no-cache=" in it? */
static bool
may_name_fields(struct str line)
{
	static const struct str names[] = {STR_INIT("private"), STR_INIT("no-cache")};
	struct str rest = line, before, after;
	for (; str_cut(rest, '=', &before, &after); rest = after)
		for (int i = 0; i < 2; i++)
			if (before.n >= names[i].n &&
			    str_ieq(str_from(before, before.n - names[i].n), names[i]))
				return true;
	return false;
}

bool
response_cc_parse_names(const struct fields *f, struct response_cc *out)
{
	unsigned at = 0;
	const struct field *line;
	*out = (struct response_cc){0};
	while ((line = fields_next(f, FIELD_CACHE_CONTROL, &at)) != NULL)
		if (may_name_fields(line->value)) {
			parse_response(f, out);
			return out->no_cache_fields.n || out->private_fields.n;
		}
	return false;
}

/* A member of a targeted field (RFC 9213 2.1). False: a value of a type the directive does not
 * have, which voids the field. */
static bool
set_member(const struct sf_member *m, struct response_cc *out)
{
	const struct directive *d = find(response_directives, m->key);
	if (!d)
		return true;
	char *base = (void *)out;
	bool *flag = (void *)(base + d->at);
	struct secs *secs = (void *)(base + d->at);
	switch (d->shape) {
	case FLAG:
		*flag = m->integer != 0;
		return m->type == SF_BOOLEAN;
	case FIELDS: /* names of fields: the whole response, which caches less */
		*flag = m->type != SF_BOOLEAN || m->integer;
		return true;
	default: /* the last of equal keys counts, RFC 8941 4.2.2 */
		*secs = (struct secs)SECS(m->integer < 0	  ? 0
					  : m->integer > SECS_MAX ? SECS_MAX
								  : m->integer);
		return m->type == SF_INTEGER;
	}
}

/* All lines of one targeted field; true when it is valid and not empty (RFC 9213 2.2). */
static bool
parse_targeted(const struct fields *f, struct str name, struct response_cc *out)
{
	unsigned at = 0;
	const struct field *line;
	struct sf_member m = {0};

	*out = (struct response_cc){0};
	while ((line = fields_next_named(f, name, &at)) != NULL) {
		struct str rest = line->value;
		enum sf_step step;
		while ((step = sf_dictionary_next(&rest, &m)) == SF_MEMBER) {
			out->has_any = true;
			if (!set_member(&m, out))
				return false;
		}
		if (step == SF_ERROR)
			return false;
	}
	return out->has_any;
}

bool
response_cc_select(const struct fields *f, struct str target, struct response_cc *out)
{
	if (target.n && parse_targeted(f, target, out))
		return true;
	if (fields_has(f, FIELD_CDN_CACHE_CONTROL) &&
	    parse_targeted(f, STR("cdn-cache-control"), out))
		return true;
	parse_response(f, out);
	return false;
}

struct secs
age_parse(const struct fields *f)
{
	struct str rest = fields_get(f, FIELD_AGE), first = {NULL, 0};
	int64_t n = 0;
	if (!list_next(&rest, &first) || !digits_parse(first, &n))
		return (struct secs){0};
	return (struct secs)SECS(n > SECS_MAX ? SECS_MAX : n);
}
