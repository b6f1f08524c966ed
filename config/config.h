/* config.h - the settings of a whole program, read from YAML, checked, and printed back.
 *
 * Units     bytes, seconds or milliseconds as the names say. Strings are owned by the config.
 * Errors    a sentence with file, line, what is wrong and what would be right.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "proxy/base/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CONFIG_NAME_BYTES = 64 }; /* of a setting: "cache.disk" */

enum config_query { CONFIG_QUERY_KEEP, CONFIG_QUERY_IGNORE, CONFIG_QUERY_SORT };
enum config_admit { CONFIG_ADMIT_SIGHTINGS, CONFIG_ADMIT_ALWAYS, CONFIG_ADMIT_NEVER };
enum config_log { CONFIG_LOG_COMBINED, CONFIG_LOG_JSON };
enum config_filter {
	CONFIG_FILTER_PAIR,
	CONFIG_FILTER_COUNTING,
	CONFIG_FILTER_STABLE,
	CONFIG_FILTER_SCALABLE
};

enum config_client { CONFIG_CLIENT_IGNORE, CONFIG_CLIENT_VALIDATE, CONFIG_CLIENT_OBEY };
enum config_verify { CONFIG_VERIFY_ONCE, CONFIG_VERIFY_ALWAYS };
enum config_cookie { CONFIG_COOKIE_NEVER, CONFIG_COOKIE_STRIP, CONFIG_COOKIE_SHARE };

enum config_balance {
	CONFIG_BALANCE_AUTO,
	CONFIG_BALANCE_ORDER,
	CONFIG_BALANCE_LEAST,
	CONFIG_BALANCE_ROUND_ROBIN,
	CONFIG_BALANCE_HASH
};

struct config_server {
	char *url;
	unsigned weight;
	bool backup;
};

/* Requests by which the servers of a group are looked after. */
struct config_health {
	char *path; /* NULL: none are made */
	char *host; /* NULL: as origins are asked */
	char *expect;
	uint64_t every_ms, timeout_ms;
	unsigned fall, rise;
};

/* A group of servers; or one server of the group "default", which all that have no name make
 * (config/groups.c). */
struct config_origin {
	char *url;  /* of its one server; NULL: it has a list */
	char *name; /* NULL: "default" */
	struct config_server *servers;
	unsigned server_count;
	enum config_balance balance;
	unsigned retries;
	unsigned queue;		    /* requests that wait; 0: no limit */
	char *host;		    /* Host to send; NULL: the client's */
	char *ca_file;		    /* NULL: the system's */
	char *cert_file, *key_file; /* shown to origins that ask; NULL: none; in cert_file */
	char *server_name;	    /* in TLS; NULL: that of the URL */
	bool verify;		    /* true */
	uint64_t connect_timeout_ms, read_timeout_ms;
	uint64_t first_byte_timeout_ms, total_timeout_ms; /* 0: read_timeout; 0: none */
	unsigned max_connections;			  /* per server and worker */
	struct config_health health;
};

/* Rules for header fields (config/headers.h): "Name: value", and names. */
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

/* What a route says of lifetimes and of admission otherwise than the settings for all. Zeroed: nothing.
 * Numbers are one more than what was given, 0 being given by nobody; see config_route_cache. */
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

enum { CONFIG_NAMES_MOST = 64 }; /* of routes */
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

struct config_disk { /* besides cache.dir */
	char *dir;
	uint64_t bytes;
};
enum { CONFIG_DISKS_MOST = 15 };

struct config_cache {
	char *dir; /* NULL: RAM only */
	uint64_t disk_bytes, memory_bytes;
	uint64_t endurance_bytes;  /* that the drives may be written; 0: not known */
	uint64_t keep_free;	   /* units_parse_room; 0: chosen */
	uint64_t max_object_bytes; /* 0: chosen from disk */
	unsigned io_threads;
	enum config_verify verify; /* bodies in several pieces, against their checksums */
	uint64_t scrub_every_s;	   /* 0: never */
	uint64_t read_timeout_ms;  /* of the disk */
	uint64_t stale_if_error_s; /* served stale on a dead origin where nothing forbids it */
	uint64_t stale_while_revalidate_s;
	uint64_t stale_after_ms; /* the origin hangs: what may be served on error is, after this */
	uint64_t default_ttl_s;
	double heuristic_fraction;
	uint64_t heuristic_max_s;
	char *targeted_field; /* own name before CDN-Cache-Control; NULL: none */
	bool status_key;      /* key= in Cache-Status */
	unsigned variants;    /* most of one URL */
	enum config_client client_directives;
	enum config_cookie set_cookie;
	bool client_errors;	   /* store errors that a client's own fields can cause */
	bool invalidate_locations; /* by Location and Content-Location of unsafe methods too */
	char **tag_headers;	   /* "default": the known ones */
	unsigned tag_header_count;
	bool strip_tags;
	char **purge_from; /* networks */
	unsigned purge_from_count;
};

struct config_admission {
	enum config_filter filter;
	unsigned sightings;
	uint64_t capacity;
	double false_positives;	 /* 0..1 */
	uint64_t rotate_after_s; /* 0: a quarter of a turn of the log */
	uint64_t turn_alarm_s;	 /* 0: none */
	double fill_until;	 /* 0..1 */
	uint64_t write_budget;	 /* as units_parse_rate says it; 0: none: see config_budget */
};

struct config_limits {
	uint64_t head_bytes, url_bytes, body_bytes; /* body 0: no limit */
	unsigned fields, connections;
	unsigned per_address; /* 0: no limit */
	unsigned tunnels;     /* of all workers */
	uint64_t least_rate;  /* bytes per second */
};

struct config_http2 {
	unsigned streams, resets, frames;
};

struct config_timeouts {
	uint64_t header_ms, idle_ms, body_ms, send_ms, half_close_ms, coalesce_ms, drain_ms,
		lame_duck_ms, upgrade_ms, tunnel_ms;
};

/* What is spoken at an address of `listen`. */
/* H2C: HTTP/2 without TLS, with prior knowledge */
enum config_scheme { CONFIG_HTTP, CONFIG_HTTPS, CONFIG_H2C };
/* Of "https://0.0.0.0:443": the scheme, and where the address begins; without one it is http. */
enum config_scheme config_listen_scheme(const char *listen);
/* Of "unix:/run/twice.sock", behind a scheme or not, the path; NULL: it is no such address. */
const char *config_listen_path(const char *listen);
/* "proxy+https://...": clients' forwarders speak the PROXY protocol there. */
bool config_listen_proxied(const char *listen);
const char *config_listen_address(const char *listen);
/* The same address or path, whatever is spoken there and however it is spelled; port 0 is a new place each
 * time. */
bool config_listen_same(const char *a, const char *b);
/* Of two addresses one is all of the machine's, and the port is the same: whoever listens at one of them
 * seems to be at the other one too. */
bool config_listen_overlaps(const char *a, const char *b);

enum config_redirect { CONFIG_REDIRECT_OFF, CONFIG_REDIRECT_HTTPS };

struct config_tls {
	char **certificates; /* files and directories */
	unsigned certificate_count;
	bool self_signed;  /* one of our own, for a first try */
	char *min_version; /* "1.2" or "1.3" */
	char *client_ca;   /* NULL: clients are not asked for certificates */
	bool client_required;
	bool strict_host;
	char *kernel;	  /* "auto" or "off": whether the kernel may encrypt */
	char *ticket_key; /* file; NULL: random keys */
	uint64_t ticket_period_s;
	unsigned handshakes, handshakes_per_address; /* under way; the second 0: no limit */
	enum config_redirect redirect;		     /* of what comes by http */
	unsigned redirect_port;
	char *acme_challenges; /* directory; NULL: none */
};

struct config_forwarded {
	char **trust; /* networks whose X-Forwarded-*, Forwarded are kept and appended to */
	unsigned trust_count;
	char *via;   /* pseudonym: "twice" */
	char **drop; /* request fields that GET and HEAD do not take along; "default": the known */
	unsigned drop_count;
	bool keep_underscores;
};

struct config {
	char **listen;
	unsigned listen_count;
	char *socket_mode;  /* of unix: addresses: "660" */
	char *user, *group; /* to become when root starts it; NULL: none; the user's own */
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
	enum config_log access_log_format;
	char *access_log; /* NULL or "off"; "-": stdout; else a file, reopened on SIGHUP */
	char *log_level;  /* debug info warning error */
};

/* Of sockets at a path. */
unsigned config_socket_mode(const struct config *c);

/* Defaults: every setting as `twice check` prints it without a file. */
void config_init(struct config *c);
void config_fini(struct config *c);

/* A setting given on the command line: overrides the file. Several for one list
 * (listen, origins) are its elements. */
struct config_flag {
	const char *flag;    /* "--disk", for errors */
	const char *setting; /* "cache.disk" */
	const char *text;    /* as in the file: "100GiB" */
};

/* Replaces c by the defaults, over them the YAML file (path NULL: none), over that the flags; each
 * value is checked by itself and against the others. -1 and a sentence, c is then untouched. */
int config_load_flags(struct config *c, const char *path, const struct config_flag *flags,
		      size_t flag_count, char *err, size_t err_bytes);
/* The same from n bytes of text; errors use name for the file. */
int config_parse(struct config *c, const char *name, const char *text, size_t n, char *err,
		 size_t err_bytes);

/* A running proxy needs more: all settings go together, and there is an origin. -1 and a
 * sentence. */
int config_validate(const struct config *c, char *err, size_t err_bytes);

/* Where a setting ("cache.disk", "origins.1.ca_file") was given: "edge.yaml:12: ", "--disk: ", or
 * "" when it has its default. Reads the file again. */
void config_place(const char *path, const struct config_flag *flags, size_t flag_count,
		  const char *setting, char *out, size_t n);

/* The same for many settings: the file is read once. Path and flags must outlive it. */
struct config_places;
struct config_places *
config_places_open(const char *path, const struct config_flag *flags, size_t flag_count);
void config_places_find(struct config_places *p, const char *setting, char *out, size_t n);
void config_places_close(struct config_places **p);

/* "origins.1.ca_file" as people know it: "origins.ca_file". Returns out. */
char *config_name(const char *setting, char out[CONFIG_NAME_BYTES]);

/* The names of routes, each once, in their order: CONFIG_NAMES_MOST at most. How many. */
unsigned config_route_names(const struct config *c, const char *names[CONFIG_NAMES_MOST]);
/* What the settings of cache come to on that route. Borrows from both. */
struct config_cache config_route_cache(const struct config *c, const struct config_route *r);

/* Of cache.dir and all further disks together. */
uint64_t config_disk_bytes(const struct config *c);
/* admission.write_budget in bytes a second, 0: none; and for how many seconds it may be saved up. */
uint64_t config_budget(const struct config *c, unsigned *saved_s);
/* Host and port of an origin's URL as an address; false: the host is a name, which may mean any, or
 * it is a Unix socket. */
bool config_origin_address(const char *url, struct address *a);

/* The groups that `origins` makes, from 0 in the order of their names; and the servers of all of
 * them, group by group. */
unsigned config_group_count(const struct config *c);
const char *config_group_name(const struct config *c, unsigned group);
const struct config_origin *config_group(const struct config *c, unsigned group); /* its rules */
/* The statuses that health.expect names, "200" or "200-399". False: it names none. */
bool config_expected(const char *text, unsigned *least, unsigned *most);
/* The number of the group of that name; NULL: the first. -1: there is none. */
int config_group_find(const struct config *c, const char *name);
struct config_member {
	const struct config_origin *origin; /* where it is given: how it is asked */
	const char *url;
	unsigned weight, group;
	bool backup;
	char setting[CONFIG_NAME_BYTES]; /* "origins.1.servers.0.url" */
};
unsigned config_member_count(const struct config *c);
void config_member(const struct config *c, unsigned i, struct config_member *out);

/* The effective configuration as YAML with comments;
 * config_load_flags reads it back to the same. */
void config_print(const struct config *c, FILE *to);
/* Calls each with every setting of the route that has not its default, in the order of the manual:
 * "redirect.to", and the value as YAML. */
typedef void config_each_fn(void *ctx, const char *setting, const char *value);
void config_route_each(const struct config_route *r, config_each_fn *each, void *ctx);
/* A copy that owns all it holds. */
void config_copy(struct config *to, const struct config *from);
/* Calls each with the full name of every setting ("cache.disk") that differs. */
void config_differences(const struct config *a, const struct config *b,
			void (*each)(void *ctx, const char *setting), void *ctx);

/* Why a change of that setting needs a restart; NULL: it is taken over while the proxy runs. */
const char *
config_restart_for(const struct config *running, const struct config *fresh, const char *setting);
/* What differs in fresh and needs a restart gets the value that it has in running. Both are as
 * config_load_flags made them. NULL, or the setting of fresh that does not go with what it got, and
 * a sentence why. */
const char *
config_keep(struct config *fresh, const struct config *running, char *err, size_t err_bytes);

#endif
