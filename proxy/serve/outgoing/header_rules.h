/* header_rules.h - which header fields a message loses and gains on its way: request_headers and
 * response_headers of the configuration, those for all and those of a route, as one list.
 *
 * Levels add up: first what is for all, then what is the route's; in each remove, then set, then
 * add. So a route may set what is removed for all, and remove what is set for all.
 *
 * A variable that differs from client to client ($client_address) makes a request differ too. Such a
 * field is as X-Forwarded-For: it is in no primary key, and in a variant's when the answer names it
 * in Vary (outgoing.h).
 *
 * Strict-Transport-Security goes out with https only (RFC 6797 7.2).
 *
 * Memory    views into the config, which must outlive them.
 * Threads   constant after creation.
 */
#ifndef SERVE_HEADER_RULES_H
#define SERVE_HEADER_RULES_H

#include "proxy/base/buf.h"

struct config_headers;

struct header_rule {
	struct str name, value; /* value: a template where `expands` */
	bool expands;
	bool secure; /* with https only */
};

struct header_rules {
	struct str *gone;	   /* lines of these names that came do not go on */
	unsigned gone_n, whole_n;  /* behind so many whole names: those that end in "*" */
	struct header_rule *lines; /* these go besides */
	unsigned n;
	bool per_client; /* a value names the client */
};

/* Variables stand for these. */
struct header_values {
	struct str host, scheme, client;
};

/* NULL: there are none. */
struct header_rules *
header_rules_create(const struct config_headers *all, const struct config_headers *route);
void header_rules_destroy(struct header_rules **r);

bool header_rules_hide(const struct header_rules *r, struct str name);
/* Whether a name is the pattern, or begins with what is before its "*". */
bool header_rules_match(struct str pattern, struct str name);
/* Whether that line is sent by this scheme. */
bool header_rules_apply(const struct header_rule *l, struct str scheme);
void
header_rules_add_value(const struct header_rule *l, const struct header_values *v, struct buf *out);

#endif
