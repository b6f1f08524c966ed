/* learn.h - what is learnt of a stored object without its body: from a 304, and from a HEAD.
 */
#ifndef SERVE_LEARN_H
#define SERVE_LEARN_H

#include "proxy/serve/fill_inside.h"

/* RFC 9111 4.3.5: what a HEAD brought is news of the stored GET. */
void learn_from_head(struct fill *f, const struct response *rs);
/* The origin said 304 to our question about f->object: it gets the new fields (RFC 9111 4.3.4), and
 * answers: *h is the head for the flight. */
void learn_from_304(struct fill *f, const struct response *rs, struct flight_head *h);

#endif
