/* tunnel.h - a request whose connection switches protocols (RFC 9110 7.8): WebSocket and its like.
 *
 *	client --- GET, Upgrade ---> passed, for this client alone --- Upgrade ---> origin
 *	       <-- 101 ------------- the head of an answer without end <--- 101 ---
 *	       <== bytes ============ its body                        <== bytes ===
 *	       === bytes ===========> the request's body             === bytes ==>
 *
 * So a tunnel has the back-pressure of any body, both ways, and holds no more of either. It is asked
 * for only where the route names the protocol. Any other answer than the 101 is the client's alone,
 * and the last of its connection: one of both may take what it sends next for another protocol.
 */
#ifndef SERVE_TUNNEL_H
#define SERVE_TUNNEL_H

#include <stdbool.h>

struct txn;

/* Whether t asks for a protocol that its route allows: t->tunnel.protocol. False: it may not, for there are
 * limits.tunnels of them, or its client has three times as many as are left; it is answered. */
bool tunnel_begin(struct txn *t);
/* The origin agreed, and the client has been told: what the client sends goes there from now on. */
void tunnel_open(struct txn *t);
/* The request is over; harmless for others. */
void tunnel_end(struct txn *t);

#endif
