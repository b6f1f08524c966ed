/* coding.h - RFC 9110 8.4, 12.5.3: which content coding a body has, which ones a client takes, and the
 * class that follows.
 *
 * Only codings that are expanded and made here have a name; all others are CODING_OTHER: bytes that
 * are passed and stored as they came.
 *
 * Memory    pure: nothing is kept, nothing allocated.
 * Cost      linear in the value. Accept-Encoding has the bounds of negotiate.h.
 */
#ifndef HTTP_CODING_H
#define HTTP_CODING_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

enum coding {
	CODING_NONE, /* the bytes themselves */
	CODING_GZIP, /* RFC 1952 */
	CODING_BR,   /* RFC 7932 */
	CODING_ZSTD, /* RFC 8878, RFC 9659 */
	CODING_OTHER /* unknown, or several of them */
};
enum { CODINGS = CODING_OTHER + 1 };

/* As in Content-Encoding: "gzip", "br", "zstd"; "identity" and "other" for people. */
const char *coding_word(enum coding c);

/* Of a Content-Encoding value; of several lines, the values with a comma between them. None, and
 * "identity", are CODING_NONE, x-gzip is gzip (8.4.1.3). Two members are CODING_OTHER, whatever they
 * are: the bytes are to be expanded twice then. So is a member with a parameter, for there are none. */
enum coding coding_of(struct str content_encoding);

/* A set of codings. */
#define CODING_BIT(c) (1u << (c))

/* The codings that a client takes, of those with a name; CODING_BIT(CODING_NONE): also plain bytes,
 * which are refused only by "identity;q=0", or "*;q=0" without identity. A coding is in the set if it
 * is named with a weight above 0. "*" alone names none: those who send it often can expand nothing,
 * and plain bytes are right for all of them; where they are refused, it names all that are not refused.
 * No field at all is as an empty one: RFC 9110 would let us send anything, and old programs would not
 * understand it. */
unsigned coding_accepted(struct str accept_encoding);

/* The codings that an operator wants to be told apart, best first. Zeroed: none. */
struct coding_list {
	unsigned n;
	enum coding at[3]; /* of GZIP, BR and ZSTD, each at most once */
};

/* The class of a client that takes this set: those of the list that it takes, perhaps none. It stands for the client
 * in keys, and is what an origin is asked for. CODING_UNCLASSED: there is none, because the list is empty, or
 * because the client takes nothing of it and no plain bytes either; the normal form of what it said
 * (negotiate_codings) is to be used.
 *
 * All of them, and not the best alone: an origin that has gzip and no br, as most have, would send a client
 * that takes both plain bytes. Two codings make four classes at most, and browsers are in one of them; with
 * weights each order would be a class of its own, and one class more is one more fetch and one more object for all. */
#define CODING_UNCLASSED 0x80u
unsigned coding_class(unsigned accepted, const struct coding_list *list);
/* Appends it as it goes out: "br, gzip", in the order of the list. Nothing for none. */
void coding_class_add(unsigned class, const struct coding_list *list, struct buf *out);

#endif
