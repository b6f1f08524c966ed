/* request_id.h - what a request is called in the log, in error pages and at the origin, so that the
 * three can be put together: the value of X-Request-ID.
 *
 * A forwarder that is trusted names its requests itself. Of anybody else no name is taken, for it
 * would go into the log and into pages; the request is given one of 128 bits that no client can
 * tell from chance. It grants nothing, and is neither in a key nor in what is stored.
 *
 * Threads   a struct request_ids belongs to one worker.
 * Cost      no system call but for the first; nothing is made for a request that needs none.
 */
#ifndef SERVE_REQUEST_ID_H
#define SERVE_REQUEST_ID_H

#include "filter/hash.h"
#include "proxy/base/str.h"
#include "proxy/http/message.h"

enum { REQUEST_ID_BYTES = 32, REQUEST_ID_MOST = 64 };

struct request_ids {		/* zeroed: ready */
	struct twice_seed seed; /* its own: what is shown to clients tells nothing of the keys */
	uint64_t count;
};

/* Writes the next one: hexadecimal digits. */
void request_id_make(struct request_ids *ids, char out[REQUEST_ID_BYTES]);

/* The one that a trusted forwarder sent: a view into f. Empty where there is none, more than one
 * line, or one of other than 1 to REQUEST_ID_MOST letters, digits and "-_.:=+/". */
struct str request_id_said(const struct fields *f);

#endif
