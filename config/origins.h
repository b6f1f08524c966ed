/* origins.h - settings of `origins`: who is asked, and how.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_ORIGINS_H
#define CONFIG_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

struct address;

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

/* Host and port of an origin's URL as an address; false: the host is a name, which may mean any, or
 * it is a Unix socket. */
bool config_origin_address(const char *url, struct address *a);

#endif
