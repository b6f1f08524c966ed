/* load.h - from YAML and flags to settings that are well, or to one sentence.
 *
 * Errors    a sentence with file, line, what is wrong and what would be right.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include <stddef.h>

struct config;

/* A setting given on the command line: overrides the file. Several for one list
 * (listen, origins) are its elements. */
struct config_flag {
	const char *flag;    /* "--disk", for errors */
	const char *setting; /* "cache.disk" */
	const char *text;    /* as in the file: "100GiB" */
};

/* Replaces c by the defaults, over them the YAML file (path NULL: none), over that the flags; each
 * value is checked by itself and against the others. -1 and a sentence, c is then untouched. */
int config_load_flags(struct config *c, const char *path, const struct config_flag *flags,
		      size_t flag_count, char *err, size_t err_bytes);
/* The same, and every mistake is told, in the order of the file. */
typedef void config_complain_fn(void *ctx, const char *sentence);
int config_load(struct config *c, const char *path, const struct config_flag *flags,
		size_t flag_count, config_complain_fn *complain, void *ctx);
/* The same from n bytes of text; errors use name for the file. */
int config_parse(struct config *c, const char *name, const char *text, size_t n, char *err,
		 size_t err_bytes);

/* A running proxy needs more: all settings go together, and there is an origin. -1 and a
 * sentence. */
int config_validate(const struct config *c, char *err, size_t err_bytes);

/* Where a setting ("cache.disk", "origins.1.ca_file") was given: "edge.yaml:12: ", "--disk: ", or
 * "" when it has its default. Reads the file again. */
void config_place(const char *path, const struct config_flag *flags, size_t flag_count,
		  const char *setting, char *out, size_t n);

/* The same for many settings: the file is read once. Path and flags must outlive it. */
struct config_places;
struct config_places *
config_places_open(const char *path, const struct config_flag *flags, size_t flag_count);
void config_places_find(struct config_places *p, const char *setting, char *out, size_t n);
void config_places_close(struct config_places **p);

#endif
