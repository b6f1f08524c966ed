/* routes.h - settings of `routes`: a rule by host and path, and all that it says otherwise than the
 * settings for all.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_ROUTES_H
#define CONFIG_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

enum config_query { CONFIG_QUERY_KEEP, CONFIG_QUERY_IGNORE, CONFIG_QUERY_SORT };
enum config_admit { CONFIG_ADMIT_SIGHTINGS, CONFIG_ADMIT_ALWAYS, CONFIG_ADMIT_NEVER };

/* Rules for header fields: "Name: value", and names (headers.h). */
struct config_headers {
	char **set, **add, **remove;
	unsigned set_count, add_count, remove_count;
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

/* How often a client may ask. */
struct config_rate {
	unsigned requests; /* 0: no limit */
	uint64_t per_s;
	unsigned burst; /* 0: as requests */
	bool hits;	/* answers from the cache count too */
};

/* What a route says of lifetimes and of admission otherwise than the settings for all. Zeroed:
 * nothing. Numbers are one more than what was given, 0 being given by nobody; see
 * config_route_cache. */
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
};
struct config_route_admission {
	unsigned sightings;	   /* 0: as all */
	uint64_t max_object_bytes; /* the same */
};

struct config_route { /* the first that matches applies; the last, implicit one matches all */
	char *name;   /* under which it is counted, with all of that name; NULL: it is not */
	char *host;   /* NULL: any; "*.example.com": names below it */
	char *path;   /* prefix; NULL: any */
	char *origin; /* name of a group; NULL: the first */
	bool pass;    /* never look in or fill the cache */
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
	char **allow, **deny;					 /* networks of clients */
	unsigned allow_count, deny_count;
	struct config_rate rate; /* besides that for all */
	struct config_moved redirect;
	struct config_answer answer;
};

#endif
