/* orders.c - what POST /purge asks for, and what it is answered. */
#include "proxy/admin/orders.h"

#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"

#include <jansson.h>
#include <stdlib.h>

static const struct {
	enum forget_kind kind;
	const char *word;
	bool by_hand;
} kinds[] = {
#define ROW(id, number, word, by_hand, soft, argument, sentence) {FORGET_##id, word, by_hand},
	FORGET_ROWS(ROW)
#undef ROW
};

static const char usage[] = "send POST /purge?url=https://host/path, ?prefix=https://host/dir/, "
			    "?host=HOST, ?tag=TAG or ?all=1; several of them may stand together, "
			    "and soft=1 with each";

/* ---- reading --------------------------------------------------------------------------------- */

static bool
fail(struct orders *o, const char *sentence, struct str what)
{
	buf_printf(&o->wrong, "%s%.*s%s", what.n ? "\"" : "", (int)(what.n < 200 ? what.n : 200),
		   what.n ? what.p : "", what.n ? "\" " : "");
	buf_printf(&o->wrong, "%s", sentence);
	return false;
}

static bool
add(struct orders *o, enum forget_kind kind, struct str name)
{
	if (o->n == ORDERS_MOST)
		return fail(o,
			    "at most 10000 purges may be in one request; send the rest in "
			    "another",
			    (struct str){0});
	if (o->n == o->room) {
		o->room = o->room ? 2 * o->room : 8;
		o->list = mem_realloc(o->list, o->room * sizeof *o->list);
	}
	o->list[o->n++] = (struct purge_order){.kind = kind, .name = name};
	return true;
}

/* In place; false: a "%" without two digits. */
static bool
decode(char *p, size_t *n)
{
	size_t to = 0;
	for (size_t i = 0; i < *n; i++, to++) {
		p[to] = p[i] == '+' ? ' ' : p[i];
		if (p[i] != '%')
			continue;
		int hi = i + 2 < *n ? byte_hex(p[i + 1]) : -1;
		int lo = hi >= 0 ? byte_hex(p[i + 2]) : -1;
		if (lo < 0)
			return false;
		p[to] = (char)(hi << 4 | lo);
		i += 2;
	}
	*n = to;
	return true;
}

static bool
read_switch(struct orders *o, struct str name, struct str value, bool *out)
{
	*out = str_eq(value, STR("1")) || str_eq(value, STR("true"));
	if (*out || str_eq(value, STR("0")) || str_eq(value, STR("false")))
		return true;
	return fail(o, "is a switch: write 1 or 0", name);
}

static bool
read_wait(struct orders *o, struct str value)
{
	int64_t ms = 0;
	for (size_t i = 0; i < value.n && ms <= ORDERS_WAIT_MOST_MS; i++)
		ms = value.p[i] >= '0' && value.p[i] <= '9' ? 10 * ms + value.p[i] - '0'
							    : INT64_MAX / 20;
	o->wait_ms = ms;
	return (value.n && ms <= ORDERS_WAIT_MOST_MS) ||
	       fail(o, "is no number of milliseconds up to 10000", STR("wait"));
}

static bool
read_pair(struct orders *o, struct str name, struct str value, bool *all, bool *soft)
{
	if (str_eq(name, STR("wait")))
		return read_wait(o, value);
	if (str_eq(name, STR("soft")))
		return read_switch(o, name, value, soft);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!kinds[i].by_hand || !str_eq(name, str_of(kinds[i].word)))
			continue;
		if (kinds[i].kind == FORGET_ALL)
			return read_switch(o, name, value, all);
		return value.n ? add(o, kinds[i].kind, value) : fail(o, "has no value", name);
	}
	return fail(o, "is nothing that can be purged (an \"&\" within a value is written %26)",
		    name);
}

static bool
read_form(struct orders *o, char *p, size_t n)
{
	bool all = false, soft = false;
	for (size_t at = 0, end; at < n; at = end + 1) {
		const char *amp = memchr(p + at, '&', n - at);
		end = amp ? (size_t)(amp - p) : n;
		struct str name, value, pair = {p + at, end - at};
		if (!pair.n)
			continue;
		str_cut(pair, '=', &name, &value);
		if (value.n && !decode(p + (value.p - p), &value.n))
			return fail(o, "has a \"%\" without two digits behind it", name);
		if (!read_pair(o, name, value, &all, &soft))
			return false;
	}
	if (all && o->n)
		return fail(o, "all=1 covers everything else: send it alone", (struct str){0});
	if (all)
		add(o, FORGET_ALL, STR(""));
	for (unsigned i = 0; i < o->n; i++)
		o->list[i].soft = soft;
	return true;
}

static bool
is_url(struct str line)
{
	return str_starts(line, STR("http://")) || str_starts(line, STR("https://"));
}

static bool
read_lines(struct orders *o, struct str text)
{
	struct str line;
	while (text.n) {
		str_cut(text, '\n', &line, &text);
		while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
			line.n--;
		if (line.n && !is_url(line))
			return fail(o, "is no URL; a body has one in each line, or is a form",
				    line);
		if (line.n && !add(o, FORGET_URL, line))
			return false;
	}
	return true;
}

bool
orders_read(struct str query, struct str body, struct orders *out)
{
	struct str given = query.n ? query : body;
	*out = (struct orders){0};
	out->text = mem_alloc(given.n + 1);
	if (given.n)
		memcpy(out->text, given.p, given.n);
	struct str text = {out->text, given.n};
	bool lines = !query.n && is_url(text);
	while (!lines && text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
		text.n--;
	bool yes = lines ? read_lines(out, text) : read_form(out, out->text, text.n);
	if (yes && out->n)
		return true;
	if (!yes)
		buf_add_lit(&out->wrong, "; ");
	else
		buf_add_lit(&out->wrong, "the request does not say what to purge; ");
	buf_printf(&out->wrong, "%s\n", usage);
	return false;
}

void
orders_fini(struct orders *o)
{
	free(o->list);
	free(o->text);
	buf_fini(&o->wrong);
	*o = (struct orders){0};
}

/* ---- answering ------------------------------------------------------------------------------- */

static const char *
word_of(enum forget_kind kind)
{
	size_t i = 0;
	while (kinds[i].kind != kind)
		i++;
	return kinds[i].word;
}

/* Bytes that are not UTF-8 have no place in JSON. */
static json_t *
text_of(struct str s)
{
	json_t *text = json_stringn(s.p ? s.p : "", s.n);
	return text ? text : json_string("(not UTF-8)");
}

static json_t *
one(const struct purge_order *o, const struct purge_result *r)
{
	json_t *json = json_pack("{s:b, s:b, s:I}", "purged", r->found, "durable", r->durable,
				 "sequence", (json_int_t)r->sequence);
	json_object_set_new(json, word_of(o->kind),
			    o->kind == FORGET_ALL ? json_true() : text_of(o->name));
	if (o->soft)
		json_object_set_new(json, "soft", json_true());
	if (r->note)
		json_object_set_new(json, "note", json_string(r->note));
	return json;
}

static json_t *
several(const struct orders *o, const struct purge_result *r)
{
	json_t *list = json_array();
	bool found = false, durable = true;
	for (unsigned i = 0; i < o->n; i++) {
		found = found || r[i].found;
		durable = durable && r[i].durable;
		json_array_append_new(list, one(&o->list[i], &r[i]));
	}
	return json_pack("{s:b, s:b, s:I, s:o}", "purged", found, "durable", durable, "sequence",
			 (json_int_t)r[o->n - 1].sequence, "results", list);
}

void
orders_answer(const struct orders *o, const struct purge_result *r,
	      const struct purge_others *others, int *status, struct buf *out)
{
	*status = 200;
	for (unsigned i = 0; i < o->n; i++) {
		if (r[i].refused) {
			*status = 400;
			buf_printf(out, "%.*s: %s; nothing was purged\n",
				   (int)(o->list[i].name.n < 500 ? o->list[i].name.n : 500),
				   o->list[i].name.p, r[i].refused);
			return;
		}
		if (!r[i].durable)
			*status = 503;
	}
	if (*status == 200 && others->lack)
		*status = 202;
	json_t *json = o->n == 1 ? one(&o->list[0], &r[0]) : several(o, r);
	if (others->json)
		json_object_set_new(json, "fleet", json_loads(others->json, 0, NULL));
	char *text = json_dumps(json, JSON_PRESERVE_ORDER);
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
}
