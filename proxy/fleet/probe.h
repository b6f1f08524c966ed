/* probe.h - can this node join? Asked before it starts, by `twice check`: whether the engine answers, whose it is, and
 * whether another member has this node's name or address.
 *
 * Nothing is written at the engine. It takes at most PROBE_MS.
 *
 * Threads   any; it has an event loop of its own.
 */
#ifndef FLEET_PROBE_H
#define FLEET_PROBE_H

#include "proxy/fleet/secret.h"

enum { PROBE_MS = 3000 };

struct probe_options {
	char *const *engine;
	unsigned engine_n;
	const char *ca_file, *cert_file, *key_file; /* NULL: none */
	const struct secret *secret;
	const char *name, *listen; /* of this node */
};

/* NULL: all is well. Else the setting that it is about ("engine", "name") and a sentence. */
const char *probe(const struct probe_options *o, char *why, size_t why_bytes);

#endif
