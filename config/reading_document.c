/* reading_document.c - one file: its YAML, in which merge keys and variables of the environment are carried
 * out.
 */
#include "config/expand.h"
#include "config/reading_inside.h"
#include "proxy/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MERGES_DEEP = 16, PAIRS_MOST = 200000 };

static yaml_node_t *
node_of(yaml_document_t *doc, int id)
{
	return id ? yaml_document_get_node(doc, id) : NULL;
}

static int
count_nodes(const yaml_document_t *doc)
{
	return (int)(doc->nodes.top - doc->nodes.start);
}

/* ---- tags ---------------------------------------------------------------------------------- */

/* "!!int" and its kin say of a value what it is anyway. */
static bool
is_usual(const yaml_node_t *node)
{
	static const char *const scalars[] = {YAML_STR_TAG, YAML_INT_TAG, YAML_BOOL_TAG,
					      YAML_FLOAT_TAG};
	const char *tag = (const char *)node->tag;
	if (node->type == YAML_SEQUENCE_NODE)
		return strcmp(tag, YAML_SEQ_TAG) == 0;
	if (node->type == YAML_MAPPING_NODE)
		return strcmp(tag, YAML_MAP_TAG) == 0;
	for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
		if (strcmp(tag, scalars[i]) == 0)
			return true;
	return false;
}

static int
check_tags(struct reading *r, yaml_document_t *doc)
{
	for (int id = 1; id <= count_nodes(doc); id++) {
		const yaml_node_t *node = node_of(doc, id);
		const char *tag = (const char *)node->tag;
		struct given g = reading_given_at(node);
		if (is_usual(node))
			continue;
		if (strncasecmp(tag, "!incl", 5) == 0)
			reading_fail(r, &g,
				     "%.40s is not known; write \"include: %.100s\" at the top of "
				     "the file, and begin that file with the name of the setting",
				     tag,
				     *reading_node_text(node) ? reading_node_text(node) : "FILE");
		else if (strncasecmp(tag, "!env", 4) == 0 || strncasecmp(tag, "!secret", 7) == 0)
			reading_fail(r, &g,
				     "%.40s is not known; write ${%.100s} for a variable of the "
				     "environment",
				     tag,
				     *reading_node_text(node) ? reading_node_text(node) : "NAME");
		else
			reading_fail(r, &g, "the tag %.60s is not known here; leave it out", tag);
	}
	return r->mistake_count ? FAILED : 0;
}

/* ---- merge keys ---------------------------------------------------------------------------- */

static bool
is_key(yaml_document_t *doc, const yaml_node_pair_t *pair, const char *key)
{
	const yaml_node_t *k = node_of(doc, pair->key);
	return k->type == YAML_SCALAR_NODE && strcmp(reading_node_text(k), key) == 0;
}

static yaml_node_pair_t *
find_merge(yaml_document_t *doc, int mapping)
{
	yaml_node_t *node = node_of(doc, mapping);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++)
		if (is_key(doc, p, "<<") &&
		    node_of(doc, p->key)->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			return p;
	return NULL;
}

static bool
has_key(yaml_document_t *doc, int mapping, const char *key)
{
	yaml_node_t *node = node_of(doc, mapping);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++)
		if (is_key(doc, p, key))
			return true;
	return false;
}

static int merge_into(struct reading *r, yaml_document_t *doc, int mapping, int depth);

/* Its own keys stay as they are. */
static int
merge_one(struct reading *r, yaml_document_t *doc, int mapping, int from, const struct given *g,
	  int depth)
{
	if (node_of(doc, from)->type != YAML_MAPPING_NODE)
		return reading_fail(r, g,
				    "<<: a group of settings belongs here, such as *name where "
				    "&name marks one");
	if (from == mapping)
		return 0;
	if (depth > MERGES_DEEP || merge_into(r, doc, from, depth + 1) < 0)
		return reading_fail(r, g, "<<: too many groups lie within one another here");
	const yaml_node_t *source = node_of(doc, from);
	size_t n = (size_t)(source->data.mapping.pairs.top - source->data.mapping.pairs.start);
	for (size_t i = 0; i < n; i++) {
		yaml_node_pair_t pair = node_of(doc, from)->data.mapping.pairs.start[i];
		if (++r->pairs > PAIRS_MOST)
			return reading_fail(r, g, "<<: there are too many settings");
		if (!has_key(doc, mapping, reading_node_text(node_of(doc, pair.key))))
			yaml_document_append_mapping_pair(doc, mapping, pair.key, pair.value);
	}
	return 0;
}

static int
merge_into(struct reading *r, yaml_document_t *doc, int mapping, int depth)
{
	yaml_node_pair_t *pair;
	while ((pair = find_merge(doc, mapping)) != NULL) {
		struct given g = reading_given_at(node_of(doc, pair->key));
		int value = pair->value, result = 0;
		reading_take_out(node_of(doc, mapping),
				 pair); /* first: then a group that is its own source ends */
		const yaml_node_t *from = node_of(doc, value);
		if (from->type != YAML_SEQUENCE_NODE)
			result = merge_one(r, doc, mapping, value, &g, depth);
		else
			for (yaml_node_item_t *i = from->data.sequence.items.start;
			     i < from->data.sequence.items.top && result == 0; i++)
				result = merge_one(r, doc, mapping, *i, &g, depth);
		if (result < 0)
			return FAILED;
	}
	return 0;
}

static int
merge_all(struct reading *r, yaml_document_t *doc)
{
	for (int id = 1; id <= count_nodes(doc); id++)
		if (node_of(doc, id)->type == YAML_MAPPING_NODE && merge_into(r, doc, id, 0) < 0)
			return FAILED;
	return 0;
}

/* ---- variables ----------------------------------------------------------------------------- */

static int
expand_node(struct reading *r, yaml_node_t *node)
{
	struct given g = reading_given_at(node);
	struct buf out = {0};
	struct str name = {0};
	if (node->type != YAML_SCALAR_NODE || !strstr(reading_node_text(node), "${"))
		return 0;
	switch (expand(reading_node_text(node), &out, &name)) {
	case EXPAND_UNSET:
		reading_fail(r, &g,
			     "the environment has no variable %.*s; set it, or write "
			     "${%.*s:-default}; \"$${\" is \"${\" itself",
			     STR_ARG(name), STR_ARG(name));
		break;
	case EXPAND_WRONG:
		reading_fail(r, &g,
			     "%.*s is no variable of the environment; write ${NAME} or "
			     "${NAME:-default}; \"$${\" is \"${\" itself",
			     name.n < 60 ? (int)name.n : 60, name.p);
		break;
	default:
		free(node->data.scalar.value);
		node->data.scalar.value = (yaml_char_t *)mem_strndup(out.n ? out.p : "", out.n);
		node->data.scalar.length = out.n;
		node->data.scalar.style = YAML_DOUBLE_QUOTED_SCALAR_STYLE; /* "null" is a text */
	}
	buf_fini(&out);
	return 0;
}

/* Values only: names of settings are those of the manual. */
static int
expand_all(struct reading *r, yaml_document_t *doc)
{
	int n = count_nodes(doc);
	bool *is_value = mem_zalloc((size_t)n + 1);
	for (int id = 1; id <= n; id++) {
		const yaml_node_t *node = node_of(doc, id);
		if (node->type == YAML_MAPPING_NODE)
			for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
			     p < node->data.mapping.pairs.top; p++)
				is_value[p->value] = true;
		else if (node->type == YAML_SEQUENCE_NODE)
			for (yaml_node_item_t *i = node->data.sequence.items.start;
			     i < node->data.sequence.items.top; i++)
				is_value[*i] = true;
	}
	for (int id = 1; id <= n; id++)
		if (is_value[id])
			expand_node(r, node_of(doc, id));
	free(is_value);
	return r->mistake_count ? FAILED : 0;
}

/* ---- one file ------------------------------------------------------------------------------ */

static int
fail_syntax(struct reading *r, unsigned file, const yaml_parser_t *p)
{
	const char *problem = p->problem ? p->problem : "not enough memory";
	struct given g = {.line = p->problem_mark.line + 1, .file = file};
	const char *way_out =
		strstr(problem, "cannot start any token")
			? "indent with spaces, not tabs, and quote odd values"
		: strstr(problem, "alphabetic or numeric") || strstr(problem, "undefined alias")
			? "quote values that begin with * or &, such as \"*.example.com\""
		: strstr(problem, "expected ',' or")
			? "between [ ] and { } quote values that have such signs, as \"${NAME}\""
			: "check indentation, colons and quotes around here";
	return reading_fail(r, &g, "this is not YAML (%s); %s", problem, way_out);
}

/* The one document of a text; its nodes know their file. */
static int
load_document(struct reading *r, unsigned file, const char *text, size_t n, yaml_document_t *doc)
{
	yaml_parser_t p;
	yaml_document_t second;
	int result = FAILED;
	if (!yaml_parser_initialize(&p))
		return reading_fail(r, &(struct given){0},
				    "not enough memory to read the configuration");
	yaml_parser_set_input_string(&p, (const unsigned char *)text, n);
	if (!yaml_parser_load(&p, doc)) {
		fail_syntax(r, file, &p);
		goto out;
	}
	for (int id = 1; id <= count_nodes(doc); id++)
		node_of(doc, id)->start_mark.index = file;
	if (!yaml_parser_load(&p, &second)) {
		fail_syntax(r, file, &p);
		yaml_document_delete(doc);
		goto out;
	}
	const yaml_node_t *root = yaml_document_get_root_node(&second);
	if (root) {
		struct given g = {.line = root->start_mark.line + 1, .file = file};
		reading_fail(r, &g, "a second document begins; keep one");
		yaml_document_delete(doc);
	} else {
		result = 0;
	}
	yaml_document_delete(&second);
out:
	yaml_parser_delete(&p);
	return result;
}

int
reading_document(struct reading *r, unsigned file, const char *text, size_t n, yaml_document_t *doc)
{
	if (load_document(r, file, text, n, doc) < 0)
		return FAILED;
	if (check_tags(r, doc) == 0 && merge_all(r, doc) == 0 && expand_all(r, doc) == 0)
		return 0;
	yaml_document_delete(doc);
	return FAILED;
}
