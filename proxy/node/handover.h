/* handover.h - what two processes say to each other while one takes the other's place: messages on a
 * socket that the old one makes and the new one inherits.
 *
 *	new                                     old
 *	HELLO  version                     -->  the configuration is fine
 *	                                   <--  LOCK, DOOR, ADMIN, ADMIN_PATH: descriptors; TICKETS; NAME; OPEN
 *	READY  whose cache was opened      -->  or REFUSED and why
 *	                                   <--  FORGET, as many as it takes; GO
 *	SETTLED                            -->  or REFUSED; from here on the new one serves
 *	                                   <--  FORGET, at any time: what the old one was told yet
 *	DURABLE                            -->
 *
 * The end of the stream, and nothing else, is the end of the other process: who took its silence or its
 * nonsense for that would write to directories that it still writes to.
 *
 * Message   one byte (handover_kind), then up to HANDOVER_BYTES of contents; at most one descriptor.
 * Errors    a message that is none is from another program than this one understands.
 * Threads   one at a time.
 */
#ifndef NODE_HANDOVER_H
#define NODE_HANDOVER_H

#include "proxy/base/str.h"
#include "proxy/cache/forget/purge_log.h"

#include <stdbool.h>
#include <stdint.h>

enum { HANDOVER_VERSION = 1, HANDOVER_BYTES = 8192 };

enum handover_kind {
	HANDOVER_HELLO = 1, /* u32 HANDOVER_VERSION */
	HANDOVER_LOCK,	    /* with the lock of a cache directory */
	HANDOVER_DOOR, /* with a socket that listens: u8 1: its file is ours; the entry of listen */
	HANDOVER_ADMIN,	     /* the same of `admin` */
	HANDOVER_ADMIN_PATH, /* the same of `admin_socket` */
	HANDOVER_TICKETS,    /* tls_tickets_save */
	HANDOVER_OPEN,
	HANDOVER_READY,	  /* u64 fingerprint of the seed of the cache */
	HANDOVER_REFUSED, /* a sentence */
	HANDOVER_FORGET,  /* purge entries (purge_log.h) */
	HANDOVER_GO,
	HANDOVER_SETTLED,
	HANDOVER_DURABLE, /* u8 1, or 0: they could not be made so */
	HANDOVER_NAME,	  /* u8 n, n times 16 bytes (network.h), and the name that is found there */
	HANDOVER_KINDS
};

struct handover_message {
	enum handover_kind kind;
	int fd; /* the receiver's; -1: none came along */
	size_t n;
	char bytes[HANDOVER_BYTES];
};

/* The two ends of the stream, closed by exec; 0 or -1. */
int handover_pair(int ends[2]);
/* fd: -1: none goes along. Waits for room up to limit_ms. 0, or -1: nobody takes it. */
int handover_send(int end, enum handover_kind kind, struct str bytes, int fd, int limit_ms);
enum handover_got { HANDOVER_GOT, HANDOVER_NOTHING, HANDOVER_END, HANDOVER_WRONG };
/* The next message; or nothing within limit_ms (below 0: no limit), or something that is none. */
enum handover_got handover_receive(int end, struct handover_message *out, int limit_ms);
/* A descriptor that nobody wants is closed. */
void handover_drop(struct handover_message *m);

/* How many of n > 0 entries go into one message: a prefix goes with its host, which is before it. */
size_t handover_at_once(const struct purge_entry *list, size_t n);
/* All entries, in as many messages as it takes. 0 or -1. */
int handover_send_forgets(int end, const struct purge_entry *list, size_t n, int limit_ms);
/* Those of a message, appended to what *list holds *n of; false: it is malformed. The caller frees. */
bool handover_read_forgets(const struct handover_message *m, struct purge_entry **list, size_t *n);

#endif
