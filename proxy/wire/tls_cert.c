/* tls_cert.c - which key belongs to which certificate, and what names it has. */
#include "proxy/wire/tls_cert.h"

#include "proxy/base/mem.h"
#include "proxy/wire/tls_name.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMES_MOST = 1000 };

/* ---- names --------------------------------------------------------------------------------- */

static void
add_name(struct tls_cert *c, struct str text)
{
	char name[TLS_NAME_BYTES];
	if (c->name_count == NAMES_MOST || tls_name_plain(text, name) == 0)
		return;
	c->names = mem_realloc(c->names, (c->name_count + 1) * sizeof *c->names);
	c->names[c->name_count++] = mem_strdup(name);
}

static void
add_alternative(struct tls_cert *c, const GENERAL_NAME *g)
{
	char address[INET6_ADDRSTRLEN + 2];
	if (g->type == GEN_DNS) {
		const ASN1_IA5STRING *s = g->d.dNSName;
		add_name(c, (struct str){(const char *)ASN1_STRING_get0_data(s),
					 (size_t)ASN1_STRING_length(s)});
	} else if (g->type == GEN_IPADD) {
		int n = ASN1_STRING_length(g->d.iPAddress);
		int family = n == 4 ? AF_INET : n == 16 ? AF_INET6 : 0;
		address[0] = '[';
		if (family && inet_ntop(family, ASN1_STRING_get0_data(g->d.iPAddress), address + 1,
					INET6_ADDRSTRLEN))
			add_name(c, str_of(strcat(address, "]")));
	}
}

/* The alternative names; where there are none, the common name (RFC 6125 6.4.4). */
static void
read_names(struct tls_cert *c)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(c->leaf, NID_subject_alt_name, NULL, NULL);
	for (int i = 0; all && i < sk_GENERAL_NAME_num(all); i++)
		add_alternative(c, sk_GENERAL_NAME_value(all, i));
	GENERAL_NAMES_free(all);
	char common[TLS_NAME_BYTES];
	int n = all ? 0
		    : X509_NAME_get_text_by_NID(X509_get_subject_name(c->leaf), NID_commonName,
						common, sizeof common);
	if (n > 0)
		add_name(c, (struct str){common, (size_t)n});
}

bool
tls_cert_covers(const struct tls_cert *c, const char *name)
{
	for (unsigned i = 0; i < c->name_count; i++)
		if (tls_name_covers(c->names[i], name))
			return true;
	return false;
}

/* ---- time ---------------------------------------------------------------------------------- */

static int64_t
unix_time(const ASN1_TIME *t, int64_t unknown)
{
	struct tm tm;
	return ASN1_TIME_to_tm(t, &tm) ? (int64_t)timegm(&tm) : unknown;
}

bool
tls_cert_is_valid(const struct tls_cert *c, int64_t now_s)
{
	return c->from <= now_s && now_s < c->until;
}

void
tls_cert_warn_time(const struct tls_cert *c, int64_t now_s, struct tls_problems *problems)
{
	char day[32];
	bool early = now_s < c->from;
	time_t when = (time_t)(early ? c->from : c->until);
	struct tm tm;
	strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", gmtime_r(&when, &tm));
	tls_problems_warn(problems, c->of, "the certificate in %s for %s %s %s; %s", c->path,
			  c->name_count ? c->names[0] : "no name",
			  early ? "is not valid before" : "expired at", day,
			  early ? "set the clock, or use another one"
				: "renew it, or take it away");
}

/* ---- matching ------------------------------------------------------------------------------ */

static int
kind_of(const EVP_PKEY *key)
{
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_RSA:
	case EVP_PKEY_RSA_PSS:
		return TLS_RSA;
	case EVP_PKEY_EC:
		return TLS_ECDSA;
	case EVP_PKEY_ED25519:
	case EVP_PKEY_ED448:
		return TLS_EDDSA;
	default:
		return -1;
	}
}

static const struct tls_pem_file *
find_key(const struct tls_pem *p, const struct tls_pem_file *leaf)
{
	if (leaf->key && leaf->key_id == leaf->leaf_id)
		return leaf;
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].key && p->v[i].key_id == leaf->leaf_id)
			return &p->v[i];
	return NULL;
}

/* "/a/www.crt" and "/a/www.key" have the same. */
static size_t
stem_bytes(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	return dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
}

static const char *
directory_end(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash : path;
}

/* The key that its author may have meant for it: by its name, or the only other file's beside it. */
static const struct tls_pem_file *
find_meant(const struct tls_pem *p, const struct tls_pem_file *leaf)
{
	size_t stem = stem_bytes(leaf->path);
	size_t dir = (size_t)(directory_end(leaf->path) - leaf->path);
	const struct tls_pem_file *beside = NULL;
	if (leaf->key)
		return leaf;
	for (size_t i = 0; i < p->n; i++) {
		const struct tls_pem_file *k = &p->v[i];
		if (!k->key)
			continue;
		if (stem_bytes(k->path) == stem && strncmp(k->path, leaf->path, stem) == 0)
			return k;
		if ((size_t)(directory_end(k->path) - k->path) == dir &&
		    strncmp(k->path, leaf->path, dir) == 0)
			beside = k;
	}
	return beside;
}

static void
tell_no_key(const struct tls_pem *p, const struct tls_pem_file *leaf, struct tls_problems *problems)
{
	const struct tls_pem_file *k = find_meant(p, leaf);
	if (k)
		tls_problems_tell(problems, leaf->of,
				  "the key in %s does not belong to the certificate in %s; copy "
				  "both anew, from the same place",
				  k->path, leaf->path);
	else
		tls_problems_tell(problems, leaf->of,
				  "there is no key for the certificate in %s; put it into the "
				  "same file or beside it",
				  leaf->path);
}

/* Takes counts of what the files hold. */
static void
fill(struct tls_cert *c, const struct tls_pem_file *f, EVP_PKEY *key, int kind)
{
	*c = (struct tls_cert){.key = key, .kind = (enum tls_kind)kind, .of = f->of};
	c->leaf = sk_X509_value(f->certificates, 0);
	X509_up_ref(c->leaf);
	EVP_PKEY_up_ref(key);
	c->chain = sk_X509_new_null();
	for (int i = 1; i < sk_X509_num(f->certificates); i++) {
		X509_up_ref(sk_X509_value(f->certificates, i));
		sk_X509_push(c->chain, sk_X509_value(f->certificates, i));
	}
	c->from = unix_time(X509_get0_notBefore(c->leaf), INT64_MAX);
	c->until = unix_time(X509_get0_notAfter(c->leaf), 0);
	c->path = mem_strdup(f->path);
	read_names(c);
}

static void
cert_fini(struct tls_cert *c)
{
	X509_free(c->leaf);
	sk_X509_pop_free(c->chain, X509_free);
	EVP_PKEY_free(c->key);
	for (unsigned i = 0; i < c->name_count; i++)
		free(c->names[i]);
	free(c->names);
	free(c->path);
}

/* The same certificate lies in several files of an ACME client, alone and with its chain: the
 * longest chain counts. */
static void
add_cert(struct tls_cert_list *l, const struct tls_pem_file *f, EVP_PKEY *key, int kind)
{
	struct tls_cert *at = NULL;
	for (size_t i = 0; i < l->n && !at; i++)
		if (X509_cmp(l->v[i].leaf, sk_X509_value(f->certificates, 0)) == 0)
			at = &l->v[i];
	if (at && sk_X509_num(at->chain) + 1 >= sk_X509_num(f->certificates))
		return;
	if (at) {
		cert_fini(at);
	} else {
		l->v = mem_realloc(l->v, (l->n + 1) * sizeof *l->v);
		at = &l->v[l->n++];
	}
	fill(at, f, key, kind);
}

static bool
has_certificate(const struct tls_pem *p, const struct tls_pem_file *key)
{
	for (size_t i = 0; i < p->n; i++)
		if (sk_X509_num(p->v[i].certificates) && p->v[i].leaf_id == key->key_id)
			return true;
	return false;
}

/* A key that somebody named is there for a certificate. */
static void
warn_of_keys(const struct tls_pem *p, struct tls_problems *problems)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct tls_pem_file *k = &p->v[i];
		if (k->named && k->key && !sk_X509_num(k->certificates) && !has_certificate(p, k))
			tls_problems_warn(problems, k->of,
					  "no certificate belongs to the key in %s, which is not "
					  "used; name its certificate too, or leave it out",
					  k->path);
	}
}

/* Nothing but certificates of issuers: one that signed itself is one, too, and lacks its key. */
static void
tell_of_issuers(const struct tls_pem *p, struct tls_problems *problems)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].named && sk_X509_num(p->v[i].certificates))
			tell_no_key(p, &p->v[i], problems);
}

void
tls_cert_match(const struct tls_pem *p, struct tls_cert_list *out, struct tls_problems *problems)
{
	unsigned before = problems->told;
	for (size_t i = 0; i < p->n; i++) {
		const struct tls_pem_file *f = &p->v[i];
		if (sk_X509_num(f->certificates) == 0)
			continue;
		X509 *leaf = sk_X509_value(f->certificates, 0);
		const struct tls_pem_file *k = find_key(p, f);
		if (!k && !f->key && X509_check_ca(leaf))
			continue; /* an issuer's, which ACME clients put beside */
		if (!k) {
			tell_no_key(p, f, problems);
			continue;
		}
		int kind = kind_of(k->key);
		if (kind < 0)
			tls_problems_tell(problems, f->of,
					  "the key of %s is neither RSA nor ECDSA nor EdDSA; make "
					  "another one",
					  f->path);
		else
			add_cert(out, f, k->key, kind);
	}
	if (out->n == 0 && problems->told == before)
		tell_of_issuers(p, problems);
	else
		warn_of_keys(p, problems);
}

void
tls_cert_list_drop(struct tls_cert_list *l, size_t i)
{
	cert_fini(&l->v[i]);
	memmove(&l->v[i], &l->v[i + 1], (--l->n - i) * sizeof *l->v);
}

void
tls_cert_list_fini(struct tls_cert_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		cert_fini(&l->v[i]);
	free(l->v);
	*l = (struct tls_cert_list){0};
}
