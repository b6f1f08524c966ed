/* doubt.h - an answer to a question for slices was not what the stored head promised: what does
 * that say of the head?
 *
 * What one client's own fields brought about must not cost others what is kept. So an error or a
 * private answer is reason to ask once in a while whether the head still holds, not more; and that
 * an origin has no ranges, or errs in them, two clients have to find.
 */
#ifndef SERVE_DOUBT_H
#define SERVE_DOUBT_H

#include "proxy/serve/fill.h"
#include "proxy/serve/rules/slices.h"

/* Nothing of what this 206 says keeps it from those whom the whole was for. That it says nothing of
 * freshness does not matter: the head of the whole does. */
bool doubt_is_for_all(struct fill *f, const struct response *rs, bool one_form);
/* f asked for slices of what o is the head of and was answered rs, which is worth a (not
 * SLICES_IT); for_all: others might be answered with it too. */
void doubt_head(struct fill *f, struct object *o, const struct response *rs, enum slices_answer a,
		bool for_all);

/* Another server of the group than the one that sent the head o (or NULL) is asked. */
bool doubt_is_elsewhere(const struct fill *f, const struct object *o);
/* Two servers may have two tags for one file: how f asks for slices of it. */
struct doubt_names {
	bool by_date; /* of another server, for which tags are known to tell nothing */
	bool asked_again;
};
/* The field If-Range of that question: o (or NULL) is the head of what it is about, head the same as stored. */
struct str
doubt_validator(struct fill *f, const struct object *o, struct str head, struct doubt_names *n);
/* The whole was answered, a, for want of the name by which that server knows it: f is to ask it by the
 * other one, once. For an hour its URL is asked for by date at once. */
bool doubt_asks_again(struct fill *f, struct doubt_names *n, enum slices_answer a);
/* Another version was answered, with this status, to one who is in the middle of ours: another server
 * may have that still, and is the one to ask. */
bool doubt_asks_elsewhere(struct fill *f, int status);

#endif
