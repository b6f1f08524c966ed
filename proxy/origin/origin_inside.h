/* origin_inside.h - the parsed settings of an origin, for the rest of this room.
 *
 * Threads   constant after origin_create, but for its atomics; shared by all workers.
 */
#ifndef ORIGIN_ORIGIN_INSIDE_H
#define ORIGIN_ORIGIN_INSIDE_H

#include "proxy/origin/addresses.h"
#include "proxy/origin/origin_tls.h"

#include <curl/curl.h>
#include <stdatomic.h>

struct origin_called { /* called.c: what its answers said of the Host so far */
	_Atomic unsigned refusals;
	_Atomic bool is_well; /* it has answered well, or it was said that it has not */
	_Atomic bool is_told; /* that it redirects to its own name */
};

struct origin {
	_Atomic unsigned users;
	_Atomic bool old; /* it answered in HTTP/1.0 the last time: it reads no chunks */
	char *url;	  /* as configured */
	CURLU *place;	  /* what libcurl is told: scheme, name, port; parsed once */
	struct curl_slist *connect_to; /* where that name is found, when it is not by DNS */
	/* Its name is found here; NULL: it has none, or libcurl looks it up. name and port: what
	 * libcurl is told them for. */
	struct addresses *addresses;
	char *name, *port;
	const char *socket_path; /* of a Unix socket, in url; NULL: it is reached by TCP */
	char *host;		 /* Host to send; NULL: the client's */
	char *authority;	 /* Host for a client that gave none */
	char *server_name;	 /* as configured, or NULL */
	struct origin_tls files; /* of https */
	bool tls, insecure;
	int64_t connect_timeout_ms, first_byte_timeout_ms, read_timeout_ms;
	int64_t total_timeout_ms; /* 0: none */
	unsigned max_connections;
	struct origin_called called;
};

#endif
