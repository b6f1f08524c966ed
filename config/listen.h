/* listen.h - an address of `listen`, as it is written: what is spoken there, and where it is.
 *
 * Memory    answers are views into the text.
 */
#ifndef CONFIG_LISTEN_H
#define CONFIG_LISTEN_H

#include <stdbool.h>

/* H2C: HTTP/2 without TLS, with prior knowledge */
enum config_scheme { CONFIG_HTTP, CONFIG_HTTPS, CONFIG_H2C };
/* Of "https://0.0.0.0:443": the scheme, and where the address begins; without one it is http. */
enum config_scheme config_listen_scheme(const char *listen);
const char *config_listen_address(const char *listen);
/* Of "unix:/run/twice.sock", behind a scheme or not, the path; NULL: it is no such address. */
const char *config_listen_path(const char *listen);
/* "proxy+https://...": clients' forwarders speak the PROXY protocol there. */
bool config_listen_proxied(const char *listen);
/* The same address or path, whatever is spoken there and however it is spelled; port 0 is a
 * new place each time. */
bool config_listen_same(const char *a, const char *b);
/* Of two addresses one is all of the machine's, and the port is the same: whoever listens at
 * one of them seems to be at the other one too. */
bool config_listen_overlaps(const char *a, const char *b);

#endif
