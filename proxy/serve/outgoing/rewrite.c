/* rewrite.c - a path is made, and then looked at: what a pattern puts together may be more than its parts.
 */
#include "proxy/serve/outgoing/rewrite.h"

#include "config/routes.h"
#include "proxy/base/mem.h"
#include "proxy/base/pattern.h"
#include "proxy/base/template.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"

#include <assert.h>
#include <stdlib.h>

struct rewrite {
	struct buf strip, add; /* in normal form, without a slash at the end; empty: none */
	struct pattern *from;  /* NULL: none */
	struct str to;	       /* a template */
};

static void
add_normal(struct str path, struct buf *out)
{
	size_t at = out->n;
	uri_add_unescaped(path, out);
	uri_remove_dots(out, at);
}

/* As a client sends it, and without a slash at its end. */
static void
take_prefix(const char *prefix, struct buf *out)
{
	struct buf ascii = {0};
	if (!prefix)
		return;
	uri_add_ascii(str_of(prefix), &ascii);
	add_normal(buf_str(&ascii), out);
	while (out->n && out->p[out->n - 1] == '/')
		out->n--;
	buf_fini(&ascii);
}

struct rewrite *
rewrite_create(const struct config_route *c)
{
	char err[200];
	const struct config_target *t = &c->target;
	if (!t->strip_prefix && !t->add_prefix && !t->rewrite.from)
		return NULL;
	struct rewrite *r = NEW(struct rewrite);
	take_prefix(t->strip_prefix, &r->strip);
	take_prefix(t->add_prefix, &r->add);
	if (t->rewrite.from) {
		r->from = pattern_create(t->rewrite.from, err, sizeof err);
		assert(r->from);
		r->to = str_of(t->rewrite.to);
	}
	return r;
}

void
rewrite_destroy(struct rewrite **rp)
{
	struct rewrite *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	buf_fini(&r->strip);
	buf_fini(&r->add);
	pattern_destroy(&r->from);
	free(r);
}

/* ---- what comes of it ----------------------------------------------------------------------- */

static bool
has_whole_encodings(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '%' &&
		    (i + 2 >= s.n || byte_hex(s.p[i + 1]) < 0 || byte_hex(s.p[i + 2]) < 0))
			return false;
	return true;
}

static bool
is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* A segment is ".." where parameters (";a") do not count. */
static bool
has_dots(struct str path)
{
	for (size_t i = 0; i + 2 < path.n; i++) {
		bool ends = i + 3 == path.n || is_slash(path.p[i + 3]) || path.p[i + 3] == ';';
		if (is_slash(path.p[i]) && path.p[i + 1] == '.' && path.p[i + 2] == '.' && ends)
			return true;
	}
	return false;
}

/* In a reading of a server that decodes twice, which has all that other readings have. */
static bool
may_have_dots(struct str path)
{
	struct buf once = {0}, twice = {0};
	if (!path.n || !memchr(path.p, '%', path.n))
		return has_dots(path);
	uri_add_decoded(path, &once);
	uri_add_decoded(buf_str(&once), &twice);
	bool has = has_dots(buf_str(&twice));
	buf_fini(&once);
	buf_fini(&twice);
	return has;
}

static bool
is_sound(struct str target)
{
	struct str path = str_before(target, '?');
	bool one_slash = path.n && path.p[0] == '/' && (path.n == 1 || !is_slash(path.p[1]));
	return one_slash && str_is(target, BYTE_TARGET) && has_whole_encodings(target) &&
	       !may_have_dots(path);
}

/* ---- the way there -------------------------------------------------------------------------- */

static struct str
without_slashes(struct str s)
{
	while (s.n && s.p[0] == '/')
		s = str_from(s, 1);
	return s;
}

/* It is that, or begins with it and a slash. */
static bool
is_below(struct str path, struct str prefix)
{
	return str_starts(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
}

static void
add_to_query(struct str s, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr("&;=+", s.p[i]))
			buf_printf(out, "%%%02X", (unsigned char)s.p[i]);
		else
			buf_add(out, &s.p[i], 1);
}

static void
expand(struct str to, const struct str *captures, struct buf *out)
{
	struct str text;
	enum template_piece p;
	bool in_query = false;
	while ((p = template_next(&to, &text)) != TEMPLATE_END)
		if (p == TEMPLATE_TEXT) {
			in_query |= memchr(text.p, '?', text.n) != NULL;
			buf_add_str(out, text);
		} else if (in_query) {
			add_to_query(captures[text.p[1] - '0'], out);
		} else {
			buf_add_str(out, captures[text.p[1] - '0']);
		}
}

/* Appends the path to what add_prefix says. It has one slash at the beginning; none where nothing of it is left, and
 * add_prefix has one. */
static void
add_below(const struct rewrite *r, struct str path, struct buf *out)
{
	buf_add_str(out, buf_str(&r->add));
	if (path.n || !r->add.n)
		buf_add_lit(out, "/");
	buf_add_str(out, without_slashes(path));
}

/* Appends what comes of a path in normal form; nothing: as it came. */
static void
change(const struct rewrite *r, struct str path, struct buf *out)
{
	struct str captures[PATTERN_CAPTURES];
	struct buf made = {0};
	bool changed = r->add.n > 0;
	if (r->strip.n && is_below(path, buf_str(&r->strip))) {
		path = str_from(path, r->strip.n);
		changed = true;
	}
	/* A pattern is told of a path as it would be asked for. */
	struct str whole = path.n ? path : STR("/");
	if (r->from && pattern_match(r->from, whole, captures)) {
		expand(r->to, captures, &made);
		path = buf_str(&made);
		changed = true;
	}
	if (changed)
		add_below(r, path, out);
	buf_fini(&made);
}

const struct fault *
rewrite_path(const struct rewrite *r, struct str path_query, struct buf *out)
{
	struct buf normal = {0};
	const struct fault *fault = NULL;
	size_t at = out->n;
	struct str path = str_before(path_query, '?');
	if (!str_starts(path, STR("/"))) /* OPTIONS * */
		return NULL;
	if (r->from && path.n > PATTERN_TEXT_MOST)
		return &fault_REWRITE_LENGTH;
	add_normal(path, &normal);
	struct str slashed = without_slashes(buf_str(&normal));
	path = (struct str){slashed.p - 1, slashed.n + 1};
	change(r, path, out);
	if (out->n > at && !is_sound(str_from(buf_str(out), at))) {
		out->n = at;
		fault = &fault_REWRITE;
	}
	buf_fini(&normal);
	return fault;
}

/* ---- and back ------------------------------------------------------------------------------- */

bool
rewrite_back(const struct rewrite *r, struct str path, struct buf *out)
{
	struct buf there = {0};
	struct str add = buf_str(&r->add);
	size_t at = out->n;
	if (r->from || !is_below(path, add))
		return false;
	buf_add_str(out, buf_str(&r->strip));
	buf_add_str(out, str_from(path, add.n));
	if (out->n == at)
		buf_add_lit(out, "/");
	bool exact = !rewrite_path(r, str_from(buf_str(out), at), &there) &&
		     str_eq(buf_str(&there), path);
	buf_fini(&there);
	if (!exact)
		out->n = at;
	return exact;
}
