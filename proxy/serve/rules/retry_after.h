/* retry_after.h - when an origin that refused a slice is asked once more (RFC 9110 10.2.3). Pure. */
#ifndef SERVE_RETRY_AFTER_H
#define SERVE_RETRY_AFTER_H

#include "proxy/base/str.h"

/* Whether a status says that the origin was asked too often. */
bool retry_after_is_limit(int status);
/* After a refusal with this status (0: there was none, but no answer either) and Retry-After: so many
 * ms later; -1: not at all, for that is long. */
int64_t retry_after_ms(int status, struct str retry_after, int64_t now_s);

#endif
