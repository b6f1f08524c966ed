/* schema.h - the settings as rows: what each is called, means, defaults to and may be.
 *
 * Answers   one table for reading, checking, printing and documenting; private to config/.
 * Memory    rows are constant; schema_free frees what schema_build put into a config.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

struct config;

enum kind {
	KIND_TEXT,    /* char *, as the next five */
	KIND_ADDRESS, /* to listen on */
	KIND_URL,     /* of an origin */
	KIND_NETWORK, /* addresses: 10.0.0.0/8, 192.0.2.1, any */
	KIND_FIELD,   /* of a header: "Name: value" */
	KIND_CHOICE,  /* one of words */
	KIND_WORD,    /* enum: the place of the word in words */
	KIND_SWITCH,  /* bool */
	KIND_COUNT,   /* unsigned or uint64_t, as the next three */
	KIND_BYTES,
	KIND_ROOM, /* bytes, or a share (units_parse_room) */
	KIND_RATE, /* bytes in a time (units_parse_rate) */
	KIND_SECONDS,
	KIND_MILLIS,
	KIND_SHARE,  /* double, 0..1 */
	KIND_LIST,   /* char ** and a count */
	KIND_GROUP,  /* a struct of settings */
	KIND_GROUPS, /* an allocated array of such structs and a count */
};

struct setting {
	enum kind kind, each; /* each: the kind of a list's elements */
	size_t at, count_at;  /* offsets in the struct that holds the member */
	unsigned bytes;	      /* width of the member; of one element of an array */
	const char *key;
	const char *fallback; /* the default as one would write it; NULL: must be given */
	const char
		*words; /* of choices: "keep|ignore|sort"; else what 0 or NULL is called: "auto" */
	const char *
		nobody; /* the element of a list that is given and empty; NULL: as if it were not given */
	bool plus_one;	    /* a number is kept as one more, so that 0 is the word alone */
	double least, most; /* of numbers; the word for 0 is allowed besides */
	const struct setting *inside; /* rows of a group */
	const char *sentence;
};

extern const struct setting schema_top[]; /* tables end with a row without a key */

/* From canonical YAML (all settings there, numbers without units) to a config, by libcyaml. 0, or
 * -1 and libcyaml's words: our bug, since everything was checked before. */
int
schema_build(struct config *c, const unsigned char *yaml, size_t n, char *err, size_t err_bytes);
void schema_free(struct config *c);

#endif
