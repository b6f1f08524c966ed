/* resolver.h - names are looked up again and again, on threads of their own, so that no request and
 * no event loop ever waits for a name server.
 *
 * Each name is looked up when it is first wanted and then every so often, however many requests
 * there are. A lookup that fails is tried again after 1 s, then 2, 4, ... up to the usual time; what
 * was found before stays (addresses.h). A name server that hangs holds up to RESOLVER_THREADS
 * threads and nothing else.
 *
 * Threads   any, own lock.
 * Errors    failures and moves are lines in the log.
 */
#ifndef ORIGIN_RESOLVER_H
#define ORIGIN_RESOLVER_H

#include "proxy/origin/addresses.h"

enum { RESOLVER_THREADS = 8, RESOLVER_FIRST_RETRY_MS = 1000 };

struct resolver;

/* Asks whoever knows, and may take its time: the number of addresses in out, the preferred ones
 * first, or 0 and a sentence without its end in *why, which stays. On any thread. */
typedef unsigned resolver_ask_fn(const char *name, struct ip out[ADDRESSES_MOST], const char **why);

/* ask: NULL is the system's getaddrinfo. */
struct resolver *resolver_create(resolver_ask_fn *ask, int64_t every_ms);
/* From the next lookup of each name on. */
void resolver_every(struct resolver *r, int64_t every_ms);
/* Another process found a name there: used until it is looked up, if somebody takes it from now on. */
enum { RESOLVER_HINT_MOST = 16 };
void resolver_hint(struct resolver *r, const char *name, const struct ip *at, unsigned n);
/* The addresses of a name, the same for all who take it; they are looked up until the last of them
 * destroys them. */
struct addresses *resolver_take(struct resolver *r, const char *name);
/* Until all that were taken have been looked up once, or another process found them; at most so long. */
void resolver_wait(struct resolver *r, int64_t most_ms);
/* Returns at once, even while a lookup hangs; its thread then cleans up. NULL: nothing happens. */
void resolver_destroy(struct resolver **r);

#endif
