/* reading.h - from YAML as people write it to a config, or to sentences with file and line.
 *
 * Answers   unknown and repeated keys, wrong shapes, units, ranges, words, defaults; variables of the
 *           environment and files that are included. Private to config/.
 */
#ifndef CONFIG_READING_H
#define CONFIG_READING_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_flag;

struct reading; /* one document, kept to say on which line something was given */

struct reading_input {
	const char *name; /* of the file, for errors */
	bool is_file;	  /* it may include others */
	const char *text; /* NULL: no file */
	size_t n;
	const struct config_flag *flags;
	size_t flag_count;
};

/* Always makes *out (reading_destroy it). 0, or -1 and mistakes. */
int reading_create(struct reading **out, const struct reading_input *in);
/* A config of what was read, with defaults where something is wrong, for rules to be held against the
 * rest. False: there is none, and *c is as it was. The caller's to free (schema_free). */
bool reading_build(struct reading *r, struct config *c);
void reading_destroy(struct reading **r);

/* Sentences, with file and line, in the order of the files; NULL behind the last one. */
const char *reading_mistake(const struct reading *r, unsigned i);
/* Adds a sentence about a setting ("routes.1.path"), if it has no mistake yet. */
void reading_add_mistake(struct reading *r, const char *setting, const char *why);

/* Whether a file or a flag says something of a setting; else it has its default. */
bool reading_is_given(struct reading *r, const char *setting);
/* "twice.yaml:7: ", "--disk: " or "": where a setting ("cache.disk") was given its value. */
void reading_place(struct reading *r, const char *setting, char *out, size_t n);

#endif
