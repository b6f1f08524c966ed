/* cachekey.h - who a request asks for: the canonical URL, and the names that variants differ in.
 *
 * The key is text: "https://example.com/a?b" ('scheme://host[:port]path[?query]', then, if the
 * rules add some, "\n" and name=value lines of headers and cookies). Different keys are never the
 * same text; equivalent URLs are made the same only where RFC 3986 6.2.2 and 6.2.3 say they are.
 */
#ifndef HTTP_CACHEKEY_H
#define HTTP_CACHEKEY_H

#include "proxy/base/buf.h"
#include "proxy/http/message.h"

enum query_rule { QUERY_KEEP, QUERY_IGNORE, QUERY_SORT };

/* A route's; borrowed, constant after start. A query of more than 128 parameters is not sorted; of one of more
 * than 512 none is dropped, and none counts where only some do. */
struct key_rules {
	enum query_rule query;
	const struct str *keep_params; /* if keep_count: only these parameters count */
	unsigned keep_count;
	const struct str *drop_params; /* dropped from the key; "utm_*" ends in a wildcard */
	unsigned drop_count;
	const struct str *headers; /* lower case names whose values are part of the key */
	unsigned header_count;
	const struct str *cookies; /* names of cookies whose values are part of the key */
	unsigned cookie_count;
	const struct str *pass_cookies; /* a request with one of these is passed */
	unsigned pass_cookie_count;
	/* The same three of names that begin so: "x-feature-" for "x-feature-*". */
	const struct str *header_stars, *cookie_stars, *pass_stars;
	unsigned header_star_count, cookie_star_count, pass_star_count;
	/* The route has lifetimes of its own. Then requests pass that have Authorization, a field that speaks of
	 * a credential, or a cookie that is not among these (key_cookies, of which some may end in "*"). */
	bool owners_pass;
	const struct str *keyed_cookies;
	unsigned keyed_cookie_count;
	/* Of rules by which more is stored than by the usual ones: what lies under them is not found
	 * without them. A line of the key that no header or cookie can make ("\n@..."); empty: none. */
	struct str mark;
	/* percent-encoding of unreserved bytes, hex case, dot segments (RFC 3986 6.2.2) */
	bool normalise;
};

/* Appends the URL of a key. What a route's headers and cookies add to it, and what is sent to the
 * origin for it, is serve/outgoing/outgoing.h's to say. */
void cachekey_add_url(struct str scheme, struct str authority, struct str path_query,
		      const struct key_rules *rules, struct buf *out);

/* Appends the beginning of such a URL, up to some place in its path. Behind the last slash nothing is taken for
 * a dot segment. */
void cachekey_add_prefix(struct str scheme, struct str authority, struct str path, bool normalise,
			 struct buf *out);

/* The path and query that a key stands for, a view into it. */
struct str cachekey_target(struct str key);

/* The URL alone, without the lines of headers and cookies behind it; a view into the key. */
struct str cachekey_url(struct str key);

/* The target of an unsafe method's Location or Content-Location, resolved against the request and
 * appended as a request (scheme, authority, path_query views into *out); false when it is of
 * another origin or no URI (RFC 9111 4.4). */
bool cachekey_resolve(const struct request *r, struct str reference, struct buf *out,
		      struct request *resolved);

/* The names a response varies on: all Vary lines, lower case, sorted, unique, joined by ",".
 * False for "*" anywhere (never matches). Nothing appended: no Vary. */
bool vary_names(const struct fields *response_fields, struct buf *out);
/* The names of a and of b, each as vary_names made it, in the same form. False when there are too
 * many: nothing is appended. */
bool vary_union(struct str a, struct str b, struct buf *out);
/* Takes one name out of such names, in place. False: it was not there. */
bool vary_drop(struct buf *names, struct str name);

#endif
