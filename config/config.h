/* config.h - the settings of a whole program: one struct, of the sections that headers of their own
 * describe.
 *
 * load.h reads it, print.h prints it, changes.h compares two.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "config/admission.h"
#include "config/cache.h"
#include "config/fleet.h"
#include "config/forwarded.h"
#include "config/limits.h"
#include "config/origins.h"
#include "config/routes.h"
#include "config/tls.h"

#include <stdbool.h>
#include <stdint.h>

struct config_identity {    /* to become when root starts it */
	char *user, *group; /* NULL: none; the user's own */
};

enum config_log { CONFIG_LOG_COMBINED, CONFIG_LOG_JSON };

struct config {
	char **listen;
	unsigned listen_count;
	char *socket_mode; /* of unix: addresses: "660" */
	struct config_identity identity;
	char *admin;	    /* NULL or "off": none */
	char **admin_hosts; /* names it may be asked by, besides addresses */
	unsigned admin_host_count;
	char *admin_token;	/* NULL: none; needed for requests that change something */
	char *admin_token_file; /* NULL: none; instead of admin_token */
	char *admin_socket;	/* path; NULL: none */
	unsigned workers;	/* 0: one per core */
	struct config_origin *origins;
	unsigned origin_count;
	uint64_t resolve_s; /* from one lookup of an origin's name to the next */
	struct config_cache cache;
	struct config_disk *disks;
	unsigned disk_count;
	struct config_admission admission;
	struct config_headers request_headers, response_headers; /* of all routes */
	struct config_rate rate;				 /* the same */
	struct config_route *routes;
	unsigned route_count;
	struct config_limits limits;
	struct config_http2 http2;
	struct config_timeouts timeouts;
	struct config_tls tls;
	struct config_forwarded forwarded;
	struct config_fleet fleet;
	enum config_log access_log_format;
	char *access_log; /* NULL or "off"; "-": stdout; else a file, reopened on SIGUSR1 */
	char *log_level;  /* debug info warning error */
};

/* Defaults: every setting as `twice check` prints it without a file. */
void config_init(struct config *c);
void config_fini(struct config *c);

/* Of sockets at a path. */
unsigned config_socket_mode(const struct config *c);

enum { CONFIG_NAMES_MOST = 64 }; /* of routes */
/* The names of routes, each once, in their order: CONFIG_NAMES_MOST at most. How many. */
unsigned config_route_names(const struct config *c, const char *names[CONFIG_NAMES_MOST]);
/* Returns the settings of cache that apply on that route. Borrows from both. */
struct config_cache config_route_cache(const struct config *c, const struct config_route *r);

/* Is it one of several nodes? */
bool config_has_fleet(const struct config *c);
/* Of cache.dir and all further disks together. */
uint64_t config_disk_bytes(const struct config *c);
/* admission.write_budget in bytes a second, 0: none; and for how many seconds it may be saved up. */
uint64_t config_budget(const struct config *c, unsigned *saved_s);

#endif
