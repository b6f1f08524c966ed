/* upgrade.h - a connection that changes its protocol (RFC 9110 7.8): whether a request asks for it,
 * and whether an answer agrees.
 *
 * Pure.
 */
#ifndef HTTP_UPGRADE_H
#define HTTP_UPGRADE_H

#include "proxy/http/message.h"

/* Finds the protocol (tokens, compared without case) that a request asks for; empty: none. A view
 * into names. It asks by the field Upgrade together with the option of Connection, in HTTP/1.1, by a
 * GET without content: nobody can tell a body from what could follow it. */
struct str upgrade_asked(const struct request *rq, const struct str *names, unsigned n);

/* Whether a 101 switches to this protocol and to nothing else, and says nothing of a body, which a
 * 101 cannot have (RFC 9110 8.6, RFC 9112 6.1). */
bool upgrade_agreed(const struct response *rs, struct str name);

#endif
