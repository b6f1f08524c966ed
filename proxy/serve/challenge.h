/* challenge.h - a file that an ACME client put into its directory for the authority to ask for, as serve, which opens
 * no file, gets it.
 *
 * The name comes from a stranger: it is a token (RFC 8555 8.3: base64url) and nothing else, so no
 * name leads out of the directory, and a link in it is not followed.
 *
 * Threads   any asks; the answer is a letter.
 */
#ifndef SERVE_CHALLENGE_H
#define SERVE_CHALLENGE_H

#include "proxy/base/mailbox.h"
#include "proxy/base/str.h"

enum { CHALLENGE_BYTES = 4096, CHALLENGE_TOKEN_BYTES = 128 };

struct challenge {
	struct letter letter;
	struct mailbox *home;		       /* set before */
	void (*done)(struct challenge *c);     /* at home */
	void (*forsaken)(struct challenge *c); /* instead, on any thread: the reader has gone */
	struct challenge *next;		       /* the reader's, while it is asked */
	char *dir;			       /* the reader's too */
	char token[CHALLENGE_TOKEN_BYTES + 1];
	int bytes; /* 0: there is none */
	char text[CHALLENGE_BYTES];
};

struct challenge_reader {
	/* c: on the heap. False: it is no token, or too many wait already (c->bytes -1); then there is no
	 * letter. */
	bool (*ask)(struct challenge_reader *r, struct challenge *c, const char *dir,
		    struct str token);
};

#endif
