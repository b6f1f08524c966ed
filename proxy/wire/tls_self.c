/* tls_self.c - a key and a certificate that live in memory only. */
#include "proxy/wire/tls_self.h"

#include "proxy/base/mem.h"

#include <ctype.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE_S = 3600, DAYS = 30 };

static bool
add_extension(X509 *x, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool fine = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return fine;
}

/* The name of the machine as a further name; nothing, if it is none that a certificate may have. */
static void
names(char *out, size_t bytes)
{
	char host[64] = "";
	gethostname(host, sizeof host - 1);
	bool fine = *host && strcmp(host, "localhost") != 0;
	for (const char *c = host; *c; c++)
		fine = fine && (isalnum((unsigned char)*c) || *c == '-' || *c == '.');
	snprintf(out, bytes, "DNS:localhost,IP:127.0.0.1,IP:::1%s%s", fine ? ",DNS:" : "",
		 fine ? host : "");
}

static X509 *
make(EVP_PKEY *key)
{
	char all[160];
	uint64_t serial;
	X509 *x = X509_new();
	X509_NAME *name = x ? X509_get_subject_name(x) : NULL;
	names(all, sizeof all);
	bool fine = x && key && RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
		    X509_set_version(x, 2) &&
		    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1 | 1) &&
		    X509_gmtime_adj(X509_getm_notBefore(x), -BEFORE_S) &&
		    X509_gmtime_adj(X509_getm_notAfter(x), DAYS * 86400L) &&
		    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
					       (const unsigned char *)"localhost", -1, -1, 0) &&
		    X509_set_issuer_name(x, name) && X509_set_pubkey(x, key) &&
		    add_extension(x, NID_subject_alt_name, all) &&
		    add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
		    X509_sign(x, key, EVP_sha256());
	if (fine)
		return x;
	X509_free(x);
	return NULL;
}

void
tls_self_add(struct tls_pem *p, struct tls_problems *problems)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = make(key);
	if (!x) {
		EVP_PKEY_free(key);
		tls_problems_tell(problems, 0, "OpenSSL cannot make a certificate");
		return;
	}
	struct tls_pem_file f = {.path = mem_strdup("(self-signed)"),
				 .certificates = sk_X509_new_null(),
				 .key = key,
				 .leaf_id = 1,
				 .key_id = 1};
	sk_X509_push(f.certificates, x);
	p->v = mem_realloc(p->v, (p->n + 1) * sizeof *p->v);
	p->v[p->n++] = f;
}
