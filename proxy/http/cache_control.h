/* cache_control.h - Cache-Control of requests and responses (RFC 9111 5.2) as facts.
 *
 * Errors    none: an unparsable directive is ignored or, where ignoring could serve stale
 *           (duplicate, negative, fractional max-age), read in the direction that caches less; each
 *           oddity is one row of tests/unit/test_cache_control.c.
 */
#ifndef HTTP_CACHE_CONTROL_H
#define HTTP_CACHE_CONTROL_H

#include "proxy/http/message.h"

struct secs { /* zeroed means absent: {0} is the honest start */
	bool known;
	int64_t n;
};
/* clang-format off */
#define SECS(x) {.known = true, .n = (x)}
/* clang-format on */

/* RFC 9111 1.2.2: what a larger number of seconds is taken for. */
#define SECS_MAX INT64_C(2147483648)

struct request_cc {
	bool no_cache, no_store, no_transform, only_if_cached;
	bool may_hit;  /* no_store, but a fresh stored answer will do: see policy_advise */
	bool reload;   /* asked for what is new, and may be told so: see policy_advise */
	bool no_guess; /* the same: a lifetime that was only guessed is none: see policy_advise */
	bool max_stale_any; /* max-stale without a value */
	struct secs max_age, max_stale, min_fresh, stale_if_error;
};

struct response_cc {
	bool no_cache, no_store, private_, public_, no_transform, immutable;
	bool must_revalidate, proxy_revalidate, must_understand;
	bool has_any; /* any directive at all */
	struct secs max_age, s_maxage, stale_while_revalidate, stale_if_error;
	struct str no_cache_fields; /* of no-cache="a, b": the list as written; empty when bare */
	struct str private_fields;
};

/* With Pragma: no-cache taken as Cache-Control: no-cache when the latter is absent (5.4). */
void request_cc_parse(const struct fields *f, struct request_cc *out);
/* Cache-Control alone, for those who ask only for the names in private="..." and no-cache="...":
 * true where there are any; where there can be none, nothing is parsed and *out is empty. */
bool response_cc_parse_names(const struct fields *f, struct response_cc *out);

/* RFC 9213: the directives of the first targeted field that is present, valid and not empty: the
 * one named target (if not empty), then CDN-Cache-Control; true: then Cache-Control and Expires
 * do not count. Else those of Cache-Control, and false. */
bool response_cc_select(const struct fields *f, struct str target, struct response_cc *out);

/* Age in seconds (RFC 9111 5.1): the first member counts, nonsense does not. */
struct secs age_parse(const struct fields *f);

#endif
