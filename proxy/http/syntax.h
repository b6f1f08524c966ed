/* syntax.h - the small grammar that all fields share (RFC 9110 5.6): byte classes, lists, numbers.
 *
 * Memory    views into what was handed in.
 */
#ifndef HTTP_SYNTAX_H
#define HTTP_SYNTAX_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

enum {			     /* classes of bytes, one bit each */
       BYTE_TOKEN = 1 << 0,  /* tchar, RFC 9110 5.6.2 */
       BYTE_VALUE = 1 << 1,  /* allowed in a field value: HTAB SP VCHAR obs-text, 5.5 */
       BYTE_TARGET = 1 << 2, /* allowed in a request target's query, see syntax.c */
       BYTE_PATH = 1 << 3,   /* allowed in its path */
       BYTE_HOST = 1 << 4,   /* of the labels of a host name, and the dot: see syntax.c */
       BYTE_HEX = 1 << 5,
       BYTE_UNRESERVED = 1 << 6 /* RFC 3986 2.3 */
};
extern const uint8_t byte_class[256];

static inline bool
byte_is(char c, int classes)
{
	return byte_class[(unsigned char)c] & classes;
}

static inline bool
byte_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline char
byte_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Value of a hex digit, -1 when it is none. */
int byte_hex(char c);

/* True when s is not empty and every byte is of a class. */
bool str_is(struct str s, int classes);
static inline bool
str_is_token(struct str s)
{
	return str_is(s, BYTE_TOKEN);
}

/* Next non-empty member of a comma-separated list (5.6.1), trimmed; commas inside quoted strings
 * do not separate. Eats from the front of *rest; false at the end. */
bool list_next(struct str *rest, struct str *item);
/* Whether a member of the list is that word, ignoring case. */
bool list_has(struct str list, struct str word);
/* list_next with another separator (';' of parameters, cookies). */
bool list_next_by(char separator, struct str *rest, struct str *item);

/* All of s is 1*DIGIT. Saturates at INT64_MAX. False when s is anything else. */
bool digits_parse(struct str s, int64_t *out);

/* Appends s with its capital letters in lower case. */
void str_add_lower(struct str s, struct buf *out);

/* Splits at the first c: *head before it, *tail behind it. False (head = s, tail empty): no c. */
bool str_cut(struct str s, char c, struct str *head, struct str *tail);

#endif
