/* reading_place.c - where a setting was given its value: by a flag, or on which line of which file. */
#include "config/load.h"
#include "config/name.h"
#include "config/reading_inside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct config_flag *
reading_next_flag(const struct reading *r, const char *path, const struct config_flag *after)
{
	const struct config_flag *f = after ? after + 1 : r->in.flags;
	for (; f && f < r->in.flags + r->in.flag_count; f++)
		if (strcmp(f->setting, path) == 0)
			return f;
	return NULL;
}

struct given
reading_given_flag(const struct config_flag *f)
{
	return (struct given){.text = f->text, .flag = f->flag};
}

/* The flag that gave a setting, or all of the list or group that holds it. */
static const struct config_flag *
find_flag(const struct reading *r, const char *setting)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s", setting);
	const struct config_flag *f = reading_next_flag(r, path, NULL);
	for (char *dot; !f && (dot = strrchr(path, '.')) != NULL;) {
		unsigned i = (unsigned)atoi(dot + 1); /* of a list's element, else 0 */
		*dot = '\0';
		f = reading_next_flag(r, path, NULL);
		while (f && i-- > 0 && reading_next_flag(r, path, f))
			f = reading_next_flag(r, path, f);
	}
	return f;
}

/* The value of a key in a mapping, or of a number in a list; NULL: there is none. */
static yaml_node_t *
find_inside(struct reading *r, yaml_node_t *node, const char *key)
{
	if (node->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *pair = reading_find_pair(r, node, key);
		return pair ? yaml_document_get_node(&r->given, pair->value) : NULL;
	}
	if (node->type != YAML_SEQUENCE_NODE || !isdigit((unsigned char)*key))
		return NULL;
	long i = atol(key), n = node->data.sequence.items.top - node->data.sequence.items.start;
	return i < n ? yaml_document_get_node(&r->given, node->data.sequence.items.start[i]) : NULL;
}

/* The node that is nearest to a setting in the files; *whole: it is that setting's. */
static yaml_node_t *
find_given(struct reading *r, const char *setting, bool *whole)
{
	yaml_node_t *node = r->has_given ? yaml_document_get_root_node(&r->given) : NULL;
	yaml_node_t *nearest = NULL;
	char key[PATH_BYTES];
	while (node && *setting) {
		size_t len = strcspn(setting, ".");
		snprintf(key, sizeof(key), "%.*s", (int)len, setting);
		setting += len + (setting[len] == '.');
		node = find_inside(r, node, key);
		nearest = node ? node : nearest;
	}
	*whole = node && !*setting;
	return nearest;
}

static struct given
place_of(struct reading *r, const char *setting)
{
	const struct config_flag *f = find_flag(r, setting);
	bool whole;
	const yaml_node_t *node = f ? NULL : find_given(r, setting, &whole);
	return f ? reading_given_flag(f) : node ? reading_given_at(node) : (struct given){0};
}

bool
reading_is_given(struct reading *r, const char *setting)
{
	bool whole;
	return find_flag(r, setting) || (find_given(r, setting, &whole) && whole);
}

void
reading_place(struct reading *r, const char *setting, char *out, size_t n)
{
	struct given g = place_of(r, setting);
	/* A default may not go with what is written in the file. */
	if (r->has_given && !g.flag && !g.line)
		snprintf(out, n, "%s: ", r->in.name);
	else
		reading_print_place(r, &g, out, n);
}

/* A mistake is of this setting, or of a group that lacks it. */
static bool
is_mistaken(struct reading *r, const char *setting)
{
	char name[CONFIG_NAME_BYTES];
	bool whole;
	const yaml_node_t *node = find_given(r, setting, &whole);
	struct given g = node ? reading_given_at(node) : (struct given){0};
	config_name(setting, name);
	for (unsigned i = 0; i < r->mistake_count; i++) {
		const struct reading_mistake *m = &r->mistakes[i];
		size_t n = strlen(m->setting);
		bool same = strcmp(name, m->setting) == 0 && g.line == m->line && g.file == m->file;
		/* A name that is misspelled may be that of a setting which is missing. */
		bool inside = !whole && strncmp(name, m->setting, n) == 0 &&
			      (!n || name[n] == '.' || !name[n]);
		if (same || inside)
			return true;
	}
	return false;
}

void
reading_add_mistake(struct reading *r, const char *setting, const char *why)
{
	char place[PATH_BYTES * 8];
	struct given g = place_of(r, setting);
	if (is_mistaken(r, setting)) /* it has another value than was meant */
		return;
	config_name(setting, r->at);
	if (g.flag || g.line || !r->has_given) {
		reading_fail(r, &g, "%s", why);
		return;
	}
	reading_place(r, setting, place, sizeof place);
	reading_fail(r, &g, "%s%s", place, why);
}
