/* schema.h - the settings as rows: what each is called, means, defaults to and may be.
 *
 * Answers   one table for reading, checking, printing and documenting; private to config/.
 * Memory    rows are constant; schema_free frees what a config points to.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

struct config;

enum kind {
	KIND_TEXT,    /* char *, as all down to KIND_CHOICE (kind_is_text) */
	KIND_BODY,    /* of several lines */
	KIND_FILE,    /* the path of a file or a directory */
	KIND_HOST,    /* a name or an address, and perhaps a port */
	KIND_LABEL,   /* one word */
	KIND_HEADER,  /* the name of a header field */
	KIND_COOKIE,  /* the name of a cookie */
	KIND_PARAM,   /* the name of a parameter of queries */
	KIND_ADDRESS, /* to listen on */
	KIND_URL,     /* of an origin */
	KIND_NETWORK, /* addresses: 10.0.0.0/8, 192.0.2.1, any */
	KIND_FIELD,   /* of a header: "Name: value" */
	KIND_TTL,     /* of a status: "404: 1m" */
	KIND_TYPED,   /* of a media type: "text/css: 1h" */
	KIND_CHOICE,  /* one of words; the last that is a char * */
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

static inline bool
kind_is_text(enum kind k)
{
	return k <= KIND_CHOICE;
}

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
	const char *usual;  /* an element of a list that stands for all that are known */
	bool plus_one;	    /* a number is kept as one more, so that 0 is the word alone */
	bool stars;	    /* the names of a list may end in "*" */
	bool short_form;    /* of a group: a value alone is that of its first setting */
	bool utf8;	    /* a text may have letters beyond ASCII */
	bool open;	    /* of a group: its settings may be written beside it */
	double least, most; /* of numbers; the word for 0 is allowed besides */
	const struct setting *inside; /* rows of a group */
	const char *sentence;
};

extern const struct setting schema_top[]; /* tables end with a row without a key */

/* Frees all that a config points to; it is zeroed then. */
void schema_free(struct config *c);

#endif
