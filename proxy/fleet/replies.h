/* replies.h - the door where replies of the engine come in: hiredis reads them, within bounds.
 *
 * A reply has at most REPLIES_BYTES_MOST bytes and REPLIES_ELEMENTS_MOST elements in each of its lists. Beyond that,
 * and after a byte that no reply has there, nothing more is read.
 *
 * Threads   one.
 * Memory    a reply belongs to whoever took it: freeReplyObject.
 */
#ifndef FLEET_REPLIES_H
#define FLEET_REPLIES_H

#include "proxy/base/str.h"

struct redisReply;
struct replies;

enum { REPLIES_BYTES_MOST = 4 << 20, REPLIES_ELEMENTS_MOST = 8192 };

struct replies *replies_create(void);
void replies_destroy(struct replies **r);
void replies_feed(struct replies *r, const char *p, size_t n);
/* The next whole reply; NULL: there is none yet, or replies_are_broken. */
struct redisReply *replies_next(struct replies *r);
bool replies_are_broken(const struct replies *r);

/* The text of a string, status or error; of anything else one of no bytes. */
struct str replies_text(const struct redisReply *r);

#endif
