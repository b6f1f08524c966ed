/* reading_inside.h - what the files of a reading share: reading.c walks the document,
 * reading_value.c reads one value, reading_fail.c says what is wrong with it.
 */
#ifndef CONFIG_READING_INSIDE_H
#define CONFIG_READING_INSIDE_H

#include "config/reading.h"
#include "config/schema.h"
#include "proxy/base/buf.h"

#include <yaml.h>

enum { PATH_BYTES = 64, FIELD_LINE_BYTES = 4096, FAILED = -1, ABSENT = 0 };

/* One value as somebody gave it. */
struct given {
	const char *text;
	const char *flag; /* from the command line, else */
	size_t line;	  /* from a file; 0: neither */
	size_t file;	  /* which of reading.files */
	bool alone;	  /* it is not in a list */
};

/* A sentence about a setting that is wrong. */
struct reading_mistake {
	char *sentence;
	size_t file, line; /* 0: of the command line, which comes first */
	char setting[PATH_BYTES];
};

struct reading {
	struct reading_input in;
	yaml_document_t given,
		made; /* given: of all files; made: every setting, in canonical form */
	bool has_given, has_made;
	char **files; /* names; the first is in.name */
	unsigned file_count;
	struct reading_mistake *mistakes;
	unsigned mistake_count;
	unsigned pairs;	     /* that merge keys brought */
	unsigned stand_ins;  /* for routes that are wrong */
	bool is_full;	     /* of settings: no more is read */
	bool is_whole;	     /* made has a value for every setting */
	bool is_quiet;	     /* a mistake is told already */
	char at[PATH_BYTES]; /* the setting that is read */
};

/* "cache" and "disk" are "cache.disk". Returns out. */
const char *reading_path(const char *path, const char *key, char out[PATH_BYTES]);

/* The next flag for a setting, behind one or NULL; its value. */
const struct config_flag *
reading_next_flag(const struct reading *r, const char *path, const struct config_flag *after);
struct given reading_given_flag(const struct config_flag *f);

/* Where it was given, as it begins a sentence: "edge.yaml:12:
 * ", "--disk: ", "". The bytes printed. */
size_t reading_print_place(const struct reading *r, const struct given *g, char *out, size_t n);
/* Adds the sentence to the mistakes. Always FAILED, so that callers can return it. */
int reading_fail(struct reading *r, const struct given *g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* There is no setting g->text among rows; path is theirs. */
int reading_fail_unknown(struct reading *r, const struct given *g, const struct setting *rows,
			 const char *path);

/* One value, checked and in canonical form: its node in the document that is made, or FAILED. */
int
reading_value(struct reading *r, const struct setting *s, const struct given *g, const char *path);
int reading_add_scalar(struct reading *r, const char *text, bool quoted);
/* The same of a text of that kind. ABSENT: it is the word for none. */
int reading_text(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
		 const char *path);
/* "no" and its kin, of a setting whose word is none or off. */
bool reading_is_off(const struct setting *s, const char *text);
/* The place of a word in "keep|ignore|sort"; -1: it is none of them. */
int reading_find_word(const char *words, const char *word);
int reading_fail_words(struct reading *r, const struct given *g, const char *path,
		       const struct setting *s);

/* schema_build.c: a config of a document in canonical form: every setting there, numbers without units. */
void schema_build(struct config *c, yaml_document_t *doc);

/* Node number id of the given document; NULL: there is none. */
yaml_node_t *reading_node(struct reading *r, int id);
/* Of one value; "": it is a list or a group. */
const char *reading_node_text(const yaml_node_t *node);
/* Leaves a pair out of its mapping. */
void reading_take_out(yaml_node_t *mapping, yaml_node_pair_t *pair);
/* The place where a node is written. */
struct given reading_given_at(const yaml_node_t *node);
/* The first pair of a mapping with this key, or NULL. */
yaml_node_pair_t *reading_find_pair(struct reading *r, const yaml_node_t *mapping, const char *key);

/* One file, with merge keys and variables carried out. 0 or FAILED: then *doc is nothing. */
int reading_document(struct reading *r, unsigned file, const char *text, size_t n,
		     yaml_document_t *doc);
/* Loads r->in and all that it includes into r->given, variables and merge keys carried out. 0 or
 * FAILED. */
int reading_load(struct reading *r);
/* Other words for a setting, and other places of it, become those of the rows. */
void reading_guess(struct reading *r);

#endif
