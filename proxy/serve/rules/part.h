/* part.h - a 206 kept for a while: answers smaller ranges (RFC 9111 3.3).
 *
 * A part stands in the RAM tier under a key of its own (the primary key and a mark), never on disk:
 * an object worth disk is fetched whole on its second sighting.
 */
#ifndef SERVE_PART_H
#define SERVE_PART_H

#include "proxy/http/message.h"
#include "proxy/http/range.h"

struct object;

enum { PART_MOST_BYTES = 1 << 20 };

/* Whether this answer may be kept as a part: a single range of known length and total, as long as
 * it says, of something that does not vary. */
bool part_is_sound(const struct response *rs, uint64_t body_bytes);

/* A stored part holds *held of *total. */
bool part_held(const struct object *o, struct range *held, uint64_t *total);

/* True: the part has what the request's Range wants: *want (of the whole). */
bool part_answers(const struct object *o, const struct request *r, int64_t now, struct range *want,
		  uint64_t *total);

#endif
