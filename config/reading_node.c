/* reading_node.c - nodes of the documents that libyaml made of the files. */
#include "config/reading_inside.h"

#include <string.h>

yaml_node_t *
reading_node(struct reading *r, int id)
{
	return yaml_document_get_node(&r->given, id);
}

const char *
reading_node_text(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

struct given
reading_given_at(const yaml_node_t *node)
{
	return (struct given){.line = node->start_mark.line + 1, .file = node->start_mark.index};
}

yaml_node_pair_t *
reading_find_pair(struct reading *r, const yaml_node_t *mapping, const char *key)
{
	yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	for (; pair < mapping->data.mapping.pairs.top; pair++) {
		const yaml_node_t *k = yaml_document_get_node(&r->given, pair->key);
		if (k->type == YAML_SCALAR_NODE && strcmp((char *)k->data.scalar.value, key) == 0)
			return pair;
	}
	return NULL;
}

void
reading_take_out(yaml_node_t *mapping, yaml_node_pair_t *pair)
{
	yaml_node_pair_t *top = mapping->data.mapping.pairs.top;
	memmove(pair, pair + 1, (size_t)(top - pair - 1) * sizeof *pair);
	mapping->data.mapping.pairs.top--;
}
