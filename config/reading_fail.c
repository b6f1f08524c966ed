/* reading_fail.c - what is wrong, in one sentence: where, what, and what would be right. */
#include "config/reading_inside.h"
#include "config/suggest.h"
#include "proxy/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *
reading_path(const char *path, const char *key, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s%s%s", path, *path ? "." : "", key);
	return out;
}

size_t
reading_print_place(const struct reading *r, const struct given *g, char *out, size_t n)
{
	int used = 0;
	if (g->flag)
		used = snprintf(out, n, "%s: ", g->flag);
	else if (g->line)
		used = snprintf(out, n, "%s:%zu: ", r->files[g->file], g->line);
	else
		*out = '\0';
	return used < (int)n ? (size_t)used : n - 1;
}

enum { SENTENCE_BYTES = 1024, MISTAKES_MOST = 100 };

int
reading_fail(struct reading *r, const struct given *g, const char *fmt, ...)
{
	char sentence[SENTENCE_BYTES];
	size_t at = reading_print_place(r, g, sentence, sizeof sentence);
	va_list args;
	va_start(args, fmt);
	vsnprintf(sentence + at, sizeof sentence - at, fmt, args);
	va_end(args);
	if (r->is_quiet || r->mistake_count == MISTAKES_MOST)
		return FAILED;
	r->mistakes = mem_realloc(r->mistakes, (r->mistake_count + 1) * sizeof *r->mistakes);
	struct reading_mistake *m = &r->mistakes[r->mistake_count++];
	*m = (struct reading_mistake){.sentence = mem_strdup(sentence),
				      .file = g->flag || g->line ? g->file : SIZE_MAX,
				      .line = g->line};
	memcpy(m->setting, r->at, sizeof m->setting);
	/* They are told in the order of the files, and two of one line in the order of the rows. */
	for (; m > r->mistakes &&
	       (m[-1].file > m->file || (m[-1].file == m->file && m[-1].line > m->line));
	     m--) {
		struct reading_mistake before = m[-1];
		m[-1] = *m;
		*m = before;
	}
	return FAILED;
}

const char *
reading_mistake(const struct reading *r, unsigned i)
{
	return i < r->mistake_count ? r->mistakes[i].sentence : NULL;
}

/* The path of the one group that has a setting called key, for one written a level too high or low;
 * groups of which there may be many come last. */
static bool
find_elsewhere(const struct setting *rows, const char *path, const char *key, enum kind in,
	       char out[PATH_BYTES])
{
	char here[PATH_BYTES];
	for (; rows->key; rows++) {
		reading_path(path, rows->key, here);
		if (strcmp(rows->key, key) == 0) {
			memcpy(out, here, PATH_BYTES);
			return true;
		}
		if ((rows->kind == KIND_GROUP || rows->kind == in) &&
		    find_elsewhere(rows->inside, here, key, in, out))
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

/* "cache.disk" as a key is the setting disk in cache. */
static bool
is_path(const struct setting *rows, const char *key)
{
	size_t n = strcspn(key, ".");
	if (!key[n])
		return false;
	while (rows->key && (strlen(rows->key) != n || strncmp(rows->key, key, n) != 0))
		rows++;
	if (!rows->key || !rows->inside)
		return false;
	for (const struct setting *s = rows->inside; s->key; s++)
		if (strcmp(s->key, key + n + 1) == 0)
			return true;
	return is_path(rows->inside, key + n + 1);
}

int
reading_fail_unknown(struct reading *r, const struct given *g, const struct setting *rows,
		     const char *path)
{
	char full[PATH_BYTES], other[PATH_BYTES], known[512] = "";
	reading_path(path, g->text, full);
	const char *hint = suggest_hint(path, g->text), *nearest = find_nearest(rows, g->text);
	if (hint)
		return reading_fail(r, g, "there is no setting \"%s\"; %s", full, hint);
	if (is_path(rows, g->text))
		return reading_fail(r, g,
				    "\"%s\" is not read with a dot; write %.*s: { %s: ... }, or "
				    "%s: below %.*s: and indented",
				    full, (int)strcspn(g->text, "."), g->text,
				    strchr(g->text, '.') + 1, strchr(g->text, '.') + 1,
				    (int)strcspn(g->text, "."), g->text);
	if (nearest)
		return reading_fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full,
				    nearest);
	if (find_elsewhere(rows, path, g->text, KIND_GROUP, other) ||
	    find_elsewhere(schema_top, "", g->text, KIND_GROUP, other) ||
	    find_elsewhere(schema_top, "", g->text, KIND_GROUPS, other))
		return reading_fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full,
				    other);
	for (; rows->key; rows++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", rows->key);
	return reading_fail(r, g, "there is no setting \"%s\"; the settings here are: %s", full,
			    known);
}
