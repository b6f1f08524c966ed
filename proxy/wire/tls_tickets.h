/* tls_tickets.h - the keys of session tickets, shared by all workers, and changed by the clock.
 *
 * Time is cut into periods. A ticket is made with the key of its period, and understood in that and
 * the next. Keys are random, or derived from a secret that nodes share: then each understands the
 * tickets of the others, as long as their clocks agree within a period.
 *
 * Threads   any; a lock for the time of a copy.
 */
#ifndef WIRE_TLS_TICKETS_H
#define WIRE_TLS_TICKETS_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"

struct tls_tickets;

enum { TLS_SECRET_LEAST = 32 };

struct tls_tickets *tls_tickets_create(int64_t period_s);
void tls_tickets_destroy(struct tls_tickets **t);
/* The secret that keys are derived from now on, at least TLS_SECRET_LEAST bytes; empty: none. Those
 * that are known still open tickets. */
void tls_tickets_set_secret(struct tls_tickets *t, struct str secret);
/* How long a key makes tickets. */
int64_t tls_tickets_period(const struct tls_tickets *t);

/* The keys that tickets are still opened with, appended to out, for another process of the same node;
 * and taken from there: false, it is malformed or of other periods. They are secret: wipe out. */
void tls_tickets_save(struct tls_tickets *t, struct buf *out);
bool tls_tickets_load(struct tls_tickets *t, struct str bytes);

struct tls_ticket_key {
	unsigned char name[16], cipher[32], mac[32];
};
/* The key to make tickets with at this time; false: the system has no random numbers. */
bool tls_tickets_key(struct tls_tickets *t, int64_t now_s, struct tls_ticket_key *out);
/* The key of this name, if its tickets are still good. is_old: it is not that of the period. */
bool tls_tickets_find(struct tls_tickets *t, const unsigned char name[16], int64_t now_s,
		      struct tls_ticket_key *out, bool *is_old);

#endif
