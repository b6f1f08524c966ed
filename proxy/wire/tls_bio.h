/* tls_bio.h - OpenSSL's way to a socket, for the files of tls only.
 *
 * OpenSSL asks for the 5 bytes of a record's head and then for the rest: both come from one recv
 * into the worker's buffer. What it writes never waits: what the socket does not take is kept, so
 * that no record has to be written again.
 */
#ifndef WIRE_TLS_BIO_H
#define WIRE_TLS_BIO_H

#include "proxy/wire/tls.h"

BIO *tls_bio_create(struct tls *t);
/* Whether received bytes wait to be decrypted. */
bool tls_bio_has_input(const struct tls *t);
/* Sends what is kept and what is gathered; as tls_flush. */
int tls_bio_flush(struct tls *t);

#endif
