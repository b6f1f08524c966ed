/* witness.h - was a client of another address told the same? An answer that one client's fields may have
 * caused is believed when a second one is told so too.
 *
 * Addresses are those of networks (network_client): whoever has one IPv6 network is one client.
 *
 * Threads   any, lock-free.
 */
#ifndef SERVE_WITNESS_H
#define SERVE_WITNESS_H

#include "filter/hash.h"
#include "proxy/base/str.h"

#include <stdbool.h>

struct passes;

/* A number for the client of this address, made with a secret. */
uint64_t witness_of(const struct twice_seed *seed, struct str address);
/* client has found what; true when another one did within the last minutes, and it did not. */
bool
witness_is_second(struct passes *p, struct twice_key_hash what, uint64_t client, int64_t now_s);
/* The same; and from then on it is true for all, for as long. */
bool witness_is_known(struct passes *p, struct twice_key_hash what, uint64_t client, int64_t now_s);

#endif
