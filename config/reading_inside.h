/* reading_inside.h - what the files of a reading share: reading.c walks the document,
 * reading_value.c reads one value, reading_fail.c says what is wrong with it.
 */
#ifndef CONFIG_READING_INSIDE_H
#define CONFIG_READING_INSIDE_H

#include "config/reading.h"
#include "config/schema.h"

#include <yaml.h>

enum { PATH_BYTES = 64, FIELD_LINE_BYTES = 4096, FAILED = -1, ABSENT = 0 };

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

/* "cache" and "disk" are "cache.disk". Returns out. */
const char *reading_path(const char *path, const char *key, char out[PATH_BYTES]);

/* Where it was given, as it begins a sentence: "edge.yaml:12:
 * ", "--disk: ", "". The bytes printed. */
size_t reading_print_place(const struct reading *r, const struct given *g, char *out, size_t n);
/* Writes the sentence. Always FAILED, so that callers can return it. */
int reading_fail(struct reading *r, const struct given *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* There is no setting g->text among rows; path is theirs. */
int reading_fail_unknown(struct reading *r, const struct given *g, const struct setting *rows,
			 const char *path);

/* One value, checked and in canonical form: its node in the document that is made, or FAILED. */
int
reading_value(struct reading *r, const struct setting *s, const struct given *g, const char *path);
int reading_add_scalar(struct reading *r, const char *text, bool quoted);

#endif
