/* forwarded.h - who asked, and how, according to forwarders that we trust.
 *
 * X-Forwarded-For, or Forwarded (RFC 7239), lists the addresses a request came through; each
 * forwarder adds at the end whom it saw. Only what a trusted one wrote is believed: from our peer
 * backwards, until an address that is not trusted itself. That is the client.
 *
 * Most forwarders write one of the two fields and pass on the other as a client sent it. So both must
 * name the same client where both are there, and what cannot be read is not skipped: the client is
 * unknown then, as it is behind more than 64 trusted hops, and where Forwarded has more than 4 KiB. Nobody is privileged in doubt; the forwarder's own address, above all, is not taken for
 * the client's.
 *
 * Memory    the result is a view into the request, peer itself, or a constant.
 */
#ifndef HTTP_FORWARDED_H
#define HTTP_FORWARDED_H

#include "proxy/base/network.h"
#include "proxy/http/message.h"

/* The client's address without port and brackets; peer, where it is not trusted or sends neither field;
 * or "unknown", which is no address: no network holds it. */
struct str forwarded_client(const struct fields *f, const struct network *trusted, unsigned n,
			    struct str peer);
bool forwarded_is_unknown(struct str client);

/* "http" or "https" by the word of a peer that is trusted: the last member of X-Forwarded-Proto, or
 * else of Forwarded. Empty when that names neither. */
struct str forwarded_scheme(const struct fields *f);

/* Calls each with every "host" and "proto" that members of Forwarded name, whoever wrote them, and with
 * "" and the whole line where its quotes do not close, or where all lines have more than 4 KiB. Values without quotes; views into the request. */
typedef void forwarded_each_fn(void *ctx, struct str name, struct str value);
void forwarded_claims(const struct fields *f, forwarded_each_fn *each, void *ctx);

#endif
