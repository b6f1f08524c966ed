/* pattern.h - regular expressions that cost a text no more than its length times theirs.
 *
 * The usual signs: . [a-z] [^/] ( ) (?: ) | * + ? {2,5} ^ $ \d \w and a backslash before any other sign. As
 * in Perl and what descends from it, the first alternative that leads to a match wins, and a "?" behind a
 * repetition makes it take as little as it can. Nothing looks ahead or back, and no \1 asks for what was
 * captured: all alternatives are followed at once, a byte at a time (Thompson 1968; Pike's way with captures),
 * so that no text takes long. regexec of the C library has a lock that all workers would share, and asks
 * for memory with each text.
 *
 * Memory    a pattern is one block, constant once made. A match allocates nothing, and takes 24 KiB of the stack.
 * Errors    what is wrong with a pattern is a sentence.
 * Threads   pure.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "proxy/base/str.h"

enum {
	PATTERN_CAPTURES = 10,	 /* the whole, and up to nine pairs of parentheses */
	PATTERN_TEXT_MOST = 2048 /* bytes; a longer text matches nothing */
};

struct pattern;

/* NULL: it is none, and err says why. */
struct pattern *pattern_create(const char *text, char *err, size_t err_bytes);
void pattern_destroy(struct pattern **p);
unsigned pattern_captures(const struct pattern *p); /* pairs of parentheses that capture */

/* Finds the first match in the text. captures: the whole match, then what each pair holds, views into the text;
 * {NULL, 0} where it took no part. */
bool pattern_match(const struct pattern *p, struct str text, struct str captures[PATTERN_CAPTURES]);

#endif
