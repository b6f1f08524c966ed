/* rates.h - up to when each client has used up its rate, of all clients, in a table of fixed size.
 *
 * A client's time (rate.h) is written to four cells, places that a secret makes of rule and address,
 * and is the least of what they say. A cell is only ever raised. So whoever asks from many addresses
 * makes nobody's time forgotten, least of all its own. What it can do is raise all four cells of
 * another client, which then waits as if it shared an address. How many cells of a row a network can
 * reach is bounded: 2^14 a /48, 2^16 a /32, 2^17 a /29, of 2^19. So while 100,000 other clients are under
 * way, less than one client in a hundred shares, also with somebody who asks from all of a /32. Rules
 * whose bursts take about as long to come back have a table together, so that a rule of days does not
 * raise cells for one of seconds.
 *
 * Memory    16 MiB for each of the four tables that a rule is in, from its first request on.
 * Threads   rates_take: any, without a lock. A client that asks several workers at once has one
 *           rate: of two charges that begin with the same state, one tries again.
 */
#ifndef SERVE_RATES_H
#define SERVE_RATES_H

#include "proxy/base/str.h"
#include "proxy/serve/routes/rate.h"

struct rates;

struct rates *rates_create(void);
void rates_destroy(struct rates **r);
/* A request by the client with that address as text, by those rules for which hits count, or by the
 * others. Of IPv6 the first 64 bits count. All who come by Unix sockets are one client, and so are all
 * without an address. 0: it may, and each rule was charged; else how long it has to wait, and none was
 * (but where requests of one client race). */
int64_t rates_take(struct rates *r, const struct rate_rules *rules, bool hits, struct str client,
		   int64_t now_ns);

#endif
