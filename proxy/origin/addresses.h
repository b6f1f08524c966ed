/* addresses.h - where a name is found: what lookups said, and what connections then learnt.
 *
 * Nobody looks up here (resolver.h). A lookup that fails changes nothing: the addresses of before
 * are used on. An address that the newest lookup does not name gets no new connection; kept
 * connections to it stay until the lookup after that does not name it either, since many names are
 * answered with other addresses of a larger set each time.
 *
 * New connections take turns among the addresses of the family that the system prefers. Those that
 * did not answer while another did come last for ADDRESSES_HOLD_MS; then one connection finds out.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Threads   any; a lock, held for a few instructions. addresses_edition is one relaxed load.
 */
#ifndef ORIGIN_ADDRESSES_H
#define ORIGIN_ADDRESSES_H

#include "proxy/base/address.h"

#include <stdbool.h>
#include <stdint.h>

/* MOST: of a name; more than that a lookup is hardly answered with (by UDP 28, in 64 KiB by TCP 2,300 of
 * IPv6 and 4,000 of IPv4). TRIED: by one connection, which would give each of more too little time. */
enum { ADDRESSES_MOST = 512, ADDRESSES_TRIED = 16, ADDRESSES_HOLD_MS = 10000 };

struct ip { /* IPv4 as mapped IPv6 (base/network.h) */
	unsigned char bytes[16];
};

void addresses_print(const struct ip *ip, char out[ADDRESS_HOST_BYTES]);

struct addresses;

struct addresses *addresses_create(const char *name); /* copied; one user */
struct addresses *addresses_ref(struct addresses *a);
void addresses_destroy(struct addresses **a);	     /* one user less; the last one destroys */
bool addresses_is_shared(const struct addresses *a); /* by more than one user */
const char *addresses_name(const struct addresses *a);

enum addresses_news {
	ADDRESSES_SAME,
	ADDRESSES_OTHER, /* some are new */
	ADDRESSES_MOVED	 /* none is one of before */
};
/* A lookup found these n > 0, the preferred ones first. */
enum addresses_news addresses_found(struct addresses *a, const struct ip *v, unsigned n);

bool addresses_is_known(struct addresses *a); /* a lookup has found some */
/* The first of the newest lookup, up to most, for who asks; the number of all. */
unsigned addresses_list(struct addresses *a, struct ip *out, unsigned most);
/* In which order a new connection tries them; their number, 0: none is known. */
unsigned addresses_order(struct addresses *a, struct ip out[ADDRESSES_TRIED], int64_t now_ms);
/* Notes what came of that order: the first to connect was of[answered]; n: none did. */
void addresses_tell(struct addresses *a, const struct ip *of, unsigned n, unsigned answered,
		    int64_t now_ms);

/* Another number once a connection that was to be kept is to go. */
unsigned addresses_edition(const struct addresses *a);
/* Whether a connection to it may be kept. */
bool addresses_has(struct addresses *a, const struct ip *ip);

#endif
