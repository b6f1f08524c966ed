/* part.h - a 206 kept for a while: answers smaller ranges, and is completed by fetching only what
 * is missing (RFC 9111 3.3, 3.4).
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

/* The next bytes to fetch of the whole when those before from are there: before the part, or behind
 * it. False when none are missing, when there is no strong validator to combine by (RFC 9110
 * 15.3.7.3), or when both are missing: then the whole is fetched at once. validator is a view into
 * the object's head.
 */
bool part_next_gap(const struct object *o, uint64_t from, struct range *gap, struct str *validator);

/* Whether rs, a 206, is that gap of the same representation. */
bool part_fills(const struct object *o, struct range gap, const struct response *rs,
		uint64_t body_bytes);

#endif
