/* tls_resume.h - session tickets of an SSL_CTX, by the keys of tls_tickets. */
#ifndef WIRE_TLS_RESUME_H
#define WIRE_TLS_RESUME_H

#include <openssl/ssl.h>

struct tls_tickets;

/* Sessions of ctx use these keys, which must outlive it. */
void tls_resume_use(struct tls_tickets *t, SSL_CTX *ctx);

#endif
