/* negotiate_inside.h - an Accept-Encoding value as it is read, for negotiate.c, which writes it again,
 * and coding.c, which makes a class of it. Both must read the same.
 */
#ifndef HTTP_NEGOTIATE_INSIDE_H
#define HTTP_NEGOTIATE_INSIDE_H

#include "proxy/base/str.h"

enum {
	NEGOTIATE_GZIP = 1 << 0,
	NEGOTIATE_DEFLATE = 1 << 1,
	NEGOTIATE_BR = 1 << 2,
	NEGOTIATE_ZSTD = 1 << 3,
	NEGOTIATE_IDENTITY = 1 << 4
};

/* The bits of those that are named and not refused (RFC 9110 12.5.3), and of identity, unless it is
 * refused by its name or by a star. "*" stands for all of them only where identity is refused. A value
 * beyond the bounds of negotiate.h is as good as none: identity alone. */
unsigned negotiate_takes(struct str value);

#endif
