/* tls_server.h - what all TLS listeners of a node share: the certificates of now, the keys of
 * tickets, and how many handshakes are under way.
 *
 * Threads   any. Certificates are exchanged while connections use the old ones.
 */
#ifndef WIRE_TLS_SERVER_H
#define WIRE_TLS_SERVER_H

#include "proxy/base/buf.h"
#include "proxy/wire/tls_certs.h"

struct clients;
struct tls_server;

struct tls_server_options {
	struct tls_certs_options certs; /* now_s, prepare and arg are filled in */
	const char *ticket_key;		/* file; NULL, or lenient and unreadable: random keys */
	int64_t ticket_period_s;
	bool strict_host; /* 421 for a host that the certificate does not have */
	bool h2;	  /* offered */
	unsigned handshakes, handshakes_per_address; /* under way; the second 0: no limit */
};

/* NULL: told why. of in what is told: the entry of certs.paths, then client_ca, then ticket_key. */
struct tls_server *
tls_server_create(const struct tls_server_options *o, struct tls_problems *problems);
void tls_server_destroy(struct tls_server **s);
/* Reads the files again, those named by o, and takes over all of o but the period of tickets. 0, or
 * -1: told why, and nothing has changed. */
int tls_server_reload(struct tls_server *s, const struct tls_server_options *o,
		      struct tls_problems *problems);
/* How many certificates could be used; the rest is told, and nothing is kept. */
size_t tls_server_try(const struct tls_server_options *o, struct tls_problems *problems);

/* The keys of session tickets (tls_tickets.h), for another process and from one. */
void tls_server_save_tickets(struct tls_server *s, struct buf *out);
bool tls_server_load_tickets(struct tls_server *s, struct str bytes);

/* The certificates of now; a count is the caller's. */
struct tls_certs *tls_server_certs(struct tls_server *s);
struct clients *tls_server_handshakes(struct tls_server *s);
bool tls_server_is_strict(const struct tls_server *s);

#endif
