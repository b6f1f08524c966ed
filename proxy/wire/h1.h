/* h1.h - HTTP/1.x on a connection (RFC 9112): the files of this name are the only ones that know
 * minor versions, chunked and Connection. They implement the calls of serve/stream.h.
 *
 * The loop in h1_drive is the whole life: go on with the request under way, then look for the next
 * head, then read. It stops when it has to wait, and says for what (conn_wait), so that every wait
 * has a time limit.
 */
#ifndef WIRE_H1_H
#define WIRE_H1_H

#include <stdbool.h>

struct conn;

/* Moves the connection on as far as it goes now; may free it. */
void h1_drive(struct conn *c);
/* The connection waits longer than its list allows; may free it. */
void h1_timeout(struct conn *c);
/* The client is waited for within a request, and so far it sent or took less than the least rate;
 * with no least rate, nothing at all. */
bool h1_pace_is_slow(const struct conn *c);
/* The connection goes, with a request under way or not: on_done(GONE or RESET), then freed. */
void h1_close(struct conn *c);
/* No request begins after those that are here. */
void h1_drain(struct conn *c);

#endif
