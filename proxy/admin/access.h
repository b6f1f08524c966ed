/* access.h - who may ask the admin server, and who may change something.
 *
 * Two dangers. A page in somebody's browser asks for him: by a name of its own that it points here
 * (DNS rebinding), or by a form. And a listener that others can reach: whoever finds it could empty
 * the cache, or read what visitors ask for: nothing is answered there without the token.
 *
 * Pure.
 */
#ifndef ADMIN_ACCESS_H
#define ADMIN_ACCESS_H

#include <stdbool.h>

struct access_rules { /* borrowed from the configuration */
	char *const
		*hosts; /* names it may be asked by, besides addresses and names without a dot */
	unsigned host_count;
	const char *token; /* NULL: none */
	bool loopback;	   /* it listens where only this machine can ask */
	bool guarded;	   /* at a path of the file system, whose permissions say who may */
};

struct access_request {
	const char *host;	   /* without the port; NULL: none */
	const char *host_port;	   /* as the field says */
	const char *origin;	   /* NULL: not said */
	const char *authorization; /* NULL: not said */
	bool changes;		   /* not GET or HEAD */
};

/* NULL: it may. Else the sentence that says why not and what to do. */
const char *access_refusal(const struct access_rules *rules, const struct access_request *r);

#endif
