/* limits.h - settings of `limits`, `http2` and `timeouts`: what a client may do, and how long
 * anything may take.
 *
 * Units     bytes, seconds or milliseconds as the names say.
 */
#ifndef CONFIG_LIMITS_H
#define CONFIG_LIMITS_H

#include <stdint.h>

struct config_limits {
	uint64_t head_bytes, url_bytes, body_bytes; /* body 0: no limit */
	unsigned fields, connections;
	unsigned per_address; /* 0: no limit */
	unsigned tunnels;     /* of all workers */
	uint64_t least_rate;  /* bytes per second */
};

struct config_http2 {
	unsigned streams, resets, frames;
	uint64_t memory_bytes;
};

struct config_timeouts {
	uint64_t header_ms, idle_ms, body_ms, send_ms, half_close_ms, coalesce_ms, drain_ms,
		lame_duck_ms, upgrade_ms, tunnel_ms;
};

#endif
