/* routes.h - settings of `routes`: a rule by host and path, and all that it says otherwise than the
 * settings for all.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_ROUTES_H
#define CONFIG_ROUTES_H

#include "config/encoding.h"

#include <stdbool.h>
#include <stdint.h>

enum config_query { CONFIG_QUERY_KEEP, CONFIG_QUERY_IGNORE, CONFIG_QUERY_SORT };
enum config_admit { CONFIG_ADMIT_SIGHTINGS, CONFIG_ADMIT_ALWAYS, CONFIG_ADMIT_NEVER };

/* Rules for header fields: "Name: value", and names (headers.h). */
struct config_headers {
	char **set, **add, **remove;
	unsigned set_count, add_count, remove_count;
};

/* Conditions of a route besides host and path: all of them hold for its requests. */
struct config_match {
	char **methods; /* one of them; GET is HEAD, too */
	char **headers; /* "Name: value" of each; a "*" in the value is any text */
	unsigned method_count, header_count;
};

/* Requests of a route that are answered by it. */
struct config_answer {
	unsigned status;	/* 0: none */
	char *body;		/* NULL: empty */
	char *file;		/* that is the body; NULL: none */
	char *content_type;	/* NULL: by the name of file, else text/plain */
	uint64_t retry_after_s; /* 0: not said */
};
struct config_moved {
	char *to; /* a template; NULL: none */
	char *status;
};

/* Networks of clients that may ask, and that may not. */
struct config_clients {
	char **allow, **deny;
	unsigned allow_count, deny_count;
};

/* The group that is asked, and the path of the question (serve/outgoing/rewrite.h). */
struct config_rewrite {
	char *from; /* a pattern; NULL: none */
	char *to;   /* a template */
};
struct config_target {
	char *origin;			 /* name of a group; NULL: the first */
	char *strip_prefix, *add_prefix; /* NULL: none */
	struct config_rewrite rewrite;
};

/* How often a client may ask. */
struct config_rate {
	unsigned requests; /* 0: no limit */
	uint64_t per_s;
	unsigned burst; /* 0: as requests */
	bool hits;	/* answers from the cache count too */
};

/* A route may say otherwise of lifetimes and of admission than the settings for all. Zeroed: it does
 * not. Numbers are one more than what was given, 0 being given by nobody; see config_route_cache. */
enum config_route_cookie {
	CONFIG_ROUTE_COOKIE_AS_ALL,
	CONFIG_ROUTE_COOKIE_NEVER,
	CONFIG_ROUTE_COOKIE_STRIP,
	CONFIG_ROUTE_COOKIE_SHARE
};
enum config_route_switch { CONFIG_ROUTE_AS_ALL, CONFIG_ROUTE_OFF, CONFIG_ROUTE_ON };
struct config_route_cache {
	uint64_t default_ttl_s, heuristic_max_s;
	uint64_t stale_if_error_s, stale_while_revalidate_s, stale_after_ms;
	enum config_route_cookie set_cookie;
	enum config_route_switch client_errors;
	uint64_t ttl_s;	   /* instead of the origin's: one more; 0: none */
	char **ttl_status; /* "404: 1m": the same of answers with a status */
	unsigned ttl_status_count;
	char **ttl_type; /* "text/css: 1h": the same of answers with a Content-Type */
	unsigned ttl_type_count;
	struct config_encoding accept_encoding; /* a setting of the route; no words: as for all */
	char **ignore; /* fields and directives of the origin's that do not count (config_ignored) */
	unsigned ignore_count;
};
enum {
	CONFIG_IGNORE_CACHE_CONTROL = 1,
	CONFIG_IGNORE_EXPIRES = 2,
	CONFIG_IGNORE_SET_COOKIE = 4,
	CONFIG_IGNORE_VARY = 8,
	CONFIG_IGNORE_PRIVATE = 16,
	CONFIG_IGNORE_NO_STORE = 32
};
/* The bits of a route's list; 0 in it: a word is none of them, and *unknown is it. */
unsigned config_ignored(const struct config_route_cache *c, const char **unknown);
enum config_route_compress {
	CONFIG_COMPRESS_AS_ALL,
	CONFIG_COMPRESS_OFF,
	CONFIG_COMPRESS_ANY /* also answers to who may be somebody: cookies, Authorization */
};
struct config_route_admission {
	enum config_route_compress compress; /* a setting of the route */
	unsigned sightings;		     /* 0: as all */
	uint64_t max_object_bytes;	     /* the same */
};

struct config_route { /* the first that matches applies; the last, implicit one matches all */
	char *name;   /* under which it is counted, with all of that name; NULL: it is not */
	char *host;   /* NULL: any; "*.example.com": names below it */
	char *path;   /* prefix, or a pattern with "*" (glob.h); NULL: any */
	struct config_match match;
	bool pass; /* never look in or fill the cache */
	enum config_admit admit;
	struct config_route_cache cache;
	struct config_route_admission admission;
	enum config_query query;
	bool normalise;
	char **keep_params, **drop_params, **key_headers, **key_cookies, **pass_cookies;
	unsigned keep_param_count, drop_param_count, key_header_count, key_cookie_count,
		pass_cookie_count;
	char **upgrades; /* protocols that connections may switch to */
	unsigned upgrade_count;
	bool streams; /* bodies of requests are not gathered */
	struct config_headers request_headers, response_headers; /* besides those for all */
	struct config_clients clients;
	struct config_target target;
	struct config_rate rate; /* besides that for all */
	struct config_moved redirect;
	struct config_answer answer;
};

#endif
