/* access_log.h - lines of the access log that are of no request.
 *
 * Threads   any.
 */
#ifndef SERVE_ACCESS_LOG_H
#define SERVE_ACCESS_LOG_H

#include "proxy/base/buf.h"
#include "proxy/cache/cache_forget.h"

struct config;

/* Appends the line of a purge by the administrator, in the form that c names. name: of what. */
void access_log_purge(const struct config *c, enum forget_kind kind, bool soft, struct str name,
		      struct buf *out);

#endif
