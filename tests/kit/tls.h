/* tls.h - certificates made on the spot, and clients that speak TLS.
 *
 * With KIT_TLS=1 in the environment every scenario's proxy listens by TLS, unless the scenario says
 * itself where it listens, and every client of it speaks TLS: the same must come of it all.
 */
#ifndef KIT_TLS_H
#define KIT_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct client;

struct cert {
	const char *names;	   /* "a.example,*.a.example" */
	bool rsa;		   /* else ECDSA */
	bool ca;		   /* issues others */
	int from_days, until_days; /* from now; 0, 0: -1 to 30 */
	const char *issuer;	   /* a file that cert_write made; NULL: itself */
	const char *key_in;	   /* the key goes to this file, not to path */
	const char *key_of;	   /* the key is that of this file: it does not fit */
};
/* Writes a certificate with its key, in PEM. Returns path. */
#define cert_write(path, ...) cert_write_as(path, &(struct cert){__VA_ARGS__})
const char *cert_write_as(const char *path, const struct cert *how);

struct client_tls {
	unsigned port;	  /* 0: the proxy's */
	const char *name; /* asked for; NULL: none */
	const char *alpn; /* "http/1.1"; NULL: none */
	const char *cert; /* the client's, a file that cert_write made */
	bool rsa_only, only_1_2;
	bool small_records; /* asks for records of 512 bytes (RFC 6066 4) */
	const char *before; /* bytes that are sent before the handshake */
	size_t before_bytes;
	struct client *resume; /* the session of this one, which was read from */
};
#define client_open_tls(...) client_open_tls_as(&(struct client_tls){__VA_ARGS__})
struct client *client_open_tls_as(const struct client_tls *how);

bool client_is_in(struct client *c); /* the handshake succeeded */
bool client_was_resumed(struct client *c);
const char *client_saw(struct client *c);  /* the common name of the proxy's certificate */
bool client_saw_rsa(struct client *c);	   /* and the kind of its key */
const char *client_alpn(struct client *c); /* what was agreed on, or "" */
bool client_was_told(struct client *c);	   /* close_notify came: nothing was cut */
void client_says_end(struct client *c);	   /* close_notify, and the socket stays open */
void client_renew_keys(struct client *c);  /* a KeyUpdate that asks for another */

#endif
