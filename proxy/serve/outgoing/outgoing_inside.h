/* outgoing_inside.h - what the parts of outgoing share. For nobody else.
 *
 *	outgoing.c            one request: may it go on, and under which scheme
 *	outgoing_key.c        what the key and a variant's values are made of
 *	outgoing_head.c       the field lines that go to the origin
 *	outgoing_value.c      both ask: what is the value of this field
 *	outgoing_rule.c       and: does it go out at all
 *	outgoing_form.c       may it go out in normal form
 *	outgoing_override.c   and: does it speak for somebody else
 */
#ifndef SERVE_OUTGOING_INSIDE_H
#define SERVE_OUTGOING_INSIDE_H

#include "proxy/serve/outgoing/outgoing.h"

/* ---- outgoing_override.c --------------------------------------------------------------------- */

bool outgoing_is_override(const struct outgoing *o, struct str name);
/* Overrides that differ from client to client; of a trusted forwarder they are in no key. */
bool outgoing_says_who_asks(struct str name);
/* A client that sends it may be taken for any other. */
bool outgoing_is_harmless(const struct outgoing *o, struct str name);
/* Whether the route's key names it. */
bool outgoing_is_in_key(const struct outgoing *o, struct str name);

/* ---- outgoing_rule.c ------------------------------------------------------------------------- */

extern const struct outgoing_asks outgoing_asks_nothing;

/* Whether its value is written by us: outgoing_add_written. */
bool outgoing_writes_anew(enum field_id id);
/* Whether lines of this name are the client's to say. */
bool outgoing_goes_out(const struct outgoing *o, enum field_id id, struct str name,
		       const struct outgoing_asks *a);

/* Whether lines of it go on to another node as they came. */
bool outgoing_is_end_to_end(enum field_id id, const struct outgoing_asks *a);

/* ---- outgoing_value.c ------------------------------------------------------------------------ */

struct outgoing_lines { /* of one field */
	unsigned n;
	uint8_t at[FIELDS_MAX]; /* places in rq->fields */
};
_Static_assert(FIELDS_MAX <= 256, "places are bytes");

/* Appends lines of one name as one value (at least one line), in normal form where there is one. */
void outgoing_add_value(const struct outgoing *o, const struct outgoing_lines *l, struct buf *out);
void outgoing_add_normal(enum field_id id, struct str name, struct str value, struct buf *out);
/* Appends the value of a field that is written anew; false: it has none, or is not sent. */
bool outgoing_add_written(const struct outgoing *o, enum field_id id, struct str authority,
			  struct buf *out);
/* Whether a rule of the route says what this field is. */
bool outgoing_is_ruled(const struct outgoing *o, struct str name);
/* Appends that rule's value. */
void outgoing_add_ruled(const struct outgoing *o, const struct header_rule *l, struct str authority,
			struct buf *out);
/* Appends all that goes out under a name that is not written anew, as one value: the client's lines
 * and the rules'. False: nothing does. */
bool outgoing_add_sent(const struct outgoing *o, enum field_id id, struct str name,
		       struct str authority, struct buf *out);
/* The host for which the client asked, by a trusted forwarder's word. */
struct str outgoing_forwarded_host(const struct outgoing *o, struct str authority);

#endif
