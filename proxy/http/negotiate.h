/* negotiate.h - one way to write what means the same in Accept and its kin (RFC 9110 12.5), so that
 * browsers share variants. It is for sending, not only for keys: an origin that is sent the normal
 * form cannot tell apart what a key does not.
 *
 * Each appends the normal form of a field's value; false: the value is none of a form known here,
 * nothing is appended, and it is to be used as it came.
 *
 * Cost      linear in the value, which is read once. A value of more than 1 KiB, or of more than 128
 *           members and parameters together, is not read: it has no normal form, and wants no coding.
 * Memory    out must not hold the value.
 */
#ifndef HTTP_NEGOTIATE_H
#define HTTP_NEGOTIATE_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

/* Accept-Encoding: which of gzip, deflate, br and zstd are wanted, in this order, without weights;
 * "identity" when none is; "identity;q=0" when it is refused. "*" stands for those four only where
 * identity is refused. So no client can make more than 32 values. Always true. */
bool negotiate_codings(struct str value, struct buf *out);

/* Accept, Accept-Charset: lower case, no blanks, weights in one form. The order stays: origins go
 * by it, although they should not. */
bool negotiate_types(struct str value, struct buf *out);

/* Accept-Language: likewise, tags in the case of RFC 5646 2.1.1 (en-US, zh-Hant), which is how
 * browsers write them and how naive origins compare them. */
bool negotiate_languages(struct str value, struct buf *out);

/* Any other field, if it is a list of at least two tokens: one blank behind each comma. */
bool negotiate_tokens(struct str value, struct buf *out);

/* Chooses from n types ("text/html", without parameters) what a client that sent this Accept likes best
 * (RFC 9110 12.5.1), -1: none. For each type its most exact item counts. Of those with the highest weight
 * the more exact wins, then what the client named first, then what comes first in types, as with an
 * empty value. Items that cannot be read, or have parameters, are passed over. */
int negotiate_choose(struct str accept, const struct str *types, unsigned n);

#endif
