/* cache.h - settings of `cache` and `disks`: where answers are kept, how much of them and how long.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_CACHE_H
#define CONFIG_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum config_client { CONFIG_CLIENT_IGNORE, CONFIG_CLIENT_VALIDATE, CONFIG_CLIENT_OBEY };
enum config_verify { CONFIG_VERIFY_ONCE, CONFIG_VERIFY_ALWAYS };
enum config_cookie { CONFIG_COOKIE_NEVER, CONFIG_COOKIE_STRIP, CONFIG_COOKIE_SHARE };

struct config_disk { /* besides cache.dir */
	char *dir;
	uint64_t bytes;
};
enum { CONFIG_DISKS_MOST = 15 };

struct config_checks {
	enum config_verify verify; /* bodies in several pieces, against their checksums */
	uint64_t scrub_every_s;	   /* 0: never */
};

struct config_tags {	/* by which answers are purged */
	char **headers; /* "default": the known ones */
	unsigned header_count;
	bool strip;
};

struct config_cache {
	char *dir; /* NULL: RAM only */
	uint64_t disk_bytes, memory_bytes;
	uint64_t endurance_bytes;  /* that the drives may be written; 0: not known */
	uint64_t keep_free;	   /* units_parse_room; 0: chosen */
	uint64_t max_object_bytes; /* 0: chosen from disk */
	unsigned io_threads;
	struct config_checks checks;
	uint64_t read_timeout_ms;  /* of the disk */
	bool required;		   /* no start without dir */
	uint64_t stale_if_error_s; /* served stale on a dead origin where nothing forbids it */
	uint64_t stale_while_revalidate_s;
	uint64_t stale_after_ms; /* the origin hangs: what may be served on error is, after this */
	uint64_t default_ttl_s;
	double heuristic_fraction;
	uint64_t heuristic_max_s;
	char **heuristic_fields; /* of requests, beside which a lifetime is guessed; none: by their names */
	unsigned heuristic_field_count;
	char *targeted_field; /* own name before CDN-Cache-Control; NULL: none */
	bool status_key;      /* key= in Cache-Status */
	unsigned variants;    /* most of one URL */
	enum config_client client_directives;
	enum config_cookie set_cookie;
	bool client_errors;	   /* store errors that a client's own fields can cause */
	bool invalidate_locations; /* by Location and Content-Location of unsafe methods too */
	struct config_tags tags;
	char **ignore_cookies; /* "default": those that measure visits */
	unsigned ignore_cookie_count;
	char **purge_from; /* networks */
	unsigned purge_from_count;
};

#endif
