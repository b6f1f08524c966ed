/* purge_method.c - the forms of PURGE that are in use, and what is read as none of them. */
#include "proxy/serve/rules/purge_method.h"

#include "proxy/http/syntax.h"

enum { TAGS_MOST = 1000, PREFIX_BYTES_MOST = 2048 };

/* Fields by which plugins name tags in a PURGE, and the field of answers that those tags are of. */
static const struct alias {
	struct str name, of;
	bool soft, pattern;
} aliases[] = {
	{STR_INIT("xkey-purge"), STR_INIT("xkey"), false, false},
	{STR_INIT("xkey-softpurge"), STR_INIT("xkey"), true, false},
	{STR_INIT("purge-cache-tags"), STR_INIT("cache-tags"), false, false},
	{STR_INIT("x-magento-tags-pattern"), STR_INIT("x-magento-tags"), false, true},
};

static const char no_pattern[] =
	"a pattern is understood at the end of a path alone: PURGE /blog/* covers all that begins with "
	"/blog/, and PURGE /* the host; with X-Purge-Method: exact a * is a letter like others\n";

static const struct alias *
alias_of(struct str name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (str_ieq(name, aliases[i].name))
			return &aliases[i];
	return NULL;
}

static bool
are_read(const struct tag_settings *tags, struct str name)
{
	for (unsigned i = 0; i < tags->names_n; i++)
		if (str_ieq(tags->names[i], name))
			return true;
	return false;
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* "((^|,)cat_1(,|$))": a tag as this plugin writes it, a whole word of the list. */
static bool
next_in_pattern(struct str value, unsigned *at, struct str *tag)
{
	static const struct str front = STR_INIT("((^|,)"), back = STR_INIT("(,|$))");
	struct str rest = str_from(value, *at);
	size_t n = 0;
	if (*at && !str_starts(rest, STR("|")))
		return false;
	rest = str_from(rest, *at ? 1 : 0);
	if (!str_starts(rest, front))
		return false;
	rest = str_from(rest, front.n);
	while (n < rest.n && (byte_is(rest.p[n], BYTE_UNRESERVED) && rest.p[n] != '.'))
		n++;
	if (!n || !str_starts(str_from(rest, n), back))
		return false;
	*tag = (struct str){rest.p, n};
	*at = (unsigned)(value.n - rest.n + n + back.n);
	return true;
}

static bool
next_in_list(struct str value, unsigned *at, struct str *tag)
{
	struct str rest = str_from(value, *at);
	bool any = tags_next(&rest, tag);
	*at = (unsigned)(value.n - rest.n);
	return any;
}

bool
purge_method_next_tag(const struct request *rq, const struct tag_settings *tags,
		      struct purge_request *r, struct str *tag)
{
	for (; r->field < rq->fields.n; r->field++, r->at = 0) {
		const struct field *f = &rq->fields.v[r->field];
		const struct alias *a = alias_of(f->name);
		if (!a && !tags_is_field(tags, f))
			continue;
		if (a && a->pattern ? next_in_pattern(f->value, &r->at, tag)
				    : next_in_list(f->value, &r->at, tag))
			return true;
		if (r->at < f->value.n) /* a pattern that says something else */
			return false;
	}
	return false;
}

/* All of them can be read, and there are some. */
static const char *
read_tags(const struct request *rq, const struct tag_settings *tags, struct purge_request *out)
{
	struct purge_request r = *out;
	struct str tag;
	unsigned n = 0;
	while (purge_method_next_tag(rq, tags, &r, &tag))
		if (++n > TAGS_MOST)
			return "a PURGE has 1000 tags at most\n";
	if (r.field < rq->fields.n)
		return "a pattern of tags is a list of whole ones: ((^|,)a(,|$))|((^|,)b(,|$))\n";
	return n ? NULL : "the field that is for tags has none\n";
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool
has_word(struct str name, const char *word)
{
	struct str w = str_of(word);
	for (size_t i = 0; i + w.n <= name.n; i++)
		if (str_ieq((struct str){name.p + i, w.n}, w))
			return true;
	return false;
}

/* A name that means something to another cache's PURGE, and nothing here. */
static bool
is_about_purging(struct str name)
{
	static const char *const words[] = {"purge",   "xkey",	  "surrogate-key", "cache-tag",
					    "-tags",   "tags-",	  "invalidat",	   "regex",
					    "pattern", "ban-url", "x-ban"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(name, words[i]))
			return true;
	return false;
}

static bool
is_one_of(struct str s, const char *const *words)
{
	for (; *words; words++)
		if (str_ieq(s, str_of(*words)))
			return true;
	return false;
}

static const char *
read_soft(struct str value, struct purge_request *out)
{
	static const char *const yes[] = {"1", "true", "yes", "on", NULL};
	static const char *const no[] = {"", "0", "false", "no", "off", NULL};
	if (is_one_of(value, yes))
		out->soft = true;
	else if (!is_one_of(value, no))
		return "Soft-Purge is 1 or 0\n";
	return NULL;
}

struct manner {
	bool exact, regex;
};

static const char *
read_method(struct str value, struct manner *m)
{
	static const char *const exact[] = {"default", "exact", "single", "url", NULL};
	m->exact = is_one_of(value, exact);
	m->regex = str_ieq(value, STR("regex"));
	return m->exact || m->regex ? NULL : "X-Purge-Method is exact or regex\n";
}

static const char *
read_alias(const struct alias *a, const struct tag_settings *tags, struct purge_request *out)
{
	out->kind = FORGET_TAG;
	out->soft |= a->soft;
	return are_read(tags, a->of)
		       ? NULL
		       : "the tags that this names are not read: cache.tag_headers does "
			 "not name their field of answers\n";
}

static const char *
read_field(const struct field *f, const struct tag_settings *tags, struct manner *m,
	   struct purge_request *out)
{
	const struct alias *a = alias_of(f->name);
	if (str_ieq(f->name, STR("soft-purge")) || str_ieq(f->name, STR("fastly-soft-purge")))
		return read_soft(f->value, out);
	if (str_ieq(f->name, STR("x-purge-method")))
		return read_method(f->value, m);
	if (a)
		return read_alias(a, tags, out);
	if (tags_is_field(tags, f)) {
		out->kind = FORGET_TAG;
		return NULL;
	}
	return is_about_purging(f->name)
		       ? "a field of this PURGE is not understood: there are Soft-Purge, "
			 "X-Purge-Method, and those that cache.tag_headers names\n"
		       : NULL;
}

/* ---- the path -------------------------------------------------------------------------------- */

static const char *
read_path(struct str path_query, struct manner m, struct purge_request *out)
{
	const char *star = memchr(path_query.p, '*', path_query.n);
	bool all = str_eq(path_query, STR("/.*"));
	size_t before = star ? (size_t)(star - path_query.p) : path_query.n;
	if (m.regex && !all)
		return "of regular expressions /.* alone is understood, which covers the host; PURGE "
		       "/blog/* covers all that begins with /blog/\n";
	if (!star || m.exact)
		return NULL;
	bool ends = before + 1 == path_query.n && !memchr(path_query.p, '?', path_query.n);
	bool is_glob = ends && before && path_query.p[before - 1] != '.';
	if ((!is_glob && !all) || before >= PREFIX_BYTES_MOST)
		return no_pattern;
	out->kind = FORGET_PREFIX;
	out->prefix = (struct str){path_query.p, all ? 1 : before};
	return NULL;
}

const char *
purge_method_read(const struct request *rq, const struct tag_settings *tags,
		  struct purge_request *out)
{
	struct manner m = {0};
	*out = (struct purge_request){.kind = FORGET_URL};
	for (unsigned i = 0; i < rq->fields.n; i++) {
		const char *no = read_field(&rq->fields.v[i], tags, &m, out);
		if (no)
			return no;
	}
	return out->kind == FORGET_TAG ? read_tags(rq, tags, out)
				       : read_path(rq->path_query, m, out);
}
