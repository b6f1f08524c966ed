/* origin_tls.c - the files of an origin's TLS: read once, and known again when they change. */
#include "proxy/origin/origin_tls.h"

#include "proxy/base/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- files ------------------------------------------------------------------------------------- */

/* -1: it is not there. */
static int
look_at(struct origin_file *f)
{
	struct stat st;
	if (stat(f->path, &st))
		return -1;
	f->changed = st.st_mtim;
	f->inode = st.st_ino;
	f->bytes = st.st_size;
	return 0;
}

/* Before it is read: a change in between makes another origin. */
static void
note_file(struct origin_file *f, const char *path)
{
	f->path = path ? mem_strdup(path) : NULL;
	if (path)
		look_at(f);
}

static bool
is_file(const struct origin_file *f, const char *path)
{
	struct origin_file now = {.path = f->path};
	if (!f->path || !path)
		return f->path == path;
	return strcmp(f->path, path) == 0 && look_at(&now) == 0 &&
	       now.changed.tv_sec == f->changed.tv_sec &&
	       now.changed.tv_nsec == f->changed.tv_nsec && now.inode == f->inode &&
	       now.bytes == f->bytes;
}

static const char *
key_path(const struct origin_options *o)
{
	return o->key_file ? o->key_file : o->cert_file;
}

bool
origin_tls_is(const struct origin_tls *t, const struct origin_options *o)
{
	return is_file(&t->ca, o->ca_file) && is_file(&t->cert, o->cert_file) &&
	       is_file(&t->key, key_path(o));
}

/* -- what they hold ---------------------------------------------------------------------------- */

struct reading {
	const char **setting;
	char *err;
	size_t err_bytes;
};

__attribute__((format(printf, 3, 4))) static int
wrong(const struct reading *r, const char *setting, const char *fmt, ...)
{
	va_list args;
	ERR_clear_error();
	*r->setting = setting;
	va_start(args, fmt);
	vsnprintf(r->err, r->err_bytes, fmt, args);
	va_end(args);
	return -1;
}

static FILE *
open_file(const struct reading *r, const char *setting, const char *path, const char *what)
{
	FILE *f = fopen(path, "re");
	if (!f)
		wrong(r, setting, "cannot read %s: %s; name a file of %s in PEM form", path,
		      strerror(errno), what);
	return f;
}

static int
read_trust(struct origin_tls *t, const struct origin_options *o, const struct reading *r)
{
	if (!(t->trust = X509_STORE_new()))
		return wrong(r, "ca_file", "there is no memory for certificates");
	if (!o->ca_file && X509_STORE_set_default_paths(t->trust))
		return 0;
	if (!o->ca_file)
		return wrong(r, "ca_file", "the certificates of the system cannot be read");
	FILE *f = open_file(r, "ca_file", o->ca_file, "certificates");
	if (!f)
		return -1;
	fclose(f);
	if (X509_STORE_load_file(t->trust, o->ca_file))
		return 0;
	const char *why = ERR_reason_error_string(ERR_peek_error());
	return wrong(r, "ca_file", "cannot read %s: %s; name a file of certificates in PEM form",
		     o->ca_file, why ? why : "unknown error");
}

/* The first certificate is ours, those behind it lead to its authority. */
static int
read_own(struct origin_tls *t, const struct origin_options *o, const struct reading *r)
{
	X509 *next;
	FILE *f = open_file(r, "cert_file", o->cert_file, "a certificate");
	if (!f)
		return -1;
	t->own = PEM_read_X509_AUX(f, NULL, NULL, NULL);
	t->chain = sk_X509_new_null();
	while (t->own && t->chain && (next = PEM_read_X509(f, NULL, NULL, NULL)))
		if (!sk_X509_push(t->chain, next))
			X509_free(next);
	fclose(f);
	ERR_clear_error(); /* of the end of the file */
	return t->own ? 0
		      : wrong(r, "cert_file",
			      "%s holds no certificate in PEM form; name the file that does",
			      o->cert_file);
}

/* Nobody is there to type it. */
static int
no_password(char *to, int most, int writes, void *ctx)
{
	(void)to;
	(void)most;
	(void)writes;
	(void)ctx;
	return -1;
}

static int
read_key(struct origin_tls *t, const struct origin_options *o, const struct reading *r)
{
	const char *setting = o->key_file ? "key_file" : "cert_file";
	FILE *f = open_file(r, setting, key_path(o), "a private key");
	if (!f)
		return -1;
	t->own_key = PEM_read_PrivateKey(f, NULL, no_password, NULL);
	fclose(f);
	if (!t->own_key)
		return wrong(r, setting,
			     "%s holds no private key in PEM form, or one with a password; name "
			     "the file of the key with key_file",
			     key_path(o));
	if (X509_check_private_key(t->own, t->own_key) != 1)
		return wrong(r, setting,
			     "the key in %s does not belong to the certificate in %s; name two "
			     "that belong together",
			     key_path(o), o->cert_file);
	ERR_clear_error();
	return 0;
}

/* -- life -------------------------------------------------------------------------------------- */

int
origin_tls_open(struct origin_tls *t, const struct origin_options *o, const char **setting,
		char *err, size_t err_bytes)
{
	const struct reading r = {setting, err, err_bytes};
	note_file(&t->ca, o->ca_file);
	note_file(&t->cert, o->cert_file);
	note_file(&t->key, key_path(o));
	if (!o->insecure && read_trust(t, o, &r))
		return -1;
	return o->cert_file && (read_own(t, o, &r) || read_key(t, o, &r)) ? -1 : 0;
}

void
origin_tls_trust_none(struct origin_tls *t)
{
	origin_tls_close(t);
	t->trust = X509_STORE_new();
	if (!t->trust)
		abort();
}

void
origin_tls_use(const struct origin_tls *t, SSL_CTX *ctx)
{
	if (t->trust)
		SSL_CTX_set1_cert_store(ctx, t->trust);
	if (!t->own)
		return;
	SSL_CTX_use_certificate(ctx, t->own);
	SSL_CTX_set1_chain(ctx, t->chain);
	SSL_CTX_use_PrivateKey(ctx, t->own_key);
}

void
origin_tls_close(struct origin_tls *t)
{
	X509_STORE_free(t->trust);
	X509_free(t->own);
	sk_X509_pop_free(t->chain, X509_free);
	EVP_PKEY_free(t->own_key);
	free(t->ca.path);
	free(t->cert.path);
	free(t->key.path);
	*t = (struct origin_tls){0};
}
