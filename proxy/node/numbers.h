/* numbers.h - what workers and origins have counted, for a report.
 *
 * Threads   any.
 */
#ifndef NODE_NUMBERS_H
#define NODE_NUMBERS_H

#include "proxy/admin/report.h"
#include "proxy/node/origins.h"
#include "proxy/node/worker.h"

struct config;

/* Adds the counters and histograms of n workers, and what is known of the origins. */
void numbers_add(const struct worker *workers, unsigned n, const struct origins *origins,
		 struct report *out);
/* Of these the counters alone. */
void numbers_count(const struct worker *workers, unsigned n, struct report *out);
/* Adds what they counted for routes with names; counted: edition.h. */
void numbers_routes(const struct worker *workers, unsigned n, const struct config *c,
		    const unsigned char *counted, struct report *out);
struct tls_server;
/* Those that clients are shown now; tls NULL: none. */
void numbers_certificates(struct tls_server *tls, struct report *out);
/* Names this node. ports: of its listeners, as bound. */
void numbers_name(const struct config *c, const unsigned *ports, struct report *out);

#endif
