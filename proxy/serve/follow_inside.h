/* follow_inside.h - what the files of follow share: follow.c (who leads, who follows, and what comes), follow_late.c (who
 * waits for the end), and follow_go.c (the steps of both). For nobody else.
 */
#ifndef SERVE_FOLLOW_INSIDE_H
#define SERVE_FOLLOW_INSIDE_H

#include "proxy/serve/follow.h"

enum { FOLLOW_RESTARTS_MAX = 4 };

/* We wait for the origin from now on, on our own or another's fetch. */
void follow_set_limits(struct txn *t);
void follow_set_alarm(struct txn *t); /* for the next of them */
/* For this client alone. */
void follow_fetch_own(struct txn *t);

/* t->object answers, though it is stale: why. */
void follow_serve_stale(struct txn *t, const char *why);

/* follow_late.c. Somebody stores what was asked for, and its beginning is not to be had any more: it waits. */
bool follow_waits_for_store(struct txn *t);
/* The head is here, of a body that this client is sent in another form. True: it waits, or has moved on. */
bool follow_waits_for_form(struct txn *t, const struct flight_head *h);
/* In LATE_WAITS, while its flight is in this state. */
void follow_wait_for_end(struct txn *t, enum flight_state s);

#endif
