/* tls_name.h - host names, as ClientHello, certificates and Host fields write them.
 *
 * Answers   pure functions of their arguments. Foreign bytes: fuzz_tls_name.
 * Memory    views and the caller's; a name is at most TLS_NAME_BYTES with its NUL.
 */
#ifndef WIRE_TLS_NAME_H
#define WIRE_TLS_NAME_H

#include "proxy/base/str.h"

#include <stdbool.h>

enum { TLS_NAME_BYTES = 256 };

/* The host of a server_name extension (RFC 6066 3), not checked further; empty: there is none. */
struct str tls_name_of_hello(const unsigned char *extension, size_t n);

/* host[:port] as a name to compare: lower case, without the port, the last dot and the brackets of
 * an IPv6 address. Its length; 0: it cannot be a name. */
size_t tls_name_plain(struct str host, char out[TLS_NAME_BYTES]);

/* A plain name that is an IP address: no ClientHello can ask for it. */
bool tls_name_is_address(const char *name);

/* Whether a name of a certificate, "www.example.com" or "*.example.com", is this host's (RFC 6125
 * 6.4.3: the star is all of the first label, and of one label). Both plain. */
bool tls_name_covers(const char *of_certificate, const char *host);

#endif
