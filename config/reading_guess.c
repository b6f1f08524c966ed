/* reading_guess.c - what people write instead of a setting's own form, where it can mean only one thing: it
 * becomes that form before anything is read. `twice check` prints the form of the rows.
 */
#include "config/reading_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
static const struct synonym {
	const char *group, *said, *key;
} synonyms[] = {
	{"",                 "log_format", "access_log_format"},
	{"more_disks",       "disk",       "size"},
	{"origins.health",   "interval",   "every"},
	{"routes",           "method",     "methods"},
	{"routes.answer",    "content",    "body"},
	{"routes.redirect",  "url",        "to"},
};
/* clang-format on */

/* A new text in the place of node `like`. */
static int
add_text(struct reading *r, const char *text, int like)
{
	int id = yaml_document_add_scalar(&r->given, NULL, (yaml_char_t *)(uintptr_t)text, -1,
					  YAML_DOUBLE_QUOTED_SCALAR_STYLE);
	reading_node(r, id)->start_mark = reading_node(r, like)->start_mark;
	return id;
}

static int
add_mapping(struct reading *r, int like)
{
	int id = yaml_document_add_mapping(&r->given, NULL, YAML_FLOW_MAPPING_STYLE);
	reading_node(r, id)->start_mark = reading_node(r, like)->start_mark;
	return id;
}

static void
add_pair(struct reading *r, int mapping, int key, int value)
{
	yaml_document_append_mapping_pair(&r->given, mapping, key, value);
}

static size_t
count_pairs(struct reading *r, int mapping)
{
	const yaml_node_t *node = reading_node(r, mapping);
	return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
}

static yaml_node_pair_t *
pair_at(struct reading *r, int mapping, size_t i)
{
	return &reading_node(r, mapping)->data.mapping.pairs.start[i];
}

static void
rename_keys(struct reading *r, const char *path, int mapping)
{
	for (size_t i = 0; i < count_pairs(r, mapping); i++)
		for (size_t k = 0; k < sizeof synonyms / sizeof synonyms[0]; k++) {
			int key = pair_at(r, mapping, i)->key;
			if (strcmp(synonyms[k].group, path) == 0 &&
			    strcmp(synonyms[k].said, reading_node_text(reading_node(r, key))) ==
				    0) {
				int renamed = add_text(r, synonyms[k].key, key);
				pair_at(r, mapping, i)->key = renamed;
			}
		}
}

/* "cache: off" of a route. */
static void
turn_off(struct reading *r, int route)
{
	static const struct setting off = {.words = "off"};
	const yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, route), "cache");
	if (!pair || !reading_is_off(&off, reading_node_text(reading_node(r, pair->value))))
		return;
	int key = add_text(r, "pass", pair->key);
	int value = add_text(r, "on", key);
	yaml_node_pair_t *changed = reading_find_pair(r, reading_node(r, route), "cache");
	changed->key = key;
	changed->value = value;
}

static bool
has_row(const struct setting *rows, const char *key)
{
	for (; rows->key; rows++)
		if (strcmp(rows->key, key) == 0)
			return true;
	return false;
}

/* The group of the mapping, as a mapping of its own that nothing else has: 0 if it is something else. */
static int
own_group(struct reading *r, const char *key, int mapping, int like)
{
	yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, mapping), key);
	int made, old = pair ? pair->value : 0;
	if (old && reading_node(r, old)->type != YAML_MAPPING_NODE)
		return 0;
	made = add_mapping(r, old ? old : like);
	for (size_t i = 0; old && i < count_pairs(r, old); i++)
		add_pair(r, made, pair_at(r, old, i)->key, pair_at(r, old, i)->value);
	if (old)
		reading_find_pair(r, reading_node(r, mapping), key)->value = made;
	else
		add_pair(r, mapping, add_text(r, key, like), made);
	return made;
}

/* Settings beside an open group are moved into it. */
static void
move_into(struct reading *r, const struct setting *rows, const struct setting *group, int mapping)
{
	for (size_t i = 0; i < count_pairs(r, mapping);) {
		yaml_node_pair_t pair = *pair_at(r, mapping, i);
		const char *key = reading_node_text(reading_node(r, pair.key));
		int into = !has_row(rows, key) && has_row(group->inside, key)
				   ? own_group(r, group->key, mapping, pair.key)
				   : 0;
		if (into) {
			add_pair(r, into, pair.key, pair.value);
			reading_take_out(reading_node(r, mapping), pair_at(r, mapping, i));
		} else {
			i++;
		}
	}
}

/* "5/m", "100/10s": a number, and the time in which so many come. False: it is not of that form. */
static bool
cut_rate(const char *text, char number[32], char per[32])
{
	static const struct {
		const char *word, *per;
	} words[] = {{"second", "1s"}, {"sec", "1s"},  {"minute", "1m"},
		     {"min", "1m"},    {"hour", "1h"}, {"day", "1d"}};
	const char *slash = strchr(text, '/'), *unit = slash ? slash + 1 : "";
	if (*unit == ' ')
		unit++;
	if (!slash || slash - text >= 32 || !*unit || strlen(unit) >= 30)
		return false;
	snprintf(number, 32, "%.*s", (int)(slash - text), text);
	size_t n = strlen(number);
	if (n && number[n - 1] == ' ')
		number[n - 1] = '\0';
	snprintf(per, 32, "%s%s", *unit >= '0' && *unit <= '9' ? "" : "1", unit);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(unit, words[i].word) == 0)
			snprintf(per, 32, "%s", words[i].per);
	return true;
}

static void
split_rate(struct reading *r, int mapping)
{
	char number[32], per[32];
	const yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, mapping), "requests");
	if (!pair || !cut_rate(reading_node_text(reading_node(r, pair->value)), number, per))
		return;
	int like = pair->value, value = add_text(r, number, like);
	reading_find_pair(r, reading_node(r, mapping), "requests")->value = value;
	int key = add_text(r, "per", like);
	add_pair(r, mapping, key, add_text(r, per, like));
}

/* Of { cert: FILE, key: FILE } the two files: which key belongs to which certificate is known from what
 * they hold. */
static bool
add_files(struct reading *r, int list, int mapping)
{
	static const char *const keys[] = {"cert", "cert_file", "certificate", "key", "key_file"};
	for (size_t i = 0; i < count_pairs(r, mapping); i++) {
		const yaml_node_pair_t *pair = pair_at(r, mapping, i);
		bool known = reading_node(r, pair->value)->type == YAML_SCALAR_NODE;
		size_t k = 0;
		while (k < 5 && strcmp(keys[k], reading_node_text(reading_node(r, pair->key))) != 0)
			k++;
		if (k == 5 || !known)
			return false;
	}
	for (size_t i = 0; i < count_pairs(r, mapping); i++)
		yaml_document_append_sequence_item(&r->given, list, pair_at(r, mapping, i)->value);
	return true;
}

static void
list_files(struct reading *r, int tls)
{
	yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, tls), "certificates");
	if (!pair)
		return;
	int old = pair->value;
	const yaml_node_t *node = reading_node(r, old);
	if (node->type == YAML_SCALAR_NODE)
		return;
	bool one = node->type == YAML_MAPPING_NODE;
	size_t n =
		one ? 1 : (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	int list = yaml_document_add_sequence(&r->given, NULL, YAML_FLOW_SEQUENCE_STYLE);
	reading_node(r, list)->start_mark = reading_node(r, old)->start_mark;
	for (size_t i = 0; i < n; i++) {
		int id = one ? old : reading_node(r, old)->data.sequence.items.start[i];
		if (reading_node(r, id)->type != YAML_MAPPING_NODE || !add_files(r, list, id))
			yaml_document_append_sequence_item(&r->given, list, id);
	}
	reading_find_pair(r, reading_node(r, tls), "certificates")->value = list;
}

/* A value alone becomes a group of its first setting. */
static int
unfold(struct reading *r, const struct setting *s, int value)
{
	if (s->kind != KIND_GROUP || !s->short_form ||
	    reading_node(r, value)->type != YAML_SCALAR_NODE ||
	    !*reading_node_text(reading_node(r, value)))
		return value;
	int made = add_mapping(r, value);
	add_pair(r, made, add_text(r, s->inside->key, value), value);
	return made;
}

static void walk(struct reading *r, const struct setting *rows, const char *path, int mapping);

static void
walk_value(struct reading *r, const struct setting *s, const char *path, int id)
{
	if (reading_node(r, id)->type == YAML_MAPPING_NODE)
		walk(r, s->inside, path, id);
	if (s->kind != KIND_GROUPS || reading_node(r, id)->type != YAML_SEQUENCE_NODE)
		return;
	const yaml_node_t *list = reading_node(r, id);
	size_t n = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
	for (size_t i = 0; i < n; i++) {
		int item = reading_node(r, id)->data.sequence.items.start[i];
		if (reading_node(r, item)->type == YAML_MAPPING_NODE)
			walk(r, s->inside, path, item);
	}
}

static void
walk(struct reading *r, const struct setting *rows, const char *path, int mapping)
{
	char full[PATH_BYTES];
	rename_keys(r, path, mapping);
	if (strcmp(path, "routes") == 0)
		turn_off(r, mapping);
	if (strcmp(path, "tls") == 0)
		list_files(r, mapping);
	if (strcmp(path, "rate") == 0 || strcmp(path, "routes.rate") == 0)
		split_rate(r, mapping);
	for (const struct setting *s = rows; s->key; s++) {
		if (s->kind != KIND_GROUP && s->kind != KIND_GROUPS)
			continue;
		if (s->open)
			move_into(r, rows, s, mapping);
		yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, mapping), s->key);
		if (!pair)
			continue;
		int value = unfold(r, s, pair->value);
		reading_find_pair(r, reading_node(r, mapping), s->key)->value = value;
		walk_value(r, s, reading_path(path, s->key, full), value);
	}
}

void
reading_guess(struct reading *r)
{
	if (reading_node(r, 1)->type == YAML_MAPPING_NODE)
		walk(r, schema_top, "", 1);
}
