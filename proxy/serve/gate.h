/* gate.h - what is answered before anything is looked up: challenges of a certificate authority,
 * who is denied or asks too often, the way to https, what a route answers by itself, and a path of which it makes
 * none that an origin may be asked for.
 *
 * gate_decide is pure, so that who only asks what would become of a request decides the same.
 */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H

#include "proxy/serve/routes/route.h"

#include <stdbool.h>

struct txn;
struct settings;

enum gate {
	GATE_OPEN,	/* nothing of it: the request goes on */
	GATE_CHALLENGE, /* of a certificate authority: tls.acme_challenges */
	GATE_DENIED,	/* 403 */
	GATE_TO_HTTPS,	/* tls.redirect */
	GATE_REDIRECT,	/* the route's */
	GATE_ANSWER,	/* the route's */
};

/* Of a request whose scheme is known. denied: as gate_denies says. */
enum gate gate_decide(const struct settings *s, const struct route *route, const struct request *rq,
		      bool denied);
/* Whether the route denies the client that asks from this address, or for a trusted forwarder there. */
bool gate_denies(const struct settings *s, const struct local_rules *r, const struct request *rq,
		 struct str peer);
/* Appends the Location of GATE_REDIRECT. */
void gate_add_location(const struct local_rules *r, const struct request *rq, struct buf *out);

/* Whether the peer is a forwarder whose word about the client counts. */
bool gate_trusts(struct txn *t);
/* By its method alone: OPTIONS that goes no further, TRACE. True: answered. */
bool gate_answers_method(struct txn *t);
/* A request whose scheme is known, of a route that is gated. True: answered. */
bool gate_answers(struct txn *t);
/* Before an origin is asked for it: counts by the rates that exempt answers from the cache, once a
 * request. False: the client has asked too often, and has been answered. */
bool gate_admits(struct txn *t);

#endif
