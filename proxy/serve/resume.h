/* resume.h - a body that broke off goes on: the rest is asked for by Range, where a strong
 * validator tells that it is the rest of the same (RFC 9110 14.2).
 *
 * Not of what passes: that client can ask for the rest itself, with its own credentials and when it
 * likes, and a second request for what is one client's may count twice at the origin.
 */
#ifndef SERVE_RESUME_H
#define SERVE_RESUME_H

#include "proxy/serve/fill_inside.h"

enum { RESUME_RANGE_BYTES = 64 };

bool resume_is_told(struct str stored_head); /* by a strong validator */
/* By such a validator: bytes of the one may follow bytes of the other. */
bool resume_is_same(struct str stored_head, struct str other_head);
bool resume_may(const struct fill *f);
/* The fields that ask for the rest; range keeps what out points to. */
void resume_ask(struct fill *f, struct outgoing_asks *out, char range[RESUME_RANGE_BYTES]);
/* Whether this is the head of it; then the length of the whole is known, if it was not. */
enum resumption {
	RESUME_NOT,
	RESUME_IT,
	RESUME_OVER /* nothing is missing but the end that never came */
};
enum resumption resume_with(struct fill *f, const struct response *rs);

#endif
