/* print.c - settings as YAML that reads back to the same,
 * each with its sentence; and which differ. */
#include "config/changes.h"
#include "config/config.h"
#include "config/load.h"
#include "config/name.h"
#include "config/print.h"
#include "config/schema.h"
#include "config/units.h"
#include "proxy/base/buf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ------------------------------------------------------------------------------ */

/* Words that YAML reads as themselves without quotes. */
static bool
is_plain(const char *z)
{
	size_t n = strlen(z);
	if (n == 0 || strcmp(z, "null") == 0 || !(isalpha((unsigned char)*z) || *z == '/'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)z[i]) && !strchr("/._:-", z[i]))
			return false;
	return z[n - 1] != ':';
}

static void
print_text(const char *z, struct buf *to)
{
	if (is_plain(z)) {
		buf_add(to, z, strlen(z));
		return;
	}
	buf_add_lit(to, "\"");
	for (; *z; z++) {
		if (*z == '\n' || *z == '\t') {
			buf_printf(to, *z == '\n' ? "\\n" : "\\t");
			continue;
		}
		if (*z == '"' || *z == '\\')
			buf_add_lit(to, "\\");
		if (*z == '$' && z[1] == '{') /* else it would be a variable (expand.h) */
			buf_add_lit(to, "$");
		buf_add(to, z, 1);
	}
	buf_add_lit(to, "\"");
}

static void
print_word(const char *words, unsigned i, struct buf *to)
{
	for (; i; i--)
		words += strcspn(words, "|") + 1;
	buf_add(to, words, strcspn(words, "|"));
}

static void
print_number(const struct setting *s, const void *at, struct buf *to)
{
	char text[UNITS_BYTES];
	uint64_t v = s->bytes == sizeof(unsigned) ? *(const unsigned *)at : *(const uint64_t *)at;
	bool word = v == 0 && s->words;
	v -= s->plus_one && v;
	if (s->kind == KIND_WORD)
		print_word(s->words, (unsigned)v, to);
	else if (word)
		buf_printf(to, "%s", s->words);
	else if (s->kind == KIND_BYTES)
		buf_printf(to, "%s", units_print_bytes(v, text));
	else if (s->kind == KIND_ROOM)
		buf_printf(to, "%s", units_print_room(v, text));
	else if (s->kind == KIND_RATE)
		buf_printf(to, "%s", units_print_rate(v, text));
	else if (s->kind == KIND_COUNT)
		buf_printf(to, "%s", units_print_count(v, text));
	else
		buf_printf(to, "%s", units_print_ms(s->kind == KIND_SECONDS ? v * 1000 : v, text));
}

static unsigned
count_of(const struct setting *s, const char *in)
{
	return *(const unsigned *)(const void *)(in + s->count_at);
}

static void
print_list(const struct setting *s, const char *in, struct buf *to)
{
	char *const *texts = *(char *const *const *)(const void *)(in + s->at);
	if (s->words && count_of(s, in) == 0) {
		buf_printf(to, "%s", s->words);
		return;
	}
	buf_add_lit(to, "[");
	for (unsigned i = 0; i < count_of(s, in); i++) {
		buf_printf(to, i ? ", " : " ");
		print_text(texts[i], to);
	}
	buf_add_lit(to, " ]");
}

/* A value on a line of its own; in: the struct it is a member of. */
static void
print_value(const struct setting *s, const char *in, struct buf *to)
{
	const void *at = in + s->at;
	char text[UNITS_BYTES];
	if (kind_is_text(s->kind)) {
		print_text(*(char *const *)at ? *(char *const *)at : s->words, to);
		return;
	}
	switch (s->kind) {
	case KIND_SWITCH:
		buf_printf(to, *(const bool *)at ? "on" : "off");
		break;
	case KIND_SHARE:
		buf_printf(to, "%s", units_print_share(*(const double *)at, text));
		break;
	case KIND_LIST:
		print_list(s, in, to);
		break;
	default:
		print_number(s, at, to);
	}
}

enum { MARGIN_BYTES = 32 };
/* How lines of a group begin: "", "  ", "  - " for the first of a list's element, "#   " in an
 * example. */
struct margin {
	const char *first, *rest;
};

/* "key: value", then the sentence as a comment. Sentences line up where the values let them. */
static void
print_line(const char *margin, const struct setting *s, const char *in, struct buf *to)
{
	enum { COMMENT_COLUMN = 36 };
	size_t start = to->n;
	buf_printf(to, "%s%s:", margin, s->key);
	if (in) {
		buf_add_lit(to, " ");
		print_value(s, in, to);
	}
	do
		buf_add_lit(to, " ");
	while (to->n - start < COMMENT_COLUMN);
	bool has_words = s->kind == KIND_WORD || s->kind == KIND_CHOICE;
	buf_printf(to, "# %s%s%s\n", s->sentence, has_words ? ": " : "", has_words ? s->words : "");
}

static void
print_group(const struct setting *rows, const char *in, struct margin m, struct buf *to);

/* An example of an element, as a comment, for an empty list. */
static void
print_example(const struct setting *s, struct buf *to)
{
	struct config c;
	char err[512];
	static const char text[] =
		"origins: https://origin.example.com\nroutes: [ { host: any } ]\n"
		"more_disks: [ { dir: /mnt/disk2/twice } ]\n";
	memset(&c, 0, sizeof(c));
	if (config_parse(&c, "example", text, sizeof(text) - 1, err, sizeof(err)) < 0)
		abort();
	const char *element = *(const char *const *)(const void *)((const char *)&c + s->at);
	print_group(s->inside, element, (struct margin){"#  - ", "#    "}, to);
	schema_free(&c);
}

/* margin: of the line with the key; "" at the top, where an empty list has an example. */
static void
print_groups(const struct setting *s, const char *in, const char *margin, struct buf *to)
{
	char first[MARGIN_BYTES], rest[MARGIN_BYTES];
	const char *elements = *(const char *const *)(const void *)(in + s->at);
	unsigned n = count_of(s, in);
	if (n == 0) {
		int filled = (int)(strlen(margin) + strlen(s->key));
		buf_printf(to, "%s%s: [ ]%*s# %s\n", margin, s->key, 31 - filled, "", s->sentence);
		if (!*margin)
			print_example(s, to);
		return;
	}
	print_line(margin, s, NULL, to);
	snprintf(first, sizeof first, "%s  - ", margin);
	snprintf(rest, sizeof rest, "%s    ", margin);
	for (unsigned i = 0; i < n; i++)
		print_group(s->inside, elements + (size_t)i * s->bytes,
			    (struct margin){first, rest}, to);
}

static void
print_group(const struct setting *rows, const char *in, struct margin m, struct buf *to)
{
	for (const struct setting *s = rows; s->key; s++) {
		const char *margin = s == rows ? m.first : m.rest;
		if (s->kind == KIND_GROUP) {
			char rest[MARGIN_BYTES];
			snprintf(rest, sizeof rest, "%s  ", m.rest);
			print_line(margin, s, NULL, to);
			print_group(s->inside, in + s->at, (struct margin){rest, rest}, to);
		} else if (s->kind == KIND_GROUPS) {
			print_groups(s, in, margin, to);
		} else {
			print_line(margin, s, in, to);
		}
	}
}

void
config_print(const struct config *c, FILE *to)
{
	struct buf text = {0};
	print_group(schema_top, (const char *)c, (struct margin){"", ""}, &text);
	fwrite(text.p, 1, text.n, to);
	buf_fini(&text);
}

/* ---- comparing ----------------------------------------------------------------------------- */

static bool
is_same(const struct setting *s, const char *a, const char *b)
{
	struct buf x = {0}, y = {0};
	if (s->kind == KIND_GROUPS) {
		print_groups(s, a, "", &x);
		print_groups(s, b, "", &y);
	} else {
		print_value(s, a, &x);
		print_value(s, b, &y);
	}
	bool same = str_eq(buf_str(&x), buf_str(&y));
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

void
config_differences(const struct config *a, const struct config *b,
		   void (*each)(void *ctx, const char *setting), void *ctx)
{
	const char *x = (const char *)a, *y = (const char *)b;
	char full[64];
	for (const struct setting *s = schema_top; s->key; s++) {
		if (s->kind != KIND_GROUP && !is_same(s, x, y))
			each(ctx, s->key);
		for (const struct setting *in = s->kind == KIND_GROUP ? s->inside : NULL;
		     in && in->key; in++) {
			snprintf(full, sizeof(full), "%s.%s", s->key, in->key);
			if (!is_same(in, x + s->at, y + s->at))
				each(ctx, full);
		}
	}
}

static void
each_changed(const struct setting *rows, const char *a, const char *usual, const char *prefix,
	     config_each_fn *each, void *ctx)
{
	char full[CONFIG_NAME_BYTES];
	for (const struct setting *s = rows; s->key; s++) {
		struct buf value = {0};
		if (s->kind == KIND_GROUP) {
			snprintf(full, sizeof full, "%s%s.", prefix, s->key);
			each_changed(s->inside, a + s->at, usual + s->at, full, each, ctx);
			continue;
		}
		if (is_same(s, a, usual))
			continue;
		snprintf(full, sizeof full, "%s%s", prefix, s->key);
		if (s->kind == KIND_GROUPS)
			print_groups(s, a, "", &value);
		else
			print_value(s, a, &value);
		buf_add(&value, "", 1);
		each(ctx, full, value.p);
		buf_fini(&value);
	}
}

void
config_route_each(const struct config_route *r, config_each_fn *each, void *ctx)
{
	static const char text[] = "routes: [ { host: any } ]\n";
	const struct setting *s = schema_top;
	struct config c;
	char err[512];
	memset(&c, 0, sizeof c);
	if (config_parse(&c, "defaults", text, sizeof text - 1, err, sizeof err) < 0)
		abort();
	while (strcmp(s->key, "routes") != 0)
		s++;
	each_changed(s->inside, (const char *)r, (const char *)c.routes, "", each, ctx);
	schema_free(&c);
}
