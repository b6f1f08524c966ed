/* script.c - SHA-1 by OpenSSL. */
#include "proxy/fleet/script.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

const char *
script_sum(struct str text, char out[SCRIPT_SUM + 1])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	int made = EVP_Digest(text.p, text.n, bytes, &n, EVP_sha1(), NULL);
	assert(made == 1 && 2 * n == SCRIPT_SUM);
	for (unsigned i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return out;
}
