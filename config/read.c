/* read.c - walks a YAML document along the rows of schema.c and writes it anew: every setting
 * there, numbers without units, words as numbers. Errors are reported here, with their lines.
 */
#include "config/read.h"

#include "config/schema.h"
#include "config/suggest.h"
#include "config/units.h"
#include "proxy/base/address.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/network.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

enum { PATH_BYTES = 64, TEXT_BYTES = 4096, MOST_NODES = 200000, FAILED = -1, ABSENT = 0 };

struct reading {
	struct reading_input in;
	yaml_document_t given, made;
	bool has_given;
	char *err;
	size_t err_bytes;
};

/* One value as somebody gave it. */
struct given {
	const char *text;
	const char *flag; /* from the command line, else */
	size_t line;	  /* from the file; 0: neither */
};

/* ---- saying what is wrong ------------------------------------------------------------------ */

static size_t
print_place(const struct reading *r, const struct given *g, char *out, size_t n)
{
	int used = 0;
	if (g->flag)
		used = snprintf(out, n, "%s: ", g->flag);
	else if (g->line)
		used = snprintf(out, n, "%s:%zu: ", r->in.name, g->line);
	else
		*out = '\0';
	return used < (int)n ? (size_t)used : n - 1;
}

/* Always FAILED, so that callers can return it. */
__attribute__((format(printf, 3, 4))) static int
fail(struct reading *r, const struct given *g, const char *fmt, ...)
{
	size_t at = print_place(r, g, r->err, r->err_bytes);
	va_list args;
	va_start(args, fmt);
	vsnprintf(r->err + at, r->err_bytes - at, fmt, args);
	va_end(args);
	return FAILED;
}

static struct given
given_at(const yaml_node_t *node)
{
	return (struct given){.line = node->start_mark.line + 1};
}

static const char *
path_join(const char *path, const char *key, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s%s%s", path, *path ? "." : "", key);
	return out;
}

/* The path of the one group that has a setting called key, for one written a level too high or low.
 */
static bool
find_elsewhere(const struct setting *rows, const char *path, const char *key, char out[PATH_BYTES])
{
	char here[PATH_BYTES];
	for (; rows->key; rows++) {
		path_join(path, rows->key, here);
		if (strcmp(rows->key, key) == 0) {
			memcpy(out, here, PATH_BYTES);
			return true;
		}
		if (rows->kind == KIND_GROUP && find_elsewhere(rows->inside, here, key, out))
			return true;
	}
	return false;
}

static const char *
find_nearest(const struct setting *rows, const char *key)
{
	const char *nearest = NULL;
	for (; rows->key; rows++) {
		if (suggest_is_near(key, rows->key) &&
		    (!nearest || suggest_distance(key, rows->key) < suggest_distance(key, nearest)))
			nearest = rows->key;
	}
	return nearest;
}

static int
fail_unknown(struct reading *r, const struct given *g, const struct setting *rows, const char *path)
{
	char full[PATH_BYTES], other[PATH_BYTES], known[512] = "";
	path_join(path, g->text, full);
	const char *nearest = find_nearest(rows, g->text);
	if (nearest)
		return fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full,
			    nearest);
	if (find_elsewhere(schema_top, "", g->text, other))
		return fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full, other);
	for (; rows->key; rows++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", rows->key);
	return fail(r, g, "there is no setting \"%s\"; the settings here are: %s", full, known);
}

/* ---- single values ------------------------------------------------------------------------- */

static int
add_scalar(struct reading *r, const char *text, bool quoted)
{
	/* libyaml copies the text; its prototype is older than const */
	return yaml_document_add_scalar(&r->made, NULL, (yaml_char_t *)(uintptr_t)text, -1,
					quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
					       : YAML_PLAIN_SCALAR_STYLE);
}

static bool
is_plain_ascii(const char *z)
{
	for (; *z; z++)
		if (*z < ' ' || *z > '~')
			return false;
	return true;
}

/* http[s]://host[:port], as a length without the slash that browsers add; 0: it is not. */
static size_t
origin_length(const char *z)
{
	size_t scheme = strncasecmp(z, "https://", 8) == 0  ? 8
			: strncasecmp(z, "http://", 7) == 0 ? 7
							    : 0;
	if (!scheme)
		return 0;
	const char *host = z + scheme;
	size_t n = *host == '['
			   ? strcspn(host, "]") + 1
			   : strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789.-_");
	if (n == 0 || (*host == '[' && host[n - 1] != ']'))
		return 0;
	const char *end = host + n;
	if (*end == ':') {
		size_t digits = strspn(end + 1, "0123456789");
		if (digits < 1 || digits > 5 || atoi(end + 1) < 1 || atoi(end + 1) > 65535)
			return 0;
		end += 1 + digits;
	}
	return strcmp(end, "") == 0 || strcmp(end, "/") == 0 ? (size_t)(end - z) : 0;
}

/* Which of "keep|ignore|sort"; -1: none. */
static int
find_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (int i = 0; *words; i++) {
		size_t len = strcspn(words, "|");
		if (len == n && memcmp(words, word, n) == 0)
			return i;
		words += len + (words[len] == '|');
	}
	return -1;
}

static int
fail_words(struct reading *r, const struct given *g, const char *path, const char *words)
{
	char copy[128], *rest, *nearest = NULL;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *w = strtok_r(copy, "|", &rest); w; w = strtok_r(NULL, "|", &rest))
		if (suggest_is_near(g->text, w))
			nearest = w;
	if (nearest)
		return fail(r, g, "%s: \"%.60s\" is not known; did you mean \"%s\"?", path, g->text,
			    nearest);
	return fail(r, g, "%s: \"%.60s\" is not known; write one of %s", path, g->text, words);
}

static int
read_text(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	  const char *path)
{
	char cut[TEXT_BYTES];
	struct address a;
	struct network net;
	if (s->words && kind != KIND_CHOICE && strcmp(g->text, s->words) == 0)
		return ABSENT;
	if (!*g->text || !is_plain_ascii(g->text))
		return fail(r, g, "%s: write it in one line of plain ASCII characters", path);
	if (strlen(g->text) >= sizeof(cut))
		return fail(r, g, "%s: too long; at most %zu characters", path, sizeof(cut) - 1);
	snprintf(cut, sizeof(cut), "%s", g->text);
	if (kind == KIND_CHOICE && find_word(s->words, cut) < 0)
		return fail_words(r, g, path, s->words);
	if (kind == KIND_ADDRESS && address_parse(cut, &a) < 0)
		return fail(r, g,
			    "%s: \"%.60s\" is not an address to listen on; write IP:PORT such as "
			    "127.0.0.1:8080, [::1]:8080 or *:8080",
			    path, cut);
	if (kind == KIND_NETWORK && find_word("on|true|yes", cut) >= 0)
		strcpy(cut, "any");
	if (kind == KIND_NETWORK && network_parse(cut, &net) < 0)
		return fail(r, g,
			    "%s: \"%.60s\" is not a network; write one such as 10.0.0.0/8, "
			    "192.0.2.1, 2001:db8::/32 or any, or off",
			    path, cut);
	if (kind == KIND_URL) {
		size_t n = origin_length(cut);
		if (n == 0)
			return fail(r, g,
				    "%s: \"%.100s\" is not an origin; write http://host:port or "
				    "https://host, without user, path or query",
				    path, cut);
		cut[n] = '\0';
	}
	return add_scalar(r, cut, true);
}

static int
read_switch(struct reading *r, const struct given *g, const char *path)
{
	static const char on[] = "on|true|yes", off[] = "off|false|no";
	bool is_on = find_word(on, g->text) >= 0;
	if (!is_on && find_word(off, g->text) < 0)
		return fail(r, g, "%s: \"%.60s\" is not a switch; write on or off", path, g->text);
	return add_scalar(r, is_on ? "true" : "false", false);
}

static int
read_share(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	double v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if (units_parse_share(g->text, &v) < 0)
		return fail(r, g, "%s: \"%.60s\" is not a share; write one such as 1%% or 0.01",
			    path, g->text);
	if (v < s->least || v > s->most)
		return fail(r, g, "%s: %.60s is out of range; write a share from %s to %s", path,
			    g->text, units_print_share(s->least, least),
			    units_print_share(s->most, most));
	snprintf(text, sizeof(text), "%.17g", v);
	return add_scalar(r, text, false);
}

/* How the kinds of whole numbers are read and printed. */
static const struct quantity {
	int (*parse)(const char *z, uint64_t *v);
	char *(*print)(uint64_t v, char out[UNITS_BYTES]);
	uint64_t per_unit; /* of what parse gives */
	const char *what;
} quantities[] = {
	[KIND_COUNT] = {units_parse_count, units_print_count, 1,
			"number; write one such as 1000, 50k or 10M"},
	[KIND_BYTES] = {units_parse_bytes, units_print_bytes, 1,
			"size; write one such as 64MiB or 100GiB"},
	[KIND_ROOM] = {units_parse_room, units_print_room, 1,
		       "size or share; write one such as 20GiB or 5%"},
	[KIND_SECONDS] = {units_parse_ms, units_print_ms, 1000,
			  "duration in whole seconds; write one such as 30s, 5m or 24h"},
	[KIND_MILLIS] = {units_parse_ms, units_print_ms, 1,
			 "duration; write one such as 500ms, 30s or 5m"},
};

static int
read_number(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	const struct quantity *q = &quantities[s->kind];
	uint64_t v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if (s->words && strcmp(g->text, s->words) == 0)
		return add_scalar(r, "0", false);
	if (q->parse(g->text, &v) < 0 || v % q->per_unit)
		return fail(r, g, "%s: \"%.60s\" is not a %s%s%s", path, g->text, q->what,
			    s->words ? ", or " : "", s->words ? s->words : "");
	v /= q->per_unit;
	if ((double)v < s->least || (double)v > s->most)
		return fail(r, g, "%s: %.60s is out of range; write %s to %s%s%s", path, g->text,
			    q->print((uint64_t)s->least * q->per_unit, least),
			    q->print((uint64_t)s->most * q->per_unit, most),
			    s->words ? ", or " : "", s->words ? s->words : "");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return add_scalar(r, text, false);
}

static int
read_word(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	char text[UNITS_BYTES];
	int i = find_word(s->words, g->text);
	if (i < 0)
		return fail_words(r, g, path, s->words);
	snprintf(text, sizeof(text), "%d", i);
	return add_scalar(r, text, false);
}

static int
read_value(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	switch (s->kind) {
	case KIND_SWITCH:
		return read_switch(r, g, path);
	case KIND_SHARE:
		return read_share(r, s, g, path);
	case KIND_WORD:
		return read_word(r, s, g, path);
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_ROOM:
	case KIND_SECONDS:
	case KIND_MILLIS:
		return read_number(r, s, g, path);
	default:
		return read_text(r, s, s->kind == KIND_LIST ? s->each : s->kind, g, path);
	}
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
		return fail(r, g, "%s: one value belongs here, not a list or a group of settings",
			    path);
	g->text = (const char *)node->data.scalar.value;
	if (strlen(g->text) != node->data.scalar.length)
		return fail(r, g, "%s: the value contains a zero byte; remove it", path);
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
		return fail(r, group, "%s is missing: %s", path, s->sentence);
	return read_value(r, s, &g, path);
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
		id = read_value(r, s, g, path);
	else
		id = given_scalar(r, node, path, g); /* says what is wrong */
	if (id == FAILED)
		return FAILED;
	if (id == ABSENT) /* the word for an empty list */
		return 0;
	if (id > MOST_NODES) /* aliases of aliases can make much of little */
		return fail(r, g, "%s: there are too many settings", path);
	return yaml_document_append_sequence_item(&r->made, list, id) ? 0 : FAILED;
}

static int
read_list(struct reading *r, const struct setting *s, const char *path, yaml_node_t *node)
{
	int list = yaml_document_add_sequence(&r->made, NULL, YAML_FLOW_SEQUENCE_STYLE);
	struct given g = {.text = s->fallback};
	const struct config_flag *f = next_flag(r, path, NULL);
	if (f) {
		for (; f; f = next_flag(r, path, f)) {
			g = given_flag(f);
			if (read_element(r, s, path, list, NULL, &g) < 0)
				return FAILED;
		}
	} else if (!node) {
		if (*g.text && read_element(r, s, path, list, NULL, &g) < 0)
			return FAILED;
	} else if (node->type != YAML_SEQUENCE_NODE) {
		if (read_element(r, s, path, list, node, &g) < 0)
			return FAILED;
	} else {
		yaml_node_item_t *item = node->data.sequence.items.start;
		for (; item < node->data.sequence.items.top; item++)
			if (read_element(r, s, path, list, yaml_document_get_node(&r->given, *item),
					 &g) < 0)
				return FAILED;
	}
	return list;
}

static int
read_setting(struct reading *r, const struct setting *s, const char *path, yaml_node_t *node,
	     const struct given *group)
{
	if (s->kind == KIND_GROUP)
		return read_group(r, s->inside, path, node, NULL);
	if (s->kind == KIND_LIST || s->kind == KIND_GROUPS)
		return read_list(r, s, path, node);
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
		print_place(r, g, place, sizeof(place));
		log_warning("%s%s.%s is called %s.%s now; the old name goes with the next release",
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
		return fail(r, &g, "%s: settings belong here, as \"name: value\" lines",
			    *path ? path : "the file");
	yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	for (; pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *key = yaml_document_get_node(&r->given, pair->key);
		if (given_scalar(r, key, "a name", &g) < 0)
			return FAILED;
		rename_key(r, path, key, &g);
		if (!find_row(rows, g.text))
			return fail_unknown(r, &g, rows, path);
		const yaml_node_pair_t *first = find_pair(r, node, g.text);
		if (first != pair)
			return fail(r, &g, "\"%s\" is given again, first on line %zu; keep one",
				    path_join(path, g.text, full),
				    yaml_document_get_node(&r->given, first->key)->start_mark.line +
					    1);
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
		path_join(path, s->key, full);
		int id = first && s == rows
				 ? read_value(r, s, first, full)
				 : read_setting(r, s, full, node_at(r, pair ? pair->value : 0),
						&here);
		if (id == FAILED)
			return FAILED;
		if (id != ABSENT)
			yaml_document_append_mapping_pair(&r->made, made,
							  add_scalar(r, s->key, false), id);
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
	return fail(r, &g, "this is not YAML (%s); %s", problem, way_out);
}

/* Loads the one document of the text. */
static int
load_document(struct reading *r)
{
	yaml_parser_t p;
	yaml_document_t second;
	int result = FAILED;
	if (!yaml_parser_initialize(&p))
		return fail(r, &(struct given){0}, "not enough memory to read the configuration");
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
		fail(r, &g, "a second document begins; keep one");
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
		return fail(r, &(struct given){0}, "not enough memory to read the configuration");
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
	if (r->has_given && !g.flag &&
	    !g.line) /* a default that what is written does not go with */
		snprintf(out, n, "%s: ", r->in.name);
	else
		print_place(r, &g, out, n);
}
