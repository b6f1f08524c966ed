/* compress_types.h - which bodies are worth packing, by their Content-Type (RFC 9110 8.3).
 *
 * A list is as nginx's gzip_types: media types without parameters; "text/" and a star is all of one kind, a star
 * alone is all types. (config/rules_compress.c refuses others.)
 *
 * Memory    pure.
 * Cost      linear in the value, and the members of the list.
 */
#ifndef CODING_COMPRESS_TYPES_H
#define CODING_COMPRESS_TYPES_H

#include "proxy/base/str.h"

/* The list for who names none: text in all its forms, and the binary formats of the web that are not packed
 * themselves. application/wasm shrinks to 30 to 50%, font/ttf and font/otf to 50 to 60%; nearly all else is packed by
 * its own format: font/woff and woff2, pictures (but SVG, which is text, and icons, which are bitmaps), films,
 * archives, PDF. */
extern const struct str compress_types_default[];
extern const size_t compress_types_default_n;

/* Whether a member of the list is this type, in any case of letters; parameters (charset) do not count. No type, and
 * what is none, is in no list, not even in that of a star. text/event-stream and application/grpc (with what may
 * follow behind "+") never are, whatever the list says: each of their messages is to arrive at once, and gRPC packs
 * messages itself. */
bool compress_types_match(const struct str *list, size_t n, struct str content_type);

#endif
