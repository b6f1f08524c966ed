/* tls_self.h - a certificate that signs itself, for a first try: for localhost, the name of this
 * machine, and what the caller names. Made anew at each start, valid for 30 days.
 */
#ifndef WIRE_TLS_SELF_H
#define WIRE_TLS_SELF_H

#include "proxy/wire/tls_pem.h"

/* Adds it as a file of its own. */
void tls_self_add(struct tls_pem *p, struct tls_problems *problems);

#endif
