/* slices.h - a large body as slices of one length: which may lie so, which slice holds which bytes,
 * and whether an answer brings the bytes that were asked for. Pure.
 *
 * A slice is one object, under a key that names the version: the strong validator and the length of
 * the whole are in it, so that slices of two versions never meet under one key.
 */
#ifndef SERVE_SLICES_H
#define SERVE_SLICES_H

#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/slice_bytes.h"
#include "proxy/http/message.h"
#include "proxy/http/range.h"

/* May a body of total bytes lie in slices, whose head is rs: a 200 of more than a slice that offers ranges, or a
 * 206 of a body of any size? Of a version that a strong validator tells. */
bool slices_may(const struct response *rs, uint64_t total, int64_t now_s);

static inline uint64_t
slices_number(uint64_t at)
{
	return at / SLICE_BYTES;
}
/* Behind the slice that holds the last byte before until. */
static inline uint64_t
slices_end(uint64_t until)
{
	return until / SLICE_BYTES + (until % SLICE_BYTES != 0);
}
/* The bytes of a slice; n 0: there is no such slice. */
struct range slices_bytes(uint64_t number, uint64_t total);

/* Bytes of the body that o stands for, in slices or not, as the origin has it. */
static inline uint64_t
slices_length(const struct object *o)
{
	return o->kind == OBJECT_SLICED ? o->whole_bytes : object_own_bytes(o);
}

/* The origin was asked for some bytes of a version. */
struct slices_question {
	struct str head; /* stored */
	uint64_t total;
	struct range want;
	bool elsewhere; /* of another server than the one that sent the head */
};
enum slices_answer {
	SLICES_IT,
	SLICES_CHANGED, /* another version */
	SLICES_RENAMED, /* the whole, which that server calls otherwise: it can be asked by date */
	SLICES_ODD,	/* the same version by its tag, but not those bytes: the origin errs */
	SLICES_IGNORED, /* the whole of the same version: this origin has no ranges for it */
	SLICES_FAILED	/* an error that says nothing of the version */
};
enum slices_answer
slices_answer(const struct slices_question *q, const struct response *rs, uint64_t body_bytes);
/* Whether an answer of that status brings no bytes of any version, or not those that were asked for. */
bool slices_is_refused(enum slices_answer a, int status);

/* Tells the version apart, in a stored head; n 0: nothing does. A view into it. */
struct str slices_validator(struct str head);
/* Its Last-Modified: what another server may know it by. */
struct str slices_date(struct str head);
/* The same as the validator for the key of a slice, with the coding: one tag may stand for two (appended to out). */
void slices_version(struct str head, struct buf *out);

#endif
