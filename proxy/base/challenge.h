/* challenge.h - a file that an ACME client put into its directory for the authority to ask for.
 *
 * The name comes from a stranger: it is a token (RFC 8555 8.3: base64url) and nothing else, so no
 * name leads out of the directory, and a link in it is not followed. The read is of a small file
 * that was just written, and waits for the disk like any other.
 */
#ifndef BASE_CHALLENGE_H
#define BASE_CHALLENGE_H

#include "proxy/base/str.h"

enum { CHALLENGE_BYTES = 4096, CHALLENGE_TOKEN_BYTES = 128 };

/* Bytes of it; 0: there is none. */
int challenge_read(const char *dir, struct str token, char out[CHALLENGE_BYTES]);

#endif
