/* reading_load.c - one tree of all files: the one that is named and those that it includes.
 *
 * The settings of an included file count as if they were written at the end of the file that includes it.
 * Lists of groups (origins, routes) grow by it; of everything else two files must not say the same.
 */
#include "config/reading_inside.h"
#include "proxy/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_BYTES_MOST = 1 << 20,
	FILES_MOST = 1000,
	INCLUDES_DEEP = 8, /* files that include files */
	PATH_MOST = 4096,
};

static int
count_nodes(const yaml_document_t *doc)
{
	return (int)(doc->nodes.top - doc->nodes.start);
}

struct includes {
	struct reading *r;
	struct {
		dev_t dev;
		ino_t ino;
	} seen[FILES_MOST];
};

/* Nodes of another document, behind those of r->given; the number that its first one has there. */
static int
copy_nodes(struct reading *r, yaml_document_t *from)
{
	int base = count_nodes(&r->given), n = count_nodes(from);
	for (int id = 1; id <= n; id++) {
		const yaml_node_t *x = yaml_document_get_node(from, id);
		int made = x->type == YAML_SCALAR_NODE
				   ? yaml_document_add_scalar(&r->given, NULL, x->data.scalar.value,
							      (int)x->data.scalar.length,
							      x->data.scalar.style)
			   : x->type == YAML_SEQUENCE_NODE
				   ? yaml_document_add_sequence(&r->given, NULL,
								YAML_FLOW_SEQUENCE_STYLE)
				   : yaml_document_add_mapping(&r->given, NULL,
							       YAML_FLOW_MAPPING_STYLE);
		reading_node(r, made)->start_mark = x->start_mark;
	}
	for (int id = 1; id <= n; id++) {
		const yaml_node_t *x = yaml_document_get_node(from, id);
		if (x->type == YAML_SEQUENCE_NODE)
			for (yaml_node_item_t *i = x->data.sequence.items.start;
			     i < x->data.sequence.items.top; i++)
				yaml_document_append_sequence_item(&r->given, base + id, base + *i);
		else if (x->type == YAML_MAPPING_NODE)
			for (yaml_node_pair_t *p = x->data.mapping.pairs.start;
			     p < x->data.mapping.pairs.top; p++)
				yaml_document_append_mapping_pair(&r->given, base + id,
								  base + p->key, base + p->value);
	}
	return base + 1;
}

static bool
is_null(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE &&
	       node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !*reading_node_text(node);
}

static void
append_elements(struct reading *r, int list, int value)
{
	const yaml_node_t *node = reading_node(r, value);
	if (is_null(node))
		return;
	if (node->type != YAML_SEQUENCE_NODE) {
		yaml_document_append_sequence_item(&r->given, list, value);
		return;
	}
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++)
		yaml_document_append_sequence_item(&r->given, list, *i);
}

static const struct setting *
row_of(const struct setting *rows, const char *key)
{
	for (; rows->key; rows++)
		if (strcmp(rows->key, key) == 0)
			return rows;
	return NULL;
}

/* Adds the settings of the mapping from to the mapping into. */
static void
add_settings(struct reading *r, const struct setting *rows, const char *path, int into, int from)
{
	const yaml_node_t *source = reading_node(r, from);
	size_t n = (size_t)(source->data.mapping.pairs.top - source->data.mapping.pairs.start);
	char full[PATH_BYTES];
	for (size_t i = 0; i < n; i++) {
		yaml_node_pair_t pair = reading_node(r, from)->data.mapping.pairs.start[i];
		const char *key = reading_node_text(reading_node(r, pair.key));
		yaml_node_pair_t *first = reading_find_pair(r, reading_node(r, into), key);
		const struct setting *s = row_of(rows, key);
		if (!first) {
			yaml_document_append_mapping_pair(&r->given, into, pair.key, pair.value);
			continue;
		}
		reading_path(path, key, full);
		struct given g = reading_given_at(reading_node(r, pair.key)),
			     before = reading_given_at(reading_node(r, first->key));
		bool groups = reading_node(r, first->value)->type == YAML_MAPPING_NODE &&
			      reading_node(r, pair.value)->type == YAML_MAPPING_NODE;
		if (s && s->kind == KIND_GROUPS) {
			int list = yaml_document_add_sequence(&r->given, NULL,
							      YAML_FLOW_SEQUENCE_STYLE);
			reading_node(r, list)->start_mark =
				reading_node(r, first->value)->start_mark;
			append_elements(r, list, first->value);
			append_elements(r, list, pair.value);
			first->value = list;
		} else if (s && s->kind == KIND_GROUP && groups) {
			add_settings(r, s->inside, full, first->value, pair.value);
		} else {
			reading_fail(r, &g, "\"%s\" is given again, first in %s:%zu; keep one",
				     full, r->files[before.file], before.line);
		}
	}
}

static int include_all(struct includes *in, int list, const struct given *g, int depth);

/* Takes "include" out of a mapping. Returns the node of its paths; 0: it has none. */
static int
take_include(struct reading *r, int mapping, struct given *g)
{
	yaml_node_pair_t *pair = reading_find_pair(r, reading_node(r, mapping), "include");
	int value = pair ? pair->value : 0;
	if (!pair)
		return 0;
	*g = reading_given_at(reading_node(r, pair->key));
	reading_take_out(reading_node(r, mapping), pair);
	return value;
}

/* Its number, or FAILED. */
static int
add_file(struct includes *in, const struct given *g, const char *path, const struct stat *st)
{
	struct reading *r = in->r;
	for (unsigned i = 0; i < r->file_count; i++)
		if (in->seen[i].dev == st->st_dev && in->seen[i].ino == st->st_ino)
			return reading_fail(r, g, "include: %s is read already; keep one", path);
	if (r->file_count == FILES_MOST)
		return reading_fail(r, g, "include: more than %d files", FILES_MOST);
	in->seen[r->file_count].dev = st->st_dev;
	in->seen[r->file_count].ino = st->st_ino;
	r->files = mem_realloc(r->files, (r->file_count + 1) * sizeof *r->files);
	r->files[r->file_count] = mem_strdup(path);
	return (int)r->file_count++;
}

static int
read_file(struct includes *in, const struct given *g, const char *path, struct buf *text)
{
	struct stat st;
	int file = FAILED, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		reading_fail(in->r, g, "include: cannot read %s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MOST) {
		reading_fail(in->r, g, "include: %s is %s; is it a configuration?", path,
			     S_ISREG(st.st_mode) ? "larger than 1 MiB" : "no file");
	} else {
		ssize_t n = read(fd, buf_room(text, (size_t)st.st_size + 1), (size_t)st.st_size);
		buf_added(text, n > 0 ? (size_t)n : 0);
		file = n < 0 ? reading_fail(in->r, g, "include: cannot read %s: %s", path,
					    strerror(errno))
			     : add_file(in, g, path, &st);
	}
	if (fd >= 0)
		close(fd);
	return file;
}

static int
include_file(struct includes *in, const struct given *g, const char *path, int depth)
{
	struct reading *r = in->r;
	struct buf text = {0};
	yaml_document_t doc;
	int result = FAILED, file = read_file(in, g, path, &text);
	if (file != FAILED &&
	    reading_document(r, (unsigned)file, text.n ? text.p : "", text.n, &doc) == 0) {
		bool empty = count_nodes(&doc) == 0 || is_null(yaml_document_get_node(&doc, 1));
		int root = empty ? 0 : copy_nodes(r, &doc);
		yaml_document_delete(&doc);
		const yaml_node_t *top = (root ? reading_node(r, root) : NULL);
		struct given at = {.file = (size_t)file, .line = 1};
		if (top && top->type != YAML_MAPPING_NODE) {
			result = reading_fail(r, &at,
					      "settings belong here, as \"name: value\" lines; "
					      "begin with a name such as routes:");
		} else if (top) {
			int further = take_include(r, root, &at);
			add_settings(r, schema_top, "", 1, root);
			result = include_all(in, further, &at, depth + 1);
		} else {
			result = 0;
		}
	}
	buf_fini(&text);
	return result;
}

static int
is_shown(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');
	return d->d_name[0] != '.' && dot &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* All *.yaml and *.yml of a directory, by name. */
static int
include_directory(struct includes *in, const struct given *g, const char *dir, int depth)
{
	struct dirent **names = NULL;
	char path[PATH_MOST];
	int result = 0, n = scandir(dir, &names, is_shown, alphasort);
	if (n < 0)
		return reading_fail(in->r, g, "include: cannot read %s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name) >= PATH_MOST)
			result = reading_fail(in->r, g, "include: %s is too long", dir);
		else if (include_file(in, g, path, depth) < 0)
			result = FAILED;
		free(names[i]);
	}
	free(names);
	return result;
}

/* A path is looked for beside the file that names it. */
static int
include_path(struct includes *in, const struct given *g, const char *named, int depth)
{
	struct reading *r = in->r;
	char path[PATH_MOST];
	struct stat st;
	const char *by = r->files[g->file], *slash = strrchr(by, '/');
	int n = *named == '/' || !slash
			? snprintf(path, sizeof path, "%s", named)
			: snprintf(path, sizeof path, "%.*s/%s", (int)(slash - by), by, named);
	if (!*named || n >= PATH_MOST || strpbrk(named, "*?"))
		return reading_fail(r, g,
				    "include: \"%.100s\" is no path; write that of a file, or of a "
				    "directory, whose *.yaml are read",
				    named);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return include_directory(in, g, path, depth);
	return include_file(in, g, path, depth);
}

static int
include_node(struct includes *in, int id, int depth)
{
	struct reading *r = in->r;
	const yaml_node_t *node = reading_node(r, id);
	struct given g = reading_given_at(node);
	char named[PATH_MOST];
	if (node->type != YAML_SCALAR_NODE)
		return reading_fail(r, &g, "include: write a list of paths: [ conf.d, ... ]");
	snprintf(named, sizeof named, "%s",
		 reading_node_text(node)); /* nodes move when others are added */
	return include_path(in, &g, named, depth);
}

/* The files that are named in a node, or 0. */
static int
include_all(struct includes *in, int named, const struct given *g, int depth)
{
	struct reading *r = in->r;
	int result = 0;
	if (!named)
		return 0;
	if (!r->in.is_file)
		return reading_fail(r, g, "include: only files can include others");
	if (depth >= INCLUDES_DEEP)
		return reading_fail(r, g,
				    "include: more than %d files lie within one another; name "
				    "them all in one",
				    INCLUDES_DEEP);
	const yaml_node_t *list = reading_node(r, named);
	if (list->type != YAML_SEQUENCE_NODE)
		return include_node(in, named, depth);
	size_t n = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
	for (size_t i = 0; i < n; i++) {
		int id = reading_node(r, named)->data.sequence.items.start[i];
		if (include_node(in, id, depth) < 0)
			result = FAILED;
	}
	return result;
}

int
reading_load(struct reading *r)
{
	struct stat st;
	r->files = mem_alloc(sizeof *r->files);
	r->files[0] = mem_strdup(r->in.name ? r->in.name : "");
	r->file_count = 1;
	if (!r->in.text)
		return 0;
	if (reading_document(r, 0, r->in.text, r->in.n, &r->given) < 0)
		return FAILED;
	r->has_given = true;
	const yaml_node_t *root = yaml_document_get_root_node(&r->given);
	if (!root || root->type != YAML_MAPPING_NODE)
		return 0;
	struct includes *in = NEW(struct includes);
	in->r = r;
	if (r->in.is_file && stat(r->in.name, &st) == 0) {
		in->seen[0].dev = st.st_dev;
		in->seen[0].ino = st.st_ino;
	}
	struct given at = {0};
	int named = take_include(r, 1, &at);
	int result = include_all(in, named, &at, 0);
	free(in);
	return result;
}
