/* fleet.h - settings of `fleet`: the other nodes of the same cache, and the engine between them.
 *
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_FLEET_H
#define CONFIG_FLEET_H

#include <stdbool.h>
#include <stdint.h>

struct config_fleet {
	char **engine; /* redis://..., each */
	unsigned engine_count;
	char **members; /* HOST:PORT, without an engine */
	unsigned member_count;
	char *listen;			      /* IP:PORT, where siblings ask */
	char *ca_file, *cert_file, *key_file; /* NULL: no TLS; in the same file */
	char **networks;		      /* siblings' addresses */
	unsigned network_count;
	char *secret_file;
	char *name;	       /* NULL: the host's */
	char *zone;	       /* NULL: none */
	uint64_t weight_bytes; /* 0: the bytes of disk */
};

#endif
