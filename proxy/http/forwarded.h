/* forwarded.h - who asked, and how, according to forwarders that we trust.
 *
 * X-Forwarded-For, or Forwarded (RFC 7239), lists the addresses a request came through; each
 * forwarder adds at the end whom it saw. Only what a trusted one wrote is believed: from our peer
 * backwards, until an address that is not trusted itself. That is the client.
 *
 * Memory    the result is a view into the request, or peer itself.
 */
#ifndef HTTP_FORWARDED_H
#define HTTP_FORWARDED_H

#include "proxy/base/network.h"
#include "proxy/http/message.h"

/* The client's address without port and brackets; peer when it is not trusted, when nothing useful
 * is said, or when both fields are there and name different clients: then a client sent one of them
 * through a forwarder that knows only the other. */
struct str forwarded_client(const struct fields *f, const struct network *trusted, unsigned n,
			    struct str peer);

/* "http" or "https" by the word of a peer that is trusted: the last member of X-Forwarded-Proto, or
 * else of Forwarded. Empty when that names neither. */
struct str forwarded_scheme(const struct fields *f);

/* Calls each with every "host" and "proto" that members of Forwarded name, whoever wrote them, and with
 * "" and the whole line where its quotes do not close. Values without quotes; views into the request. */
typedef void forwarded_each_fn(void *ctx, struct str name, struct str value);
void forwarded_claims(const struct fields *f, forwarded_each_fn *each, void *ctx);

#endif
