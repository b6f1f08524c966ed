/* tls_inside.h - what client.c asks of tls.c. */
#ifndef KIT_TLS_INSIDE_H
#define KIT_TLS_INSIDE_H

#include "tests/kit/tls.h"

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

bool kit_tls(void); /* KIT_TLS is set */
/* The certificate that the proxy has then. */
const char *kit_tls_certificate(void);

/* A handshake on a connected socket. NULL: it failed. */
SSL *kit_tls_connect(int fd, const struct client_tls *how, SSL_SESSION *session);
/* As recv and send of a blocking socket. */
ssize_t kit_tls_recv(SSL *ssl, int fd, char *p, size_t n, int64_t ms, bool *late);
ssize_t kit_tls_send(SSL *ssl, int fd, const char *p, size_t n, bool waits);
void kit_tls_end(SSL *ssl);

#endif
