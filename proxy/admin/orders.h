/* orders.h - what POST /purge asks for: a query, a form, or URLs line by line, as a list of orders;
 * and the answer to it. Pure.
 *
 * A query or form has any number of url=, prefix=, host= and tag=, or all=1 alone; soft=1 is for
 * all of them; wait=MS waits for other nodes. Each value is percent-encoded, "+" is a space.
 *
 * Memory    the orders' names are views into the list's own text.
 * Errors    foreign bytes: a sentence that says what would be right, in the list. There are at most
 *           ORDERS_MOST orders.
 */
#ifndef ADMIN_ORDERS_H
#define ADMIN_ORDERS_H

#include "proxy/admin/admin.h"
#include "proxy/base/buf.h"

enum { ORDERS_MOST = 10000, ORDERS_WAIT_MOST_MS = 10000 };

struct orders {
	struct purge_order *list;
	unsigned n, room;
	int64_t wait_ms;  /* for other nodes */
	char *text;	  /* behind the names */
	struct buf wrong; /* why it cannot be read; empty: it was */
};

/* The query counts, if there is one, else the body. False: see wrong. */
bool orders_read(struct str query, struct str body, struct orders *out);
void orders_fini(struct orders *o);

/* JSON for what became of them; *status 200, 503 when it is not durable, 202 when other nodes lack it; or the sentence why one
 * was refused, and 400. */
void orders_answer(const struct orders *o, const struct purge_result *results,
		   const struct purge_others *others, int *status, struct buf *out);

#endif
