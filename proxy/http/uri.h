/* uri.h - what is equivalent among http URIs (RFC 3986 6.2), piece by piece. */
#ifndef HTTP_URI_H
#define HTTP_URI_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

struct uri { /* views; an absent part is {NULL, 0}, an empty one is not */
	struct str scheme, authority, path, query;
};

/* Splits a reference (RFC 3986 4.1); a fragment is dropped. False when it holds bytes that no
 * URI has. */
bool uri_split(struct str reference, struct uri *out);

/* Appends host and port: lower case, without the final dot; default and empty port dropped. */
void uri_add_authority(struct str scheme, struct str authority, struct buf *out);

/* The host of host[:port], as it is written; a view. */
struct str uri_host(struct str authority);

/* The same host and port under one scheme. */
bool uri_same_authority(struct str scheme, struct str a, struct str b);

/* Appends s with the percent-encodings of unreserved bytes decoded and the others in upper case
 * (6.2.2.1, 6.2.2.2). */
void uri_add_unescaped(struct str s, struct buf *out);

/* Appends s with the bytes beyond ASCII encoded: as a browser sends what was typed (RFC 3987 3.1). */
void uri_add_ascii(struct str s, struct buf *out);

/* Appends s with every percent-encoding decoded: for comparing, not for sending. */
void uri_add_decoded(struct str s, struct buf *out);

/* Appends a path with the percent-encodings decoded of bytes that no path can hold otherwise: space, quotes,
 * angle brackets, and those beyond ASCII. Such a byte has one meaning to every origin. */
void uri_add_plain(struct str path, struct buf *out);

/* Removes dot segments (5.2.4) from the path that begins at out->p + from. */
void uri_remove_dots(struct buf *out, size_t from);

#endif
