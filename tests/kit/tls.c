/* tls.c - OpenSSL's side of the kit. */
#include "tests/kit/inside.h"
#include "tests/kit/tls_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- certificates -------------------------------------------------------------------------- */

static EVP_PKEY *
read_key(const char *path)
{
	FILE *f = fopen(path, "r");
	EVP_PKEY *k = f ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : NULL;
	if (!k)
		fail("no key in %s", path);
	fclose(f);
	return k;
}

static X509 *
read_certificate(const char *path)
{
	FILE *f = fopen(path, "r");
	X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
	if (!x)
		fail("no certificate in %s", path);
	fclose(f);
	return x;
}

static void
add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	if (!e || !X509_add_ext(x, e, -1))
		fail("no extension %s", value);
	X509_EXTENSION_free(e);
}

/* "a,b" as "DNS:a,DNS:b". */
static char *
alternatives(const char *names)
{
	struct heap h = {0};
	char *copy = strdup(names), *save;
	heap_add(&h, "", 0);
	for (char *n = strtok_r(copy, ",", &save); n; n = strtok_r(NULL, ",", &save))
		heap_text(&h, "%sDNS:%s", h.n ? "," : "", n);
	return h.p;
}

static X509 *
make_certificate(const struct cert *how, EVP_PKEY *key)
{
	static _Atomic long serial;
	X509 *x = X509_new(), *issuer = how->issuer ? read_certificate(how->issuer) : x;
	EVP_PKEY *signs = how->issuer ? read_key(how->issuer) : key;
	bool usual = how->from_days == 0 && how->until_days == 0;
	const char *first = kit_dup(how->names, strcspn(how->names, ","));
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), (long)getpid() * 1000 + ++serial);
	X509_time_adj_ex(X509_getm_notBefore(x), usual ? -1 : how->from_days, 0, NULL);
	X509_time_adj_ex(X509_getm_notAfter(x), usual ? 30 : how->until_days, 0, NULL);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)first, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(issuer));
	X509_set_pubkey(x, key);
	add_extension(x, issuer, NID_subject_alt_name, alternatives(how->names));
	if (how->ca)
		add_extension(x, issuer, NID_basic_constraints, "critical,CA:TRUE");
	if (!X509_sign(x, signs, EVP_sha256()))
		fail("cannot sign a certificate for %s", how->names);
	return x;
}

static void
write_pem(const char *path, X509 *x, EVP_PKEY *key)
{
	const char *fresh = text("%s.new", path);
	FILE *f = fopen(fresh, "w");
	if (!f || (x && !PEM_write_X509(f, x)) ||
	    (key && !PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL)) || fclose(f) != 0 ||
	    rename(fresh, path))
		fail("cannot write %s: %s", path, strerror(errno));
}

const char *
cert_write_as(const char *path, const struct cert *how)
{
	EVP_PKEY *key = how->rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
	X509 *x = make_certificate(how, key);
	if (how->key_of)
		key = read_key(how->key_of);
	write_pem(path, x, how->key_in ? NULL : key);
	if (how->key_in)
		write_pem(how->key_in, NULL, key);
	return path;
}

/* ---- the switch ---------------------------------------------------------------------------- */

bool
kit_tls(void)
{
	const char *set = getenv("KIT_TLS");
	return set && *set && strcmp(set, "0") != 0;
}

bool
by_kernel(void)
{
	return kit_tls() && strcmp(getenv("KIT_TLS"), "kernel") == 0;
}

void
by_http_only(void)
{
	if (kit_tls())
		skip("by TLS it has another meaning");
}

const char *
kit_tls_certificate(void)
{
	char *path = text("%s/kit.pem", kit_dir());
	if (access(path, F_OK))
		cert_write(path, .names = "example.com,*.example.com,localhost");
	return path;
}

/* ---- connections --------------------------------------------------------------------------- */

static void
wait_for(SSL *ssl, int fd, int r, int64_t ms, bool *late)
{
	struct pollfd p = {.fd = fd};
	p.events = SSL_get_error(ssl, r) == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
	if (poll(&p, 1, (int)ms) == 0)
		*late = true;
}

static bool
wants(SSL *ssl, int r)
{
	int e = SSL_get_error(ssl, r);
	return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

static SSL_CTX *
context_for(const struct client_tls *how)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
	if (how->only_1_2)
		SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	if (how->rsa_only)
		SSL_CTX_set1_sigalgs_list(ctx, (uintptr_t) "RSA-PSS+SHA256:RSA+SHA256");
	if (how->cert && (SSL_CTX_use_certificate_file(ctx, how->cert, SSL_FILETYPE_PEM) != 1 ||
			  SSL_CTX_use_PrivateKey_file(ctx, how->cert, SSL_FILETYPE_PEM) != 1))
		fail("%s is no certificate for a client", how->cert);
	return ctx;
}

SSL *
kit_tls_connect(int fd, const struct client_tls *how, SSL_SESSION *session)
{
	SSL_CTX *ctx = context_for(how);
	SSL *ssl = SSL_new(ctx);
	SSL_set_read_ahead(ssl, 1); /* a narrow window is emptied at once */
	SSL_CTX_free(ctx);
	signal(SIGPIPE, SIG_IGN);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	SSL_set_fd(ssl, fd);
	if (how->name)
		SSL_set_tlsext_host_name(ssl, (uintptr_t)how->name);
	if (how->alpn) {
		unsigned char list[64];
		size_t n = strlen(how->alpn);
		list[0] = (unsigned char)n;
		memcpy(list + 1, how->alpn, n);
		SSL_set_alpn_protos(ssl, list, (unsigned)n + 1);
	}
	if (how->small_records)
		SSL_set_tlsext_max_fragment_length(ssl, TLSEXT_max_fragment_length_512);
	if (session)
		SSL_set_session(ssl, session);
	bool late = false;
	int r;
	while (ERR_clear_error(), (r = SSL_connect(ssl)) != 1 && wants(ssl, r) && !late)
		wait_for(ssl, fd, r, KIT_FOREVER, &late);
	if (r == 1)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

ssize_t
kit_tls_recv(SSL *ssl, int fd, char *p, size_t n, int64_t ms, bool *late)
{
	int r;
	*late = false;
	while (ERR_clear_error(), (r = SSL_read(ssl, p, (int)n)) <= 0 && wants(ssl, r) && !*late)
		wait_for(ssl, fd, r, ms, late);
	if (r > 0)
		return r;
	return SSL_get_error(ssl, r) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

ssize_t
kit_tls_send(SSL *ssl, int fd, const char *p, size_t n, bool waits)
{
	bool late = false;
	int r;
	n = n < 1 << 20 ? n : 1 << 20;
	while (ERR_clear_error(), (r = SSL_write(ssl, p, (int)n)) <= 0 && wants(ssl, r) && waits)
		wait_for(ssl, fd, r, -1, &late);
	return r > 0 ? r : -1;
}

void
kit_tls_end(SSL *ssl)
{
	ERR_clear_error();
	SSL_shutdown(ssl);
}
