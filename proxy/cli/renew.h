/* renew.h - the configuration again, while the proxy runs: read, checked as at the start, applied
 * whole or not at all.
 *
 * Threads   any but a worker's; one at a time gets through.
 */
#ifndef CLI_RENEW_H
#define CLI_RENEW_H

#include "proxy/base/buf.h"
#include "proxy/cli/settings.h"
#include "proxy/node/server.h"

#include <pthread.h>
#include <stdatomic.h>

struct renewal {
	pthread_mutex_t lock;		 /* who holds it keeps others from changing anything */
	const struct settings *settings; /* where it is read from */
	struct server *server;
	_Atomic int64_t read_s; /* unix time of the last one that was applied, or of the start */
	_Atomic bool refused;	/* the last one was */
};

/* Logs are opened again in any case. What became of it goes to the log, and, if out is not NULL, there
 * as JSON: "applied" and "restart" (with why) list what has changed, "warnings" what does less than it
 * says; "errors" says why nothing was applied, each with file, line and a way out. 0, or -1: nothing
 * has changed. */
int renew(struct renewal *r, struct buf *out);

#endif
