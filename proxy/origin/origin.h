/* origin.h - an origin's settings, checked once: where it is, how long to wait for it.
 *
 * Threads   constant after origin_create but for the count of its users, and what it was heard to speak;
 *           shared by all workers.
 */
#ifndef ORIGIN_ORIGIN_H
#define ORIGIN_ORIGIN_H

#include "proxy/base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct origin;

struct resolver;

struct origin_options {
	const char *url; /* http[s]://host[:port], a path is an error; or unix:/path */
	/* Host sent to the origin; NULL: the client's is passed. The name in TLS (SNI, certificate)
	 * is the one in the URL; where that is an address, this one. */
	const char *host;
	const char *server_name; /* that name in TLS, whatever URL and host are; NULL: as said */
	const char *ca_file;	 /* NULL: the system's */
	/* Shown to an origin that asks for a certificate, with the chain behind it; NULL: none. And
	 * its key; NULL: it is in the same file. */
	const char *cert_file, *key_file;
	bool insecure;		 /* do not verify the certificate */
	long connect_timeout_ms; /* 0: 5000; for a free connection, and again to open one (DNS and
				    TLS too) */
	long first_byte_timeout_ms; /* 0: read_timeout_ms; from the request to the answer */
	long read_timeout_ms;	    /* 0: 60000; without a byte from the origin, head or body */
	/* 0: none; for the whole exchange, but while a slow client is waited for */
	long total_timeout_ms;
	/* Looks its name up; used in origin_create only. NULL: libcurl does, for connections. */
	struct resolver *resolver;
	/* per worker; 0: 256; further fetches queue. Those that send a body hold at most half. */
	unsigned max_connections;
	/* If a file cannot be read, there is an origin that no connection can be opened to, for none would
	 * be as safe as it was meant. */
	bool lenient;
};
/* Checks and keeps copies. NULL and a sentence in err on a bad URL or file. */
struct origin *origin_create(const struct origin_options *o, char *err, size_t err_bytes);
/* Host as the URL has it, "www.example.com:8443"; the caller frees. NULL: it is malformed, or a Unix socket,
 * which has no name. */
char *origin_own_host(const char *url);
/* The files alone: the option that is wrong ("key_file") and a sentence in err; NULL: none. */
const char *origin_check_files(const struct origin_options *o, char *err, size_t err_bytes);
/* Whether an origin made of these would be the same one. A file that was changed since makes
 * another. */
bool origin_is(const struct origin *o, const struct origin_options *opt);
/* One user more, beside who created it. */
struct origin *origin_ref(const struct origin *o);
void origin_destroy(struct origin **o); /* one user less; the last one destroys */
const char *origin_url(const struct origin *o);
/* The Host that it is sent, where the client's is that; a view. */
struct str origin_host(const struct origin *o, struct str client);
/* Its name as it is looked up; NULL: it is an address, or the like. */
const char *origin_name(const struct origin *o);
/* Its name, while no address of it is known; NULL: there is one, or nothing to look up. */
const char *origin_unknown(const struct origin *o);
/* Where its name was found by the newest lookup, IPv4 as mapped IPv6 (base/network.h): how many, of which
 * the first are in out; -1: it has no name that is looked up. */
enum { ORIGIN_ADDRESSES_TOLD = 16 };
int origin_addresses(const struct origin *o, unsigned char out[ORIGIN_ADDRESSES_TOLD][16]);

#endif
