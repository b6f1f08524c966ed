/* reading_fail.c - what is wrong, in one sentence: where, what, and what would be right. */
#include "config/reading_inside.h"
#include "config/suggest.h"

#include <stdarg.h>
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
		used = snprintf(out, n, "%s:%zu: ", r->in.name, g->line);
	else
		*out = '\0';
	return used < (int)n ? (size_t)used : n - 1;
}

int
reading_fail(struct reading *r, const struct given *g, const char *fmt, ...)
{
	size_t at = reading_print_place(r, g, r->err, r->err_bytes);
	va_list args;
	va_start(args, fmt);
	vsnprintf(r->err + at, r->err_bytes - at, fmt, args);
	va_end(args);
	return FAILED;
}

/* The path of the one group that has a setting called key,
 * for one written a level too high or low. */
static bool
find_elsewhere(const struct setting *rows, const char *path, const char *key, char out[PATH_BYTES])
{
	char here[PATH_BYTES];
	for (; rows->key; rows++) {
		reading_path(path, rows->key, here);
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

int
reading_fail_unknown(struct reading *r, const struct given *g, const struct setting *rows,
		     const char *path)
{
	char full[PATH_BYTES], other[PATH_BYTES], known[512] = "";
	reading_path(path, g->text, full);
	const char *nearest = find_nearest(rows, g->text);
	if (nearest)
		return reading_fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full,
				    nearest);
	if (find_elsewhere(schema_top, "", g->text, other))
		return reading_fail(r, g, "there is no setting \"%s\"; did you mean \"%s\"?", full,
				    other);
	for (; rows->key; rows++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", rows->key);
	return reading_fail(r, g, "there is no setting \"%s\"; the settings here are: %s", full,
			    known);
}
