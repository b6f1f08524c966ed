/* form.h - RFC 9110 8.4, 12.5.3: one stored form of an answer for clients of any Accept-Encoding, and the form
 * in which each of them is sent it.
 *
 * The bytes lie here as the origin sent them, or packed. Who takes their coding is sent them as they lie;
 * the others are sent them expanded. Of both, one is the origin's own: its entity tag and its ranges
 * are the origin's. The other is another representation of the same resource (8.8.3.3): its tag is the origin's
 * made weak, for the tags of one and the other must not be the same strong one, and it has no ranges.
 *
 * Memory    pure.
 */
#ifndef HTTP_FORM_H
#define HTTP_FORM_H

#include "proxy/http/coding.h"
#include "proxy/http/field_block.h"
#include "proxy/http/message.h"
#include "proxy/http/policy.h"

/* ---- which answers are kept in one form ------------------------------------------------------- */

/* Bytes in a coding that is expanded here, or in none; nobody forbids it (no-transform, 7.7). Of bytes whose
 * length is not known, too. */
bool form_may_be_one(const struct response *rs, uint64_t body_bytes);
/* terms say so from now on. asked: the class that the origin was asked for. may_come_coded: it is of a kind that origins code for who takes that. */
void form_is_one(struct terms *t, const struct response *rs, unsigned asked, bool may_come_coded);

enum {
	FORM_CODED_BYTES = 1 << 20,   /* coded bytes that are kept so, at most */
	FORM_EXPANDED_BYTES = 8 << 20 /* that they may become */
};

/* ---- which form a client is sent -------------------------------------------------------------- */

/* So often coded bytes are expanded for clients that take another coding: then the origin is asked for theirs, which
 * most others take as well. */
enum { FORM_OTHERS_MOST = 2 };

enum form {
	FORM_AS_STORED,
	FORM_EXPANDED,
	FORM_BETTER, /* as stored it would do, but an origin that is asked now sends fewer bytes */
	FORM_NONE    /* neither is for this client: what an origin sends it is for nobody else */
};
struct form_facts {
	unsigned accepted; /* by the client (coding_accepted) */
	unsigned class
		;   /* that an origin would be asked for (coding_class); of what is left plain */
	bool range; /* it asks for a part */
	bool no_transform; /* it says so */
};
/* By the terms of an answer. */
enum form form_choose(const struct terms *t, const struct form_facts *f);
/* Whether the origin's tag and ranges are that form's. */
static inline bool
form_is_own(const struct terms *t, enum form form)
{
	return (form == FORM_EXPANDED) == ((t->flags & TERMS_PACKED) != 0);
}

/* ---- what the head says ------------------------------------------------------------------------ */

/* Whether a line of the stored head says something of the bytes that does not hold for this form: its coding,
 * its tag, its digests (RFC 9530), and that there are ranges. */
bool form_drops(const struct terms *t, enum form form, const struct field_line *line);
/* Whether such a field says that, of which no other form has the same one. */
bool form_is_of_bytes(enum field_id id, struct str name);

#endif
