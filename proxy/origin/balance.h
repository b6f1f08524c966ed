/* balance.h - which of the servers of a group is asked for a request: pure, facts in, a number out.
 *
 *	order        the first that may be asked
 *	least        the one with the fewest requests under way, by weight
 *	round-robin  in turn, by weight and evenly mixed (2, 1: a b a a b a)
 *	hash         the same server for the same key (weighted rendezvous), unless it has more than
 *	             1.25 times its share of what is under way; a server that comes or goes moves
 *	             only the keys that it has
 *
 * Units     weights are relative.
 * Threads   pure.
 */
#ifndef ORIGIN_BALANCE_H
#define ORIGIN_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

enum balance { BALANCE_ORDER, BALANCE_LEAST, BALANCE_ROUND_ROBIN, BALANCE_HASH };

struct balance_server {
	bool may;	 /* it may be asked for this request */
	unsigned weight; /* at least 1 where it may */
	unsigned active; /* requests under way */
	uint64_t name;	 /* hash: what it is, not where it is in the list */
};

enum { BALANCE_NONE = -1, BALANCE_MOST = 64 };
/* turn: another number for each request, of which the next is greater by one; key: hash of what is
 * asked for; n: at most BALANCE_MOST. BALANCE_NONE: no server may be asked. */
int balance_pick(enum balance how, const struct balance_server *v, unsigned n, uint64_t turn,
		 uint64_t key);

#endif
