/* manual_schema.c - the rows as JSON Schema (draft 7), for editors that complete and check YAML. */
#include "config/manual.h"

#include "config/schema.h"
#include "config/units.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A variable of the environment may stand for any value. */
#define OR_VARIABLE "|.*\\$\\{.*"

static json_t *
either(json_t *a, json_t *b)
{
	return json_pack("{s:[o,o]}", "anyOf", a, b);
}

static json_t *
text_like(const char *pattern)
{
	return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static void
add_word(json_t *words, const char *word, size_t n)
{
	char text[64], *end;
	snprintf(text, sizeof text, "%.*s", (int)n, word);
	json_array_append_new(words, json_string(text));
	/* YAML reads 660 and 1.2 as numbers, and editors may read off as false. */
	double number = strtod(text, &end);
	if (!*end)
		json_array_append_new(words, number == (double)(long)number
						     ? json_integer((json_int_t)number)
						     : json_real(number));
	if (strcmp(text, "on") == 0 || strcmp(text, "off") == 0)
		json_array_append_new(words, json_boolean(text[1] == 'n'));
}

static json_t *
one_of(const char *words)
{
	json_t *all = json_array();
	for (; *words; words += words[strcspn(words, "|")] == '|') {
		size_t n = strcspn(words, "|");
		add_word(all, words, n);
		words += n;
	}
	return json_pack("{s:o}", "enum", all);
}

static json_t *
switch_value(void)
{
	return either(
		json_pack("{s:s}", "type", "boolean"),
		json_pack("{s:[s,s,s,s,s,s]}", "enum", "on", "off", "yes", "no", "true", "false"));
}

/* A number without a unit is a whole one; with a unit it is a text. */
static json_t *
number_value(const struct setting *s, const char *pattern)
{
	json_t *bare = json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
	if (s->kind == KIND_COUNT && s->most > s->least) {
		json_object_set_new(bare, "minimum", json_integer((json_int_t)s->least));
		json_object_set_new(bare, "maximum", json_integer((json_int_t)s->most));
	}
	return either(bare, text_like(pattern));
}

static json_t *
plain_value(const struct setting *s, enum kind kind)
{
	switch (kind) {
	case KIND_CHOICE:
	case KIND_WORD:
		return either(one_of(s->words), text_like("\\$\\{"));
	case KIND_SWITCH:
		return either(switch_value(), text_like("\\$\\{"));
	case KIND_COUNT:
		return number_value(s, "^[0-9.]+ ?[kMGkmg]?$" OR_VARIABLE);
	case KIND_BYTES:
	case KIND_ROOM:
		return number_value(s,
				    "^[0-9.]+ ?[kKMGTPEmgtpe]?i?[bB]?$|^[0-9.]+ ?%$" OR_VARIABLE);
	case KIND_SECONDS:
	case KIND_MILLIS:
		return either(json_pack("{s:i}", "const", 0),
			      text_like("^([0-9.]+ ?(w|d|h|m|s|ms))+$" OR_VARIABLE));
	case KIND_SHARE:
		return either(json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", s->least,
					"maximum", s->most),
			      text_like("^[0-9.]+ ?%$" OR_VARIABLE));
	case KIND_RATE:
		return number_value(s, "");
	default: /* names may be numbers, and "no" a boolean */
		return json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
	}
}

/* The word for none or for a default, beside a value. */
static json_t *
single_value(const struct setting *s)
{
	json_t *value = plain_value(s, s->kind);
	bool has_word = s->words && s->kind != KIND_CHOICE && s->kind != KIND_WORD;
	return has_word ? either(one_of(s->words), value) : value;
}

static json_t *
list_value(const struct setting *s)
{
	json_t *element = plain_value(s, s->each);
	if (s->each == KIND_FIELD || s->each == KIND_TTL || s->each == KIND_TYPED ||
	    strcmp(s->key, "certificates") == 0) /* { Name: value } */
		element = either(element, json_pack("{s:s}", "type", "object"));
	return either(element, json_pack("{s:s, s:O}", "type", "array", "items", element));
}

static json_t *group_value(const struct setting *rows);

static json_t *
value_of(const struct setting *s)
{
	json_t *value;
	switch (s->kind) {
	case KIND_LIST:
		value = list_value(s);
		break;
	case KIND_GROUP:
		value = either(group_value(s->inside), json_pack("{s:s}", "type", "null"));
		if (s->short_form)
			value = either(single_value(s->inside), value);
		break;
	case KIND_GROUPS:
		value = group_value(s->inside);
		if (s->short_form)
			value = either(single_value(s->inside), value);
		value = either(value, json_pack("{s:s, s:O}", "type", "array", "items", value));
		break;
	default:
		value = single_value(s);
	}
	json_object_set_new(value, "description", json_string(s->sentence));
	if (s->fallback && *s->fallback)
		json_object_set_new(value, "default", json_string(s->fallback));
	return value;
}

static json_t *
group_value(const struct setting *rows)
{
	json_t *settings = json_object(), *needed = json_array();
	for (const struct setting *s = rows; s->key; s++) {
		json_object_set_new(settings, s->key, value_of(s));
		if (!s->fallback && s->kind != KIND_GROUP)
			json_array_append_new(needed, json_string(s->key));
	}
	json_t *group = json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0,
				  "properties", settings);
	if (json_array_size(needed))
		json_object_set(group, "required", needed);
	json_decref(needed);
	return group;
}

int
manual_print_schema(FILE *to)
{
	json_t *top = group_value(schema_top);
	json_t *paths = json_pack("{s:[{s:s},{s:s,s:{s:s}}], s:s}", "anyOf", "type", "string",
				  "type", "array", "items", "type", "string", "description",
				  "further files, and directories whose *.yaml are read");
	json_object_set_new(json_object_get(top, "properties"), "include", paths);
	json_object_set_new(top, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
	json_object_set_new(top, "title", json_string("twice.yaml"));
	int result = json_dumpf(top, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(top);
	fputs("\n", to);
	return result;
}
