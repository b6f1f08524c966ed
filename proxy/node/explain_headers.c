/* explain_headers.c - a sentence for each header: what became of it, by what goes out and by which
 * terms came of it.
 */
#include "proxy/node/explain_headers.h"

#include "config/config.h"
#include "config/groups.h"
#include "proxy/http/syntax.h"
#include "proxy/node/explain_why.h"

#include <strings.h>

json_t *
explain_text(struct str s)
{
	struct buf b = {0};
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if ((c >= 0x20 && c < 0x7f) || c == '\n')
			buf_add(&b, &s.p[i], 1);
		else
			buf_printf(&b, "\\x%02X", c);
	}
	json_t *text = json_stringn(b.n ? b.p : "", b.n);
	buf_fini(&b);
	return text;
}

/* ---- of a request ---------------------------------------------------------------------------- */

/* The value of the first line with this name among lines as they are sent. */
static bool
find_line(struct str lines, struct str name, struct str *value)
{
	while (lines.n) {
		struct str line = str_before(lines, '\r');
		lines = str_from(lines, line.n + 2 < lines.n ? line.n + 2 : lines.n);
		struct str its = str_before(line, ':');
		if (!str_ieq(its, name) || its.n == line.n)
			continue;
		*value = str_trim(str_from(line, its.n + 1));
		return true;
	}
	return false;
}

static bool
is_key_header(const struct key_rules *rules, struct str name)
{
	for (unsigned i = 0; i < rules->header_count; i++)
		if (str_ieq(rules->headers[i], name))
			return true;
	for (unsigned i = 0; i < rules->header_star_count; i++) {
		struct str with = rules->header_stars[i];
		if (name.n >= with.n && strncasecmp(name.p, with.p, with.n) == 0)
			return true;
	}
	return false;
}

static bool
is_condition(enum field_id id)
{
	return id == FIELD_IF_NONE_MATCH || id == FIELD_IF_MODIFIED_SINCE || id == FIELD_IF_MATCH ||
	       id == FIELD_IF_UNMODIFIED_SINCE || id == FIELD_RANGE || id == FIELD_IF_RANGE;
}

static const char *
does_by_itself(const struct outgoing *o, enum field_id id, enum client_directives client)
{
	if (id == FIELD_HOST)
		return "It is part of the URL.";
	if (is_condition(id) && o->shared)
		return "The cache answers it from the whole object.";
	if (id == FIELD_AUTHORIZATION)
		return "The answer is stored only where the origin says that it may be (RFC 9111 3.5).";
	if (id == FIELD_COOKIE)
		return "The answer gets no guessed lifetime.";
	if (id != FIELD_CACHE_CONTROL && id != FIELD_PRAGMA)
		return NULL;
	if (client == CLIENT_IGNORE)
		return "Only no-store and only-if-cached count (cache.client_directives: ignore).";
	return client == CLIENT_VALIDATE
		       ? "A wish to reload makes a fresh answer be validated (cache.client_directives)."
		       : "It is obeyed (cache.client_directives).";
}

static const char *
does_on_the_way(const struct str *sent, struct str value, const char *key)
{
	if (!sent)
		return "It is not sent to the origin.";
	if (key)
		return key[0] == 'p' ? "It is part of the key, and is sent to the origin."
				     : "The answer varies on it: it chooses the variant.";
	return str_eq(*sent, value) ? "It is sent to the origin as it is."
				    : "The origin is sent another value.";
}

json_t *
explain_request_headers(const struct outgoing *o, struct str primary, struct str names,
			enum client_directives client)
{
	struct buf lines = {0};
	struct outgoing_asks asks = {.as_it_came = !o->shared, .wishes = !o->shared};
	const struct fields *f = &o->rq->fields;
	json_t *all = json_array();
	outgoing_fields(o, primary, &asks, &lines);
	for (unsigned i = 0; i < f->n; i++) {
		struct str value;
		const struct field *v = &f->v[i];
		enum field_id id = field_id_of(v->name);
		bool sent = find_line(buf_str(&lines), v->name, &value);
		const char *key = is_key_header(o->rules, v->name) ? "primary"
				  : list_has(names, v->name)	   ? "variant"
								   : NULL;
		const char *does = key ? NULL : does_by_itself(o, id, client);
		if (!does)
			does = does_on_the_way(sent ? &value : NULL, v->value, key);
		json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:s?, s:s}", "name",
						     explain_text(v->name), "value",
						     explain_text(v->value), "origin",
						     sent ? explain_text(value) : json_null(),
						     "key", key, "does", does));
	}
	buf_fini(&lines);
	return all;
}

/* ---- of a stored answer ---------------------------------------------------------------------- */

/* One of these says how long the answer may be used; the others do not count. */
struct life {
	bool targeted;
	struct response_cc cc;
	enum {
		LIFE_SETTING,
		LIFE_S_MAXAGE,
		LIFE_MAX_AGE,
		LIFE_EXPIRES,
		LIFE_GUESSED,
		LIFE_NONE
	} by;
};

static struct life
life_of(const struct response *r, const struct policy_settings *set, const struct terms *t)
{
	struct life l = {0};
	l.targeted = response_cc_select(&r->fields, set->target, &l.cc);
	bool set_here = policy_ttl(set, r).known && !policy_is_event_stream(&r->fields);
	l.by = set_here						      ? LIFE_SETTING
	       : l.cc.s_maxage.known				      ? LIFE_S_MAXAGE
	       : l.cc.max_age.known				      ? LIFE_MAX_AGE
	       : explain_life(t, set) == EXPLAIN_GUESSED	      ? LIFE_GUESSED
	       : !l.targeted && fields_has(&r->fields, FIELD_EXPIRES) ? LIFE_EXPIRES
								      : LIFE_NONE;
	return l;
}

static void
add_sentence(struct buf *b, const char *s)
{
	buf_printf(b, "%s%s", b->n ? " " : "", s);
}

static void
add_directives(struct buf *b, const struct life *l, const struct terms *t)
{
	const struct response_cc *cc = &l->cc;
	if (l->by == LIFE_S_MAXAGE || l->by == LIFE_MAX_AGE)
		buf_printf(b, "%s says that it is fresh for %lld s.",
			   l->by == LIFE_S_MAXAGE ? "s-maxage" : "max-age", (long long)t->lifetime);
	if (l->by == LIFE_SETTING)
		buf_printf(b, "The route says that it is fresh for %lld s (cache.ttl).",
			   (long long)t->lifetime);
	if (t->flags & TERMS_NO_CACHE)
		add_sentence(b, "no-cache makes the origin be asked before each use.");
	if (cc->s_maxage.known)
		add_sentence(b, "s-maxage forbids to use it stale.");
	else if (t->flags & TERMS_MUST_REVALIDATE)
		add_sentence(b, "must-revalidate or proxy-revalidate forbids to use it stale.");
	if (t->flags & TERMS_IMMUTABLE)
		add_sentence(b, "immutable: while it is fresh, reloads are answered from here.");
	if (cc->stale_while_revalidate.known || cc->stale_if_error.known)
		buf_printf(
			b,
			"%sIt may be used stale for %ld s while it is validated, and for %ld s when the "
			"origin fails.",
			b->n ? " " : "", (long)t->stale_while_revalidate, (long)t->stale_if_error);
	if (cc->no_cache_fields.n || cc->private_fields.n)
		add_sentence(b, "The fields that it names are not stored.");
	if (cc->public_)
		add_sentence(b, "public lets it be stored where it would not be otherwise.");
	if (!b->n)
		add_sentence(b, "Nothing in it counts for a shared cache.");
}

static bool
is_targeted(struct str name, const struct policy_settings *set)
{
	return (set->target.n && str_ieq(name, set->target)) ||
	       str_ieq(name, STR("cdn-cache-control"));
}

static void
add_effect(struct buf *b, const struct field *f, const struct life *l, const struct terms *t,
	   const struct policy_settings *set)
{
	enum field_id id = field_id_of(f->name);
	if (is_targeted(f->name, set) && l->targeted)
		add_directives(b, l, t);
	else if (id == FIELD_CACHE_CONTROL && l->targeted)
		add_sentence(b, "It does not count beside the targeted field (RFC 9213).");
	else if (id == FIELD_CACHE_CONTROL)
		add_directives(b, l, t);
	else if (id == FIELD_EXPIRES)
		add_sentence(b, l->by == LIFE_EXPIRES ? "It says how long the answer is fresh."
						      : "It does not count: another field says how "
							"long the answer is fresh.");
	else if (id == FIELD_LAST_MODIFIED)
		add_sentence(
			b,
			l->by == LIFE_GUESSED
				? "The lifetime was guessed from it, and it validates the answer."
				: "It validates the answer.");
	else if (id == FIELD_ETAG)
		add_sentence(b,
			     "It validates the answer, and joins ranges of it where it is strong.");
	else if (id == FIELD_VARY)
		add_sentence(b, "The fields that it names choose the variant.");
	else if (id == FIELD_AGE)
		add_sentence(b, "It says how old the answer was when it came.");
	else if (id == FIELD_DATE)
		add_sentence(b, "The age of the answer counts from that time.");
}

json_t *
explain_stored_headers(const struct response *r, const struct policy_settings *set,
		       const struct terms *t)
{
	struct life l = life_of(r, set, t);
	json_t *all = json_array();
	for (unsigned i = 0; i < r->fields.n; i++) {
		struct buf does = {0};
		const struct field *f = &r->fields.v[i];
		add_effect(&does, f, &l, t, set);
		if (does.n)
			json_array_append_new(all, json_pack("{s:o, s:o, s:s%}", "name",
							     explain_text(f->name), "value",
							     explain_text(f->value), "does", does.p,
							     does.n));
		buf_fini(&does);
	}
	return all;
}

/* ---- where a fetch would go -------------------------------------------------------------------- */

static bool
has_host(const json_t *hosts, struct str host)
{
	size_t i;
	json_t *one;
	json_array_foreach(hosts, i, one)
	{
		if (str_ieq(str_of(json_string_value(one)), host))
			return true;
	}
	return false;
}

/* A list, for each server may have a Host of its own. */
static json_t *
hosts_of(const struct config *c, unsigned group, struct str client)
{
	json_t *hosts = json_array();
	unsigned n = config_member_count(c);
	for (unsigned i = 0; i < n; i++) {
		struct config_member m;
		config_member(c, i, &m);
		struct str host = m.origin->host ? str_of(m.origin->host) : client;
		if (m.group == group && !has_host(hosts, host))
			json_array_append_new(hosts, explain_text(host));
	}
	return hosts;
}

static json_t *
joined(const json_t *list)
{
	struct buf b = {0};
	size_t i;
	json_t *one;
	json_array_foreach(list, i, one)
	{
		buf_printf(&b, "%s%s", i ? ", " : "", json_string_value(one));
	}
	json_t *text = json_stringn(b.n ? b.p : "", b.n);
	buf_fini(&b);
	return text;
}

json_t *
explain_origin(const struct config *c, unsigned group, const struct outgoing *o, struct str primary)
{
	bool has = group < config_group_count(c);
	json_t *hosts = hosts_of(c, group, outgoing_host(o, primary));
	struct buf target = {0};
	json_t *origin = json_pack("{s:o, s:o, s:o}", "group",
				   has ? json_string(config_group_name(c, group)) : json_null(),
				   "host", joined(hosts), "target",
				   explain_text(outgoing_target(o, primary, &target)));
	buf_fini(&target);
	json_decref(hosts);
	return origin;
}
