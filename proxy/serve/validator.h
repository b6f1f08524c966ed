/* validator.h - what tells one version of a representation from another, well enough to put bytes
 * of two answers together (RFC 9110 8.8, 15.3.7.3). Pure.
 */
#ifndef SERVE_VALIDATOR_H
#define SERVE_VALIDATOR_H

#include "proxy/http/message.h"

/* A strong tag; where there is no tag at all, a date that is strong (RFC 9110 8.8.2.2). Empty:
 * nobody can tell. A view into the fields. */
struct str validator_strong(const struct fields *f, int64_t now_s);
/* Whether an answer with these fields is of the version that `ours` (not empty) tells. */
bool validator_is_of(struct str ours, const struct fields *f);

#endif
