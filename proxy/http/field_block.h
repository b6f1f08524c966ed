/* field_block.h - a head in the form it is kept: text that HTTP/1 sends as it is, and behind it
 * a table of lengths, so that no other reader has to parse the text again.
 *
 *	offset  bytes
 *	0       u16 status
 *	2       u16 lines n
 *	4       u16 bytes of the status line with its CR LF
 *	6       u8  edition: how many names field_names.h had when this was written
 *	7       u8  0
 *	8       u32 bytes of the text: the status line, then n times "Name: value\r\n"
 *	12      the text
 *	+       n times u8 name bytes, u8 field id, u16 value bytes. 0xffff: read in the text (up to
 *	        the colon, up to the CR LF), for what is longer than these can say
 *
 * Integers are little endian, nothing is aligned. It costs 12 bytes and 4 a line more than the text
 * alone: 52 for a head of ten lines. Ids are stored, so rows of field_names.h are only ever added
 * at the end; a name that an older edition did not know is looked up, an id of a newer one is a
 * name like any other.
 *
 * Memory    views into the bytes opened; they hold as long as those.
 * Errors    foreign bytes: reading never leaves them, and ends early where they are damaged.
 *           field_block_check says whether they are sound.
 * Threads   pure.
 */
#ifndef HTTP_FIELD_BLOCK_H
#define HTTP_FIELD_BLOCK_H

#include "proxy/base/buf.h"
#include "proxy/http/field.h"

#define FIELD_BLOCK_HEADER_BYTES 12

struct field_block {
	int status;
	struct str start; /* "HTTP/1.1 200 OK\r\n" */
	struct str lines; /* "Name: value\r\n" ..., right behind start */
	unsigned count;	  /* of lines */
	const char *table;
	unsigned edition;
};

/* Constant time. False: these bytes are no block. */
bool field_block_open(struct str bytes, struct field_block *out);
/* The same of the first one of several blocks in a row, which *rest goes on behind. False: none is there. */
bool field_block_take(struct str *rest, struct field_block *out);
/* The reason phrase of the status line, perhaps empty. */
struct str field_block_reason(const struct field_block *b);

struct field_line {
	struct str name, value;
	struct str text; /* "Name: value\r\n" */
	enum field_id id;
};
struct field_cursor { /* zeroed: the first line */
	unsigned i;
	size_t at;
};
/* The next line; false at the end. */
bool field_block_next(const struct field_block *b, struct field_cursor *at, struct field_line *out);
/* The first line's value; {NULL,0} when absent. */
struct str field_block_get(const struct field_block *b, enum field_id id);
/* All lines as fields (out->v and cap set by the caller); false when there are more than cap. */
bool field_block_fields(const struct field_block *b, struct fields *out);

/* Whether foreign bytes are a block to the last byte: lengths add up, names are tokens, values hold
 * no line end or control byte, ids are those of the names. Linear. */
bool field_block_check(struct str bytes);

/* ---- writing ------------------------------------------------------------------------------- */

struct field_block_writer { /* some KiB: for the stack */
	struct buf *out;
	size_t from;
	unsigned count;
	char table[FIELDS_MAX * 4];
};
/* Appends to out, which nobody else appends to before field_block_end. */
void
field_block_begin(struct field_block_writer *w, struct buf *out, int status, struct str reason);
/* Name and value are well-formed. False: FIELDS_MAX lines are there, and this one is left out. */
bool
field_block_add(struct field_block_writer *w, enum field_id id, struct str name, struct str value);
/* Where the next line's value will begin, from the first byte of the block. */
size_t field_block_value_at(const struct field_block_writer *w, struct str name);
void field_block_end(struct field_block_writer *w);

#endif
