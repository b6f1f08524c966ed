/* cookie.h - cookies among those of a request (RFC 6265 4.2.1), or the doubt whether everybody would
 * find the same ones.
 *
 * Servers disagree on what separates cookies, whether quotes hide a separator, whether names are
 * decoded, and which of two counts. A cache that keys on a cookie must not guess: another reader of
 * the same bytes would let a client choose what is stored for others.
 */
#ifndef HTTP_COOKIE_H
#define HTTP_COOKIE_H

#include "proxy/base/buf.h"
#include "proxy/http/field.h"

enum cookie {
	COOKIE_NONE,	/* nobody could find one of that name */
	COOKIE_ONE,	/* everybody finds this one */
	COOKIE_DOUBTFUL /* repeated, quoted, oddly written, or in one of several Cookie lines */
};

struct cookie_found {
	enum cookie is;
	struct str value; /* with COOKIE_ONE, a view */
};

enum { COOKIES_MOST = 32 };
/* Looks for each of n names, COOKIES_MOST at most: out[i] is of names[i]. One pass over the
 * lines, however many names there are. More than 512 names with "%", "." or "+" in them make all that
 * is looked for doubtful. */
void
cookie_find(const struct fields *f, const struct str *names, unsigned n, struct cookie_found *out);

/* Whether anybody could find a cookie whose name begins with one of these n texts; with an empty one,
 * whether there is a Cookie line. */
bool cookie_begins(const struct fields *f, const struct str *beginnings, unsigned n);
/* Appends "name=value" of each cookie whose name begins so, sorted by name, with ";" between them. False: it
 * is doubtful which there are, or they are more than COOKIES_MOST. */
bool cookie_add_all(const struct fields *f, struct str beginning, struct buf *out);
/* Writes the value of a Cookie line without the cookies of these names, of which some may end in "*": at most
 * value.n bytes. How many. */
size_t cookie_without(struct str value, const struct str *names, unsigned n, char *out);

/* Whether a Cookie line has a cookie of another name than these, of which some may end in "*". */
bool cookie_any_besides(const struct fields *f, const struct str *names, unsigned n);

#endif
