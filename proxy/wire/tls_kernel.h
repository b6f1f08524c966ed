/* tls_kernel.h - TLS by the kernel (kTLS): what is sent on a connection is encrypted by its socket, so that
 * bodies can be sent from their files.
 *
 * OpenSSL asks its BIO for it when the keys of a connection are made; from then on it hands over
 * plain bytes, and says of each record that carries no data of what kind it is. What is received is
 * decrypted by OpenSSL as ever.
 *
 * Threads   any.
 */
#ifndef WIRE_TLS_KERNEL_H
#define WIRE_TLS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this kernel has TLS and OpenSSL asks for it; *why, if not: a sentence's end. */
bool tls_kernel_is_there(const char **why);

/* The kernel takes over what is sent; info is what OpenSSL hands to its BIO: the kernel's own struct
 * of a cipher and its keys. False: it does not, and nothing has changed for OpenSSL. */
bool tls_kernel_start(int fd, const void *info);

/* One record that carries no data (RFC 8446 5.1). False: it is not sent, or not whole. */
bool tls_kernel_send_record(int fd, unsigned char kind, const char *p, size_t n);

#endif
