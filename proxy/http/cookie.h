/* cookie.h - one cookie among those of a request (RFC 6265 4.2.1), or the doubt whether everybody
 * would find the same one.
 *
 * Servers disagree on what separates cookies, whether quotes hide a separator, whether names are
 * decoded, and which of two counts. A cache that keys on a cookie must not guess: another reader of
 * the same bytes would let a client choose what is stored for others.
 */
#ifndef HTTP_COOKIE_H
#define HTTP_COOKIE_H

#include "proxy/http/field.h"

enum cookie {
	COOKIE_NONE,	/* nobody could find one of that name */
	COOKIE_ONE,	/* everybody finds this one */
	COOKIE_DOUBTFUL /* repeated, quoted, oddly written, or in one of several Cookie lines */
};

/* *value is set with COOKIE_ONE, a view. Linear in the lines. */
enum cookie cookie_find(const struct fields *f, struct str name, struct str *value);

#endif
