/* schema_build.c - a config, by the rows: made of a document in canonical form, copied, freed.
 *
 * Units, words, defaults and mistakes were dealt with when the document was made (reading.c).
 */
#include "config/reading_inside.h"

#include "config/changes.h"
#include "config/config.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Lists and arrays are a pointer and a count. */
static void **
array_at(const struct setting *s, char *in)
{
	return (void **)(void *)(in + s->at);
}

static unsigned *
count_at(const struct setting *s, char *in)
{
	return (unsigned *)(void *)(in + s->count_at);
}

static char **
text_at(const struct setting *s, char *in)
{
	return (char **)(void *)(in + s->at);
}

/* ---- made of a document -------------------------------------------------------------------- */

static const char *
scalar(const yaml_node_t *node)
{
	assert(node && node->type == YAML_SCALAR_NODE);
	return (const char *)node->data.scalar.value;
}

static void
build_number(const struct setting *s, char *at, const char *text)
{
	uint64_t v = strtoull(text, NULL, 10);
	switch (s->bytes) {
	case sizeof(uint64_t):
		*(uint64_t *)(void *)at = v;
		return;
	case sizeof(unsigned):
		*(unsigned *)(void *)at = (unsigned)v;
		return;
	default:
		assert(!"a whole number has four bytes or eight");
	}
}

static void
build_group(yaml_document_t *doc, const yaml_node_t *node, const struct setting *rows, char *in);

static void
build_array(yaml_document_t *doc, const yaml_node_t *node, const struct setting *s, char *in)
{
	assert(node->type == YAML_SEQUENCE_NODE);
	yaml_node_item_t *items = node->data.sequence.items.start;
	size_t n = (size_t)(node->data.sequence.items.top - items);
	size_t bytes = s->kind == KIND_LIST ? sizeof(char *) : s->bytes;
	char *made = n ? mem_zalloc(n * bytes) : NULL;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = yaml_document_get_node(doc, items[i]);
		if (s->kind == KIND_LIST)
			((char **)(void *)made)[i] = mem_strdup(scalar(item));
		else
			build_group(doc, item, s->inside, made + i * bytes);
	}
	*array_at(s, in) = made;
	*count_at(s, in) = (unsigned)n;
}

static void
build_value(yaml_document_t *doc, const yaml_node_t *node, const struct setting *s, char *in)
{
	if (kind_is_text(s->kind)) {
		free(*text_at(s, in)); /* a pair may be given again, by what stands in for a rule */
		*text_at(s, in) = mem_strdup(scalar(node));
		return;
	}
	switch (s->kind) {
	case KIND_GROUP:
		build_group(doc, node, s->inside, in + s->at);
		return;
	case KIND_LIST:
	case KIND_GROUPS:
		build_array(doc, node, s, in);
		return;
	case KIND_SWITCH:
		*(bool *)(in + s->at) = strcmp(scalar(node), "true") == 0;
		return;
	case KIND_SHARE:
		*(double *)(void *)(in + s->at) = strtod(scalar(node), NULL);
		return;
	default: /* whole numbers and places in a list of words */
		build_number(s, in + s->at, scalar(node));
		return;
	}
}

/* Pairs stand in the order of the rows, but for what is added behind them. */
static const struct setting *
row_of(const struct setting *rows, const struct setting *next, const char *key)
{
	for (const struct setting *s = next; s->key; s++)
		if (strcmp(s->key, key) == 0)
			return s;
	for (const struct setting *s = rows; s->key; s++)
		if (strcmp(s->key, key) == 0)
			return s;
	return NULL;
}

static void
build_group(yaml_document_t *doc, const yaml_node_t *node, const struct setting *rows, char *in)
{
	const struct setting *next = rows;
	assert(node && node->type == YAML_MAPPING_NODE);
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	for (; pair < node->data.mapping.pairs.top; pair++) {
		const char *key = scalar(yaml_document_get_node(doc, pair->key));
		const struct setting *s = row_of(rows, next, key);
		assert(s);
		build_value(doc, yaml_document_get_node(doc, pair->value), s, in);
		next = s + 1;
	}
}

void
schema_build(struct config *c, yaml_document_t *doc)
{
	memset(c, 0, sizeof *c);
	build_group(doc, yaml_document_get_root_node(doc), schema_top, (char *)c);
}

/* ---- copied and freed ---------------------------------------------------------------------- */

static void own_group(const struct setting *rows, char *in);

/* The elements become its own. */
static void
own_array(const struct setting *s, char *in)
{
	unsigned n = *count_at(s, in);
	size_t bytes = s->kind == KIND_LIST ? sizeof(char *) : s->bytes;
	char *made = n ? mem_alloc(n * bytes) : NULL;
	if (n)
		memcpy(made, *array_at(s, in), n * bytes);
	*array_at(s, in) = made;
	for (unsigned i = 0; i < n; i++)
		if (s->kind == KIND_LIST)
			((char **)(void *)made)[i] = mem_strdup(((char **)(void *)made)[i]);
		else
			own_group(s->inside, made + i * bytes);
}

static void
own_group(const struct setting *rows, char *in)
{
	for (const struct setting *s = rows; s->key; s++) {
		if (kind_is_text(s->kind) && *text_at(s, in))
			*text_at(s, in) = mem_strdup(*text_at(s, in));
		else if (s->kind == KIND_GROUP)
			own_group(s->inside, in + s->at);
		else if (s->kind == KIND_LIST || s->kind == KIND_GROUPS)
			own_array(s, in);
	}
}

void
config_copy(struct config *to, const struct config *from)
{
	*to = *from;
	own_group(schema_top, (char *)to);
}

static void
free_group(const struct setting *rows, char *in)
{
	for (const struct setting *s = rows; s->key; s++) {
		if (kind_is_text(s->kind)) {
			free(*text_at(s, in));
		} else if (s->kind == KIND_GROUP) {
			free_group(s->inside, in + s->at);
		} else if (s->kind == KIND_LIST || s->kind == KIND_GROUPS) {
			char *elements = *array_at(s, in);
			for (unsigned i = 0; i < *count_at(s, in); i++)
				if (s->kind == KIND_LIST)
					free(((char **)(void *)elements)[i]);
				else
					free_group(s->inside, elements + i * s->bytes);
			free(elements);
		}
	}
}

void
schema_free(struct config *c)
{
	free_group(schema_top, (char *)c);
	memset(c, 0, sizeof *c);
}
