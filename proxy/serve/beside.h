/* beside.h - an answer is sent from a fetch that somebody else leads, and its body drips: the
 * request that leads it may be the reason. So it is fetched once more beside that, from its
 * beginning, by one follower at a time (flights_try_beside), for all of them; by each of them a few
 * times in all, long apart, for it may be one of those who bring it about. Where a strong validator
 * tells that it is the same, they go on from there with the byte that is due.
 *
 * Until then, and where that fetch does not help, they go on with what drips.
 */
#ifndef SERVE_BESIDE_H
#define SERVE_BESIDE_H

#include "proxy/serve/txn.h"

enum beside {
	BESIDE_NONE,  /* nothing is tried */
	BESIDE_LATER, /* t->wake will be called */
	BESIDE_READY  /* t->body.reader has more from now on */
};
/* t follows and has been sent all that its flight has. */
enum beside beside_look(struct txn *t);

#endif
