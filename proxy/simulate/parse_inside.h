/* parse_inside.h - the parsers of each format, for parse.c alone. */
#ifndef SIMULATE_PARSE_INSIDE_H
#define SIMULATE_PARSE_INSIDE_H

#include "proxy/simulate/parse.h"

/* Sets what the line says. False: it is none of this format. */
bool parse_clf(struct parsing *p, struct str line, struct entry *e);
bool parse_json(struct parsing *p, struct str line, struct entry *e);
bool parse_squid(struct parsing *p, struct str line, struct entry *e);
bool parse_haproxy(struct parsing *p, struct str line, struct entry *e);
bool parse_triple(struct parsing *p, struct str line, struct entry *e);
bool parse_columns(struct parsing *p, struct str line, struct entry *e);

/* The first line of a table, or a #Fields line: what its columns are. False: too few are known. */
bool parse_titles(struct parsing *p, struct str line);
bool parse_fields(struct parsing *p, struct str line);

enum { ORACLE_BYTES = 24 };
bool parse_oracle(struct str record, struct entry *e);
bool parse_is_oracle(struct str first);

#endif
