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
#include "proxy/serve/slices.h"

/* f asked for slices of what o is the head of and was answered rs, which is worth a (not
 * SLICES_IT); for_all: others might be answered with it too. */
void doubt_head(struct fill *f, struct object *o, const struct response *rs, enum slices_answer a,
		bool for_all);

#endif
