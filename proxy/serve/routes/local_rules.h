/* local_rules.h - requests that a route answers by itself, stored or not: who is denied, where others
 * are sent, and what they are told.
 *
 * allow comes before deny: an address in allow may, one in deny may not, and what is in neither may
 * if there is a deny list, or none of both.
 *
 * Memory    views into the config, which must outlive them.
 * Threads   constant after creation.
 */
#ifndef SERVE_LOCAL_RULES_H
#define SERVE_LOCAL_RULES_H

#include "proxy/base/buf.h"
#include "proxy/base/network.h"

struct config_route;

struct local_rules {
	struct network *allow, *deny;
	unsigned allow_n, deny_n;
	struct str to; /* of a redirect, a template; empty: none */
	int to_status;
	int status; /* of an answer; 0: none */
	struct str body, type;
	unsigned page;		/* of settings.pages, from 1, instead of body; 0: body */
	uint64_t retry_after_s; /* 0: not said */
};

/* NULL: the route has none. */
struct local_rules *local_rules_create(const struct config_route *c);
void local_rules_destroy(struct local_rules **r);

bool local_rules_ask_client(const struct local_rules *r); /* its address matters */
bool local_rules_deny(const struct local_rules *r, struct str client);

/* Variables of a redirect stand for these. path_query begins with a slash. */
struct local_values {
	struct str host, scheme, path_query;
};
/* Appends the value of Location. What clients wrote is encoded where no URI has it, or where a
 * browser reads it otherwise than written (a backslash). */
void local_rules_add_location(const struct local_rules *r, const struct local_values *v,
			      struct buf *out);
/* A method that must not become GET keeps its body by 307 and 308 (RFC 9110 15.4). */
int local_rules_redirect_status(const struct local_rules *r, bool reads);

#endif
