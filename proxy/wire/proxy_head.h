/* proxy_head.h - what a forwarder writes before a client's first byte to say who the client is: the
 * head of the PROXY protocol, version 1 (a line) or 2 (binary).
 *
 * Pure: bytes in, facts out. Whether the sender may be believed is the caller's to ask. What the
 * extensions of version 2 (TLVs) say is not used; a checksum among them is held against the head.
 */
#ifndef WIRE_PROXY_HEAD_H
#define WIRE_PROXY_HEAD_H

#include "proxy/base/str.h"

#include <sys/socket.h>

/* The longest head that is read: version 1 ends within 107 bytes, version 2 may be of any length and
 * in practice has less than a tenth of this. */
enum { PROXY_HEAD_MOST = 4096 };

enum proxy_head_step {
	PROXY_HEAD_MORE,  /* what came may be the beginning of one */
	PROXY_HEAD_DONE,  /* it is whole */
	PROXY_HEAD_BROKEN /* it is none, or one that breaks a rule */
};

enum proxy_head_who {
	PROXY_HEAD_CLIENT, /* one with an address of IPv4 or IPv6 */
	PROXY_HEAD_NOBODY, /* one that the sender has no such address of: UNKNOWN, a Unix socket */
	PROXY_HEAD_SENDER  /* the sender itself: it looks whether we are there (LOCAL) */
};

struct proxy_head {
	size_t bytes; /* of the head: the client's own begin behind it */
	enum proxy_head_who who;
	struct sockaddr_storage client; /* of PROXY_HEAD_CLIENT, with its port */
};

/* Of the first bytes of a connection. The result does not depend on how many came at once. *out is
 * written when it is done. */
enum proxy_head_step proxy_head_read(struct str in, struct proxy_head *out);

#endif
