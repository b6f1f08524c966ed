/* parse_inside.h - the parsers of each format, for parse.c alone. */
#ifndef SIMULATE_PARSE_INSIDE_H
#define SIMULATE_PARSE_INSIDE_H

#include "proxy/simulate/parse.h"

/* Sets what the line says. False: it is none of this format. */
bool parse_clf(struct parsing *p, struct str line, struct entry *e);
bool parse_json(struct parsing *p, struct str line, struct entry *e);
bool parse_squid(struct parsing *p, struct str line, struct entry *e);
bool parse_haproxy(struct parsing *p, struct str line, struct entry *e);
bool parse_logfmt(struct parsing *p, struct str line, struct entry *e);
bool parse_fixed(struct parsing *p, struct str line, struct entry *e);
bool parse_triple(struct parsing *p, struct str line, struct entry *e);
bool parse_columns(struct parsing *p, struct str line, struct entry *e);

/* The first line of a table, or a #Fields line: what its columns are. False: too few are known. */
bool parse_titles(struct parsing *p, struct str line);
bool parse_fields(struct parsing *p, struct str line);

/* The line within; also sets outer_time. False: it is not so wrapped. */
bool parse_unwrap(struct parsing *p, struct str line, struct str *inner);

/* Of lines of time, id, size, which of the last two is the size? FORMAT_AUTO: neither fits. */
enum format parse_order_of_triples(struct str first);

/* From behind an opening quote: up to the closing one, which a backslash hides. *rest is what
 * follows. False: there is none. */
bool parse_take_quoted(struct str *rest, struct str *out);
/* A string of JSON, added to b, which has the room for it: a view of it. */
struct str parse_unescape(struct buf *b, struct str v);

/* Are entries apart by lines, or by the braces of objects? skip: what is before the first one. */
enum cut parse_find_cut(struct str first, size_t *skip);

enum { ORACLE_BYTES = 24 };
bool parse_oracle(struct str record, struct entry *e);
bool parse_is_oracle(struct str first);

#endif
