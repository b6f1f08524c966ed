/* digest_parts.h - a digest of what is on a node's disk (filter/family/digest.h) on its way to a node of another zone: in
 * parts, each of which is an answer (control.h).
 *
 *	GET /.twice/digest?made=0000018f...&at=0	the part that begins there of the one with that number
 *	0000018f... 6250112\n and bytes		its number, its length in all, and as much as fits
 *
 * An answer with another number than asked for begins at 0 of the digest that there is now: it was made anew, or the
 * number was 0, which is none's. A length of 0: there is none.
 *
 * Pure.
 * Bounds    a digest has DIGEST_PARTS_MOST bytes; memory is taken as bytes come.
 * Memory    struct digest_parts: zeroed at first; digest_parts_fini frees it.
 */
#ifndef FLEET_DIGEST_PARTS_H
#define FLEET_DIGEST_PARTS_H

#include "proxy/base/buf.h"

#include <stdint.h>

struct twice_digest;

enum {
	DIGEST_PARTS_MOST = 32 << 20,
	DIGEST_PART = 48 << 10, /* bytes of one */
	DIGEST_PARTS_TARGET = 64,
};
/* Bits for each object: 9.2% of what a node does not have seem to be there. */
#define DIGEST_PARTS_BITS 5.0

/* ---- whoever has it ---- */

/* The bytes of d, appended. */
void digest_parts_save(const struct twice_digest *d, struct buf *out);
/* Reads a target; false: it is no question for a digest. */
bool digest_parts_asked(struct str target, uint64_t *made, uint64_t *at);
/* Appends the answer to such a question, of a digest with that number. whole: empty: there is none. */
void
digest_parts_answer(struct str whole, uint64_t number, uint64_t made, uint64_t at, struct buf *out);

/* ---- whoever asks ---- */

struct digest_parts {
	uint64_t made; /* 0: none is under way */
	uint64_t total;
	struct buf bytes;
};

/* The next question. */
void digest_parts_target(const struct digest_parts *p, char out[DIGEST_PARTS_TARGET]);

enum digest_parts_step {
	DIGEST_PARTS_MORE,
	DIGEST_PARTS_WHOLE,
	DIGEST_PARTS_NONE, /* that node has none */
	DIGEST_PARTS_WRONG /* it is no such answer, or too much */
};
/* Takes what is the answer to that. Behind the last two p is empty. */
enum digest_parts_step digest_parts_take(struct digest_parts *p, struct str content);
/* Of a whole one: NULL and why it is none. p is empty then. */
struct twice_digest *digest_parts_load(struct digest_parts *p, const char **why);
void digest_parts_fini(struct digest_parts *p);

#endif
