/* reading.c - walks a YAML document along the rows of schema.c and writes it anew: every setting
 * there, in canonical form.
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

static struct given
given_at(const yaml_node_t *node)
{
	return (struct given){.line = node->start_mark.line + 1};
}

/* ---- shapes -------------------------------------------------------------------------------- */

/* Node number id of the document; NULL for 0 and for an explicit null, which means "not given". */
static yaml_node_t *
node_at(struct reading *r, int id)
{
	yaml_node_t *node = id ? yaml_document_get_node(&r->given, id) : NULL;
	if (node && node->type == YAML_SCALAR_NODE &&
	    node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
		const char *text = (const char *)node->data.scalar.value;
		if (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
			return NULL;
	}
	return node;
}

static int
given_scalar(struct reading *r, const yaml_node_t *node, const char *path, struct given *g)
{
	*g = given_at(node);
	if (node->type != YAML_SCALAR_NODE)
		return reading_fail(r, g,
				    "%s: one value belongs here, not a list or a group of settings",
				    path);
	g->text = (const char *)node->data.scalar.value;
	if (strlen(g->text) != node->data.scalar.length)
		return reading_fail(r, g, "%s: the value contains a zero byte; remove it", path);
	return 0;
}

static const struct config_flag *
next_flag(const struct reading *r, const char *path, const struct config_flag *after)
{
	const struct config_flag *f = after ? after + 1 : r->in.flags;
	for (; f && f < r->in.flags + r->in.flag_count; f++)
		if (strcmp(f->setting, path) == 0)
			return f;
	return NULL;
}

static struct given
given_flag(const struct config_flag *f)
{
	return (struct given){.text = f->text, .flag = f->flag};
}

static int read_group(struct reading *r, const struct setting *rows, const char *path,
		      yaml_node_t *node, const struct given *first);

static int
read_single(struct reading *r, const struct setting *s, const char *path, yaml_node_t *node,
	    const struct given *group)
{
	struct given g = {.text = s->fallback};
	const struct config_flag *last = NULL;
	for (const struct config_flag *f = NULL; (f = next_flag(r, path, f));)
		last = f;
	if (last)
		g = given_flag(last);
	else if (node && given_scalar(r, node, path, &g) < 0)
		return FAILED;
	if (!g.text)
		return reading_fail(r, group, "%s is missing: %s", path, s->sentence);
	return reading_value(r, s, &g, path);
}

/* An element of a list is one value, of a list of groups a group, or just its first setting. */
static int
read_element(struct reading *r, const struct setting *s, const char *path, int list,
	     yaml_node_t *node, struct given *g)
{
	int id;
	bool scalar = !node || node->type == YAML_SCALAR_NODE;
	if (scalar && node && given_scalar(r, node, path, g) < 0)
		return FAILED;
	if (s->kind == KIND_GROUPS)
		id = read_group(r, s->inside, path, scalar ? NULL : node, scalar ? g : NULL);
	else if (scalar)
		id = reading_value(r, s, g, path);
	else
		id = given_scalar(r, node, path, g); /* says what is wrong */
	if (id == FAILED)
		return FAILED;
	if (id == ABSENT) /* the word for an empty list */
		return 0;
	if (id > MOST_NODES) /* aliases of aliases can make much of little */
		return reading_fail(r, g, "%s: there are too many settings", path);
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
		if (given_scalar(r, yaml_document_get_node(&r->given, pair->value), path, &value) <
		    0)
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
	return s->kind == KIND_LIST && s->each == KIND_FIELD && node->type == YAML_MAPPING_NODE;
}

/* What a list says of one element, or an element without a list. */
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
read_list(struct reading *r, const struct setting *s, const char *path, yaml_node_t *node,
	  bool is_given)
{
	int list = yaml_document_add_sequence(&r->made, NULL, YAML_FLOW_SEQUENCE_STYLE);
	bool is_nobody = is_given && s->nobody && is_empty(node);
	struct given g = {.text = is_nobody ? s->nobody : s->fallback};
	const struct config_flag *f = next_flag(r, path, NULL);
	if (f) {
		for (; f; f = next_flag(r, path, f)) {
			g = given_flag(f);
			if (read_element(r, s, path, list, NULL, &g) < 0)
				return FAILED;
		}
	} else if (!node || is_nobody) {
		if (*g.text && read_element(r, s, path, list, NULL, &g) < 0)
			return FAILED;
	} else if (node->type != YAML_SEQUENCE_NODE) {
		if (read_given_element(r, s, path, list, node, &g) < 0)
			return FAILED;
	} else {
		yaml_node_item_t *item = node->data.sequence.items.start;
		for (; item < node->data.sequence.items.top; item++)
			if (read_given_element(r, s, path, list,
					       yaml_document_get_node(&r->given, *item), &g) < 0)
				return FAILED;
	}
	return list;
}

static int
read_setting(struct reading *r, const struct setting *s, const char *path,
	     const yaml_node_pair_t *pair, const struct given *group)
{
	yaml_node_t *node = node_at(r, pair ? pair->value : 0);
	if (s->kind == KIND_GROUP)
		return read_group(r, s->inside, path, node, NULL);
	if (s->kind == KIND_LIST || s->kind == KIND_GROUPS)
		return read_list(r, s, path, node, pair != NULL);
	return read_single(r, s, path, node, group);
}

static const struct setting *
find_row(const struct setting *rows, const char *key)
{
	for (; rows->key; rows++)
		if (strcmp(rows->key, key) == 0)
			return rows;
	return NULL;
}

/* The first pair of a mapping with this key, or NULL. */
static yaml_node_pair_t *
find_pair(struct reading *r, const yaml_node_t *mapping, const char *key)
{
	yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	for (; pair < mapping->data.mapping.pairs.top; pair++) {
		const yaml_node_t *k = yaml_document_get_node(&r->given, pair->key);
		if (k->type == YAML_SCALAR_NODE && strcmp((char *)k->data.scalar.value, key) == 0)
			return pair;
	}
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

static int
check_keys(struct reading *r, const struct setting *rows, const char *path, const yaml_node_t *node)
{
	struct given g = given_at(node);
	char full[PATH_BYTES];
	if (node->type != YAML_MAPPING_NODE)
		return reading_fail(r, &g, "%s: settings belong here, as \"name: value\" lines",
				    *path ? path : "the file");
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	for (; pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&r->given, pair->key);
		if (given_scalar(r, key, "a name", &g) < 0)
			return FAILED;
		rename_key(r, path, key, &g);
		if (!find_row(rows, g.text))
			return reading_fail_unknown(r, &g, rows, path);
		const yaml_node_pair_t *first = find_pair(r, node, g.text);
		if (first != pair)
			return reading_fail(
				r, &g, "\"%s\" is given again, first on line %zu; keep one",
				reading_path(path, g.text, full),
				yaml_document_get_node(&r->given, first->key)->start_mark.line + 1);
	}
	return 0;
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
		here = given_at(node);
		if (check_keys(r, rows, path, node) < 0)
			return FAILED;
	}
	for (const struct setting *s = rows; s->key; s++) {
		yaml_node_pair_t *pair = node ? find_pair(r, node, s->key) : NULL;
		reading_path(path, s->key, full);
		int id = first && s == rows ? reading_value(r, s, first, full)
					    : read_setting(r, s, full, pair, &here);
		if (id == FAILED)
			return FAILED;
		if (id != ABSENT)
			yaml_document_append_mapping_pair(&r->made, made,
							  reading_add_scalar(r, s->key, false), id);
	}
	return made;
}

/* ---- the document -------------------------------------------------------------------------- */

static int
fail_syntax(struct reading *r, const yaml_parser_t *p)
{
	const char *problem = p->problem ? p->problem : "not enough memory";
	struct given g = {.line = p->problem_mark.line + 1};
	const char *way_out = strstr(problem, "cannot start any token")
				      ? "indent with spaces, not tabs, and quote odd values"
				      : "check indentation, colons and quotes around here";
	return reading_fail(r, &g, "this is not YAML (%s); %s", problem, way_out);
}

/* Loads the one document of the text. */
static int
load_document(struct reading *r)
{
	yaml_parser_t p;
	yaml_document_t second;
	int result = FAILED;
	if (!yaml_parser_initialize(&p))
		return reading_fail(r, &(struct given){0},
				    "not enough memory to read the configuration");
	yaml_parser_set_input_string(&p, (const unsigned char *)r->in.text, r->in.n);
	if (!yaml_parser_load(&p, &r->given)) {
		fail_syntax(r, &p);
		goto out;
	}
	r->has_given = true;
	if (!yaml_parser_load(&p, &second)) {
		fail_syntax(r, &p);
		goto out;
	}
	const yaml_node_t *root = yaml_document_get_root_node(&second);
	if (root) {
		struct given g = given_at(root);
		reading_fail(r, &g, "a second document begins; keep one");
	} else {
		result = 0;
	}
	yaml_document_delete(&second);
out:
	yaml_parser_delete(&p);
	return result;
}

static int
on_write(void *ctx, unsigned char *p, size_t n)
{
	buf_add(ctx, p, n);
	return 1;
}

static int
emit(struct reading *r, struct buf *canonical)
{
	yaml_emitter_t e;
	if (!yaml_emitter_initialize(&e))
		return FAILED;
	yaml_emitter_set_output(&e, on_write, canonical);
	yaml_emitter_set_width(&e, -1);
	int ok = yaml_emitter_dump(&e, &r->made) && yaml_emitter_flush(&e); /* frees r->made */
	yaml_emitter_delete(&e);
	return ok ? 0 : FAILED;
}

int
reading_create(struct reading **out, const struct reading_input *in, struct buf *canonical,
	       char *err, size_t err_bytes)
{
	struct reading *r = *out = NEW(struct reading);
	r->in = *in;
	r->err = err;
	r->err_bytes = err_bytes;
	if (in->text && load_document(r) < 0)
		return -1;
	if (!yaml_document_initialize(&r->made, NULL, NULL, NULL, 1, 1))
		return reading_fail(r, &(struct given){0},
				    "not enough memory to read the configuration");
	bool is_empty = !r->has_given || !yaml_document_get_root_node(&r->given);
	if (read_group(r, schema_top, "", node_at(r, is_empty ? 0 : 1), NULL) < 0) {
		yaml_document_delete(&r->made);
		return -1;
	}
	return emit(r, canonical);
}

void
reading_destroy(struct reading **r)
{
	if (!*r)
		return;
	if ((*r)->has_given)
		yaml_document_delete(&(*r)->given);
	free(*r);
	*r = NULL;
}

/* The flag that gave a setting, or all of the list or group that holds it. */
static const struct config_flag *
find_flag(const struct reading *r, const char *setting)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s", setting);
	const struct config_flag *f = next_flag(r, path, NULL);
	for (char *dot; !f && (dot = strrchr(path, '.')) != NULL;) {
		unsigned i = (unsigned)atoi(dot + 1); /* of a list's element, else 0 */
		*dot = '\0';
		f = next_flag(r, path, NULL);
		while (f && i-- > 0 && next_flag(r, path, f))
			f = next_flag(r, path, f);
	}
	return f;
}

/* The value of a key in a mapping, or of a number in a list; NULL: there is none. */
static yaml_node_t *
find_inside(struct reading *r, yaml_node_t *node, const char *key)
{
	if (node->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *pair = find_pair(r, node, key);
		return pair ? yaml_document_get_node(&r->given, pair->value) : NULL;
	}
	if (node->type != YAML_SEQUENCE_NODE || !isdigit((unsigned char)*key))
		return NULL;
	long i = atol(key), n = node->data.sequence.items.top - node->data.sequence.items.start;
	return i < n ? yaml_document_get_node(&r->given, node->data.sequence.items.start[i]) : NULL;
}

void
reading_place(struct reading *r, const char *setting, char *out, size_t n)
{
	const struct config_flag *f = find_flag(r, setting);
	struct given g = f ? given_flag(f) : (struct given){0};
	yaml_node_t *node = r->has_given && !f ? yaml_document_get_root_node(&r->given) : NULL;
	char key[PATH_BYTES];
	while (node && *setting) {
		size_t len = strcspn(setting, ".");
		snprintf(key, sizeof(key), "%.*s", (int)len, setting);
		setting += len + (setting[len] == '.');
		node = find_inside(r, node, key);
		if (node)
			g = given_at(node);
	}
	/* A default may not go with what is written in the file. */
	if (r->has_given && !g.flag && !g.line)
		snprintf(out, n, "%s: ", r->in.name);
	else
		reading_print_place(r, &g, out, n);
}
