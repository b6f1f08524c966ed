/* line.h - those who wait for something, and whose turn is next: clients take turns, and so do the
 * routes of each client.
 *
 * Whoever comes is at the head of the line after one round of those who are there, however many places
 * any of them has. Clients and routes are numbers, which the caller makes.
 *
 * Memory    a place lies in the struct of who waits; a client and a route that have a place cost a
 *           small struct each, never more than there are places.
 * Threads   one worker's.
 */
#ifndef ORIGIN_LINE_H
#define ORIGIN_LINE_H

#include <stdint.h>
#include <sys/queue.h>

struct line_client;
struct line_route;

struct line_place {
	uint64_t client; /* both set by who enters */
	unsigned route;
	struct line_route *in; /* NULL: in no line */
	TAILQ_ENTRY(line_place) next;
};

enum { LINE_CHAINS = 64 };

TAILQ_HEAD(line_clients, line_client);
LIST_HEAD(line_chain, line_client);

struct line {
	struct line_clients clients;	       /* in the order of their turns */
	struct line_chain chains[LINE_CHAINS]; /* the same, by number */
	unsigned count;			       /* of places */
};

void line_init(struct line *l);
void line_enter(struct line *l, struct line_place *p);
/* Leaves without having had its turn. */
void line_leave(struct line *l, struct line_place *p);
/* Has its turn, whether it is its or not: its client and its route are behind the others now. */
void line_take(struct line *l, struct line_place *p);
/* It has the next turn; NULL: nobody waits. */
struct line_place *line_first(const struct line *l);
/* The first place of the client that has the nth turn from now, 0 being the next; NULL: fewer wait. */
struct line_place *line_nth(const struct line *l, unsigned n);
/* How many places a client has. */
unsigned line_places(const struct line *l, uint64_t client);
/* The newest place in the longest route of the client that has most places, which is not more than
 * `least`: NULL. Looks at every client. */
struct line_place *line_longest(const struct line *l, unsigned least);

#endif
