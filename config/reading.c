/* reading.c - walks a YAML document along the rows of schema.c and makes another one: every setting
 * there, in canonical form, of which schema_build.c makes a config.
 */
#include "config/reading_inside.h"
#include "config/load.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 600000 }; /* a route has some fifty */

/* ---- shapes -------------------------------------------------------------------------------- */

static bool
is_null(const yaml_node_t *node)
{
	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	const char *text = (const char *)node->data.scalar.value;
	return !*text || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0;
}

/* Node number id of the document; NULL for 0 and for a null. */
static yaml_node_t *
node_at(struct reading *r, int id)
{
	yaml_node_t *node = id ? yaml_document_get_node(&r->given, id) : NULL;
	return node && !is_null(node) ? node : NULL;
}

static int
given_scalar(struct reading *r, const yaml_node_t *node, const char *path, struct given *g)
{
	*g = reading_given_at(node);
	if (node->type != YAML_SCALAR_NODE)
		return reading_fail(r, g,
				    "%s: one value belongs here, not a list or a group of settings",
				    path);
	g->text = (const char *)node->data.scalar.value;
	if (strlen(g->text) != node->data.scalar.length)
		return reading_fail(r, g, "%s: the value contains a zero byte; remove it", path);
	return 0;
}

static int read_group(struct reading *r, const struct setting *rows, const char *path,
		      yaml_node_t *node, const struct given *first);

/* "listen:" with nothing behind it is neither the default nor none. */
static int
fail_empty(struct reading *r, const struct setting *s, const char *path,
	   const yaml_node_pair_t *pair)
{
	struct given g = reading_given_at(yaml_document_get_node(&r->given, pair->key));
	return reading_fail(r, &g,
			    "%s: nothing is written behind it; write a value, or leave %s out%s%s",
			    path, s->key, s->fallback && *s->fallback ? ", which means " : "",
			    s->fallback ? s->fallback : "");
}

static int
read_single(struct reading *r, const struct setting *s, const char *path,
	    const yaml_node_pair_t *pair, const struct given *group)
{
	yaml_node_t *node = node_at(r, pair ? pair->value : 0);
	struct given g = {.text = s->fallback, .alone = true};
	const struct config_flag *last = NULL;
	for (const struct config_flag *f = NULL; (f = reading_next_flag(r, path, f));)
		last = f;
	if (last)
		g = reading_given_flag(last);
	else if (pair && !node)
		return fail_empty(r, s, path, pair);
	else if (node && given_scalar(r, node, path, &g) < 0)
		return FAILED;
	if (!g.text)
		return reading_fail(r, group, "%s is missing: %s", path, s->sentence);
	return reading_value(r, s, &g, path);
}

/* The rules are held against the other elements of a list, too, where one is wrong. A route without its
 * rules would cover those behind it: this one is for a host that nobody has. */
static int
stand_in(struct reading *r, const struct setting *s, const char *path)
{
	char host[32];
	r->is_quiet = true;
	int id = read_group(r, s->inside, path, NULL, NULL);
	r->is_quiet = false;
	if (id == FAILED || strcmp(s->key, "routes") != 0)
		return id;
	snprintf(host, sizeof host, "wrong-%u.invalid", ++r->stand_ins);
	int name = reading_add_scalar(r, "host", false);
	yaml_document_append_mapping_pair(&r->made, id, name, reading_add_scalar(r, host, true));
	return id;
}

/* An element of a list of groups: a group, or just its first setting. */
static int
read_group_element(struct reading *r, const struct setting *s, const char *path, yaml_node_t *node,
		   struct given *g)
{
	bool scalar = !node || node->type == YAML_SCALAR_NODE;
	unsigned before = r->mistake_count;
	int id = FAILED;
	if (scalar && !s->short_form)
		reading_fail(r, g,
			     "%s: \"%.60s\" is one value, and a rule belongs here, such as "
			     "\"- path: /img/\" on a line of its own",
			     path, g->text);
	else
		id = read_group(r, s->inside, path, scalar ? NULL : node, scalar ? g : NULL);
	bool is_route = strcmp(s->key, "routes") == 0;
	if (!r->is_full && (id == FAILED || (is_route && r->mistake_count > before)))
		id = stand_in(r, s, path);
	return id;
}

/* An element of a list is one value, of a list of groups a group. */
static int
read_element(struct reading *r, const struct setting *s, const char *path, int list,
	     yaml_node_t *node, struct given *g)
{
	int id;
	bool alone = g->alone, scalar = !node || node->type == YAML_SCALAR_NODE;
	if (r->is_full)
		return FAILED;
	if (node)
		*g = reading_given_at(node);
	if (node && is_null(node)) {
		reading_fail(r, g, "%s: nothing is written here; write a value, or leave it out",
			     path);
		id = s->kind == KIND_GROUPS ? stand_in(r, s, path) : FAILED;
	} else if (scalar && node && given_scalar(r, node, path, g) < 0) {
		return FAILED;
	} else if (s->kind == KIND_GROUPS) {
		id = read_group_element(r, s, path, node, g);
	} else if (scalar) {
		g->alone = alone;
		id = reading_value(r, s, g, path);
	} else {
		id = given_scalar(r, node, path, g); /* says what is wrong */
	}
	if (id == FAILED)
		return FAILED;
	if (id == ABSENT) /* the word for an empty list */
		return 0;
	if (id > MOST_NODES) { /* aliases of aliases can make much of little */
		r->is_full = true;
		return reading_fail(r, g, "%s: there are too many settings", path);
	}
	return yaml_document_append_sequence_item(&r->made, list, id) ? 0 : FAILED;
}

/* { Name: value } is "Name: value": who forgets the quotes in a list is understood. */
static int
read_pairs(struct reading *r, const struct setting *s, const char *path, int list,
	   const yaml_node_t *node)
{
	char line[FIELD_LINE_BYTES];
	struct given name, value;
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	for (; pair < node->data.mapping.pairs.top; pair++) {
		if (given_scalar(r, yaml_document_get_node(&r->given, pair->key), path, &name) < 0)
			return FAILED;
		const yaml_node_t *v = yaml_document_get_node(&r->given, pair->value);
		if (is_null(v))
			return reading_fail(r, &name,
					    "%s: %.60s has no value; write one, or name "
					    "it in remove",
					    path, name.text);
		if (given_scalar(r, v, path, &value) < 0)
			return FAILED;
		int n = snprintf(line, sizeof(line), "%s: %s", name.text, value.text);
		if (n >= (int)sizeof(line))
			return reading_fail(r, &name,
					    "%s: %.60s is too long; at most %d characters", path,
					    name.text, FIELD_LINE_BYTES - 1);
		name.text = line;
		if (read_element(r, s, path, list, NULL, &name) < 0)
			return FAILED;
	}
	return 0;
}

static bool
is_pairs(const struct setting *s, const yaml_node_t *node)
{
	bool has_names = s->each == KIND_FIELD || s->each == KIND_TTL || s->each == KIND_TYPED;
	return s->kind == KIND_LIST && has_names && node->type == YAML_MAPPING_NODE;
}

/* Reads one element of a list, or an element without a list. */
static int
read_given_element(struct reading *r, const struct setting *s, const char *path, int list,
		   yaml_node_t *node, struct given *g)
{
	if (is_pairs(s, node))
		return read_pairs(r, s, path, list, node);
	return read_element(r, s, path, list, node, g);
}

static bool
is_empty(const yaml_node_t *node)
{
	return !node || (node->type == YAML_SEQUENCE_NODE &&
			 node->data.sequence.items.start == node->data.sequence.items.top);
}

static int
read_list(struct reading *r, const struct setting *s, const char *path,
	  const yaml_node_pair_t *pair)
{
	yaml_node_t *node = node_at(r, pair ? pair->value : 0);
	int list = yaml_document_add_sequence(&r->made, NULL, YAML_FLOW_SEQUENCE_STYLE);
	bool is_nobody = pair && s->nobody && is_empty(node);
	struct given g = {.text = is_nobody ? s->nobody : s->fallback, .alone = true};
	const struct config_flag *f = reading_next_flag(r, path, NULL);
	bool failed = false;
	if (f) {
		for (; f; f = reading_next_flag(r, path, f)) {
			g = reading_given_flag(f);
			failed |= read_element(r, s, path, list, NULL, &g) < 0;
		}
	} else if (!node || is_nobody) {
		if (pair && !is_nobody && *s->fallback)
			return fail_empty(r, s, path, pair);
		failed = *g.text && read_element(r, s, path, list, NULL, &g) < 0;
	} else if (node->type != YAML_SEQUENCE_NODE) {
		failed = read_given_element(r, s, path, list, node, &g) < 0;
	} else {
		yaml_node_item_t *item = node->data.sequence.items.start;
		for (; item < node->data.sequence.items.top; item++) {
			g.alone = false;
			failed |= read_given_element(r, s, path, list,
						     yaml_document_get_node(&r->given, *item),
						     &g) < 0;
		}
	}
	return failed && s->kind != KIND_GROUPS ? FAILED : list;
}

static int
read_setting(struct reading *r, const struct setting *s, const char *path,
	     const yaml_node_pair_t *pair, const struct given *group)
{
	if (s->kind == KIND_GROUP)
		return read_group(r, s->inside, path, node_at(r, pair ? pair->value : 0), NULL);
	if (s->kind == KIND_LIST || s->kind == KIND_GROUPS)
		return read_list(r, s, path, pair);
	return read_single(r, s, path, pair, group);
}

static const struct setting *
find_row(const struct setting *rows, const char *key)
{
	for (; rows->key; rows++)
		if (strcmp(rows->key, key) == 0)
			return rows;
	return NULL;
}

/* Settings that had another name: it works for one release, with a warning. */
static const struct {
	const char *path, *was, *is; /* not longer than it was: the text is changed in place */
} renamed[] = {
	{"admission", "memory", "filter"},
};

static void
rename_key(struct reading *r, const char *path, yaml_node_t *key, const struct given *g)
{
	char place[PATH_BYTES * 2];
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strcmp(path, renamed[i].path) != 0 || strcmp(g->text, renamed[i].was) != 0)
			continue;
		reading_print_place(r, g, place, sizeof(place));
		log_warning(
			"%s%s.%s is called %s.%s now; the next release will not know the old name",
			place, path, renamed[i].was, path, renamed[i].is);
		assert(strlen(renamed[i].is) <= strlen(renamed[i].was));
		strcpy((char *)key->data.scalar.value, renamed[i].is);
		key->data.scalar.length = strlen(renamed[i].is);
	}
}

/* Those of it that are no settings are mistakes; false: it is no mapping, and nothing can be read. */
static bool
check_keys(struct reading *r, const struct setting *rows, const char *path, const yaml_node_t *node)
{
	struct given g = reading_given_at(node);
	char full[PATH_BYTES];
	snprintf(r->at, sizeof r->at, "%s", path);
	if (node->type != YAML_MAPPING_NODE) {
		bool whole = strcmp(path, "cache") == 0 && node->type == YAML_SCALAR_NODE;
		reading_fail(r, &g,
			     "%s: settings belong here, as \"name: value\" lines, such as \"%s: "
			     "...\"%s",
			     *path ? path : "the file", rows->key,
			     whole ? "; dir: none keeps RAM only, and pass: on in a route nothing"
				   : "");
		return false;
	}
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	for (; pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&r->given, pair->key);
		if (given_scalar(r, key, "a name", &g) < 0)
			continue;
		rename_key(r, path, key, &g);
		if (!find_row(rows, g.text)) {
			reading_fail_unknown(r, &g, rows, path);
			continue;
		}
		const yaml_node_pair_t *first = reading_find_pair(r, node, g.text);
		struct given before =
			reading_given_at(yaml_document_get_node(&r->given, first->key));
		if (first != pair)
			reading_fail(r, &g, "\"%s\" is given again, first on line %zu; keep one",
				     reading_path(path, g.text, full), before.line);
	}
	return true;
}

/* The value that a setting has where what is written is wrong, for the rest to be read. */
static int
read_fallback(struct reading *r, const struct setting *s, const char *path)
{
	struct given g = {.text = s->fallback, .alone = true};
	if (s->kind == KIND_GROUP)
		return read_group(r, s->inside, path, NULL, NULL);
	if (s->kind == KIND_LIST || s->kind == KIND_GROUPS)
		return yaml_document_add_sequence(&r->made, NULL, YAML_FLOW_SEQUENCE_STYLE);
	if (!s->fallback) /* it must be given */
		return reading_add_scalar(
			r, s->kind == KIND_URL ? "http://wrong.invalid" : "/wrong", true);
	return reading_value(r, s, &g, path);
}

/* first: the value of the first row where only that was given (--origin URL). Returns the new
 * mapping's number, or FAILED. */
static int
read_group(struct reading *r, const struct setting *rows, const char *path, yaml_node_t *node,
	   const struct given *first)
{
	struct given here = {0};
	char full[PATH_BYTES];
	int made = yaml_document_add_mapping(&r->made, NULL, YAML_FLOW_MAPPING_STYLE);
	if (node) {
		here = reading_given_at(node);
		if (!check_keys(r, rows, path, node))
			return FAILED;
	}
	for (const struct setting *s = rows; s->key && !r->is_full; s++) {
		yaml_node_pair_t *pair = node ? reading_find_pair(r, node, s->key) : NULL;
		reading_path(path, s->key, full);
		memcpy(r->at, full, sizeof r->at);
		int id = first && s == rows ? reading_value(r, s, first, full)
					    : read_setting(r, s, full, pair, &here);
		if (id == FAILED && (id = read_fallback(r, s, full)) == FAILED)
			return FAILED;
		if (id != ABSENT)
			yaml_document_append_mapping_pair(&r->made, made,
							  reading_add_scalar(r, s->key, false), id);
	}
	return r->is_full ? FAILED : made;
}

/* ---- the document -------------------------------------------------------------------------- */

int
reading_create(struct reading **out, const struct reading_input *in)
{
	struct reading *r = *out = NEW(struct reading);
	r->in = *in;
	if (reading_load(r) < 0)
		return -1;
	if (!yaml_document_initialize(&r->made, NULL, NULL, NULL, 1, 1))
		return reading_fail(r, &(struct given){0},
				    "not enough memory to read the configuration");
	r->has_made = true;
	bool is_empty = !r->has_given || !yaml_document_get_root_node(&r->given);
	if (!is_empty)
		reading_guess(r);
	r->is_whole = read_group(r, schema_top, "", node_at(r, is_empty ? 0 : 1), NULL) >= 0;
	return r->is_whole && !r->mistake_count ? 0 : -1;
}

bool
reading_build(struct reading *r, struct config *c)
{
	if (r->is_whole)
		schema_build(c, &r->made);
	return r->is_whole;
}

void
reading_destroy(struct reading **rp)
{
	struct reading *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	if (r->has_given)
		yaml_document_delete(&r->given);
	if (r->has_made)
		yaml_document_delete(&r->made);
	for (unsigned i = 0; i < r->file_count; i++)
		free(r->files[i]);
	free(r->files);
	for (unsigned i = 0; i < r->mistake_count; i++)
		free(r->mistakes[i].sentence);
	free(r->mistakes);
	free(r);
}
