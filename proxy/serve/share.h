/* share.h - a bound for all clients together, of which one cannot take all: the more is taken, the less of it may be one
 * client's. Who has none finds room as long as there is any.
 *
 * A client is its address, as it counts for admission (sight_asker). A forwarder that names no client, and who comes by a
 * Unix socket, may speak for many: they are bounded by what all have.
 *
 * Threads   any. Zeroed: nothing is taken.
 */
#ifndef SERVE_SHARE_H
#define SERVE_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct txn;

enum { SHARE_SLOTS = 4096 };

struct share {
	_Atomic uint64_t all;
	_Atomic uint64_t of[SHARE_SLOTS]; /* by the hash of the client's address */
};

/* Never 0. */
unsigned share_holder(const struct txn *t);
/* Of `most` for all. False: there is no room, and nothing is taken. */
bool share_take(struct share *s, unsigned holder, uint64_t n, uint64_t most);
void share_give(struct share *s, unsigned holder, uint64_t n);
/* Whether it could be taken now. */
bool share_has_room(const struct share *s, unsigned holder, uint64_t n, uint64_t most);

#endif
