/* resume.h - a body that broke off goes on: the rest is asked for by Range, where a strong
 * validator tells that it is the rest of the same (RFC 9110 14.2).
 */
#ifndef SERVE_RESUME_H
#define SERVE_RESUME_H

#include "proxy/serve/fill_inside.h"

enum { RESUME_RANGE_BYTES = 32 };

bool resume_is_told(struct str stored_head); /* by a strong validator */
bool resume_may(const struct fill *f);
/* The fields that ask for the rest; range keeps what out points to. */
void resume_ask(struct fill *f, struct outgoing_asks *out, char range[RESUME_RANGE_BYTES]);
/* Whether this is the head of it. */
bool resume_fits(const struct fill *f, const struct response *rs);

#endif
