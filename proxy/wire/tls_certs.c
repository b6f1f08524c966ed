/* tls_certs.c - from certificates to names, and from a name to what a handshake uses. */
#include "proxy/wire/tls_certs.h"

#include "proxy/base/mem.h"
#include "proxy/wire/tls_cert.h"
#include "proxy/wire/tls_name.h"
#include "proxy/wire/tls_self.h"

#include <assert.h>
#include <openssl/err.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Forward secrecy and authenticated encryption, what Mozilla calls intermediate less the two of
 * finite fields, in its order. OpenSSL would put AES-256 first in TLS 1.3, whose SHA-384 makes a
 * handshake dearer where the CPU knows SHA-256. */
static const char ciphers_1_3[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
				  "TLS_CHACHA20_POLY1305_SHA256";
static const char ciphers_1_2[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
				  "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
				  "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char groups[] = "X25519:P-256:P-384";

struct pair { /* what answers for some names: at most one certificate of each kind */
	const struct tls_cert *of[TLS_KINDS];
	SSL_CTX *ctx;
};

struct name {
	const char *text; /* a certificate's */
	size_t order;	  /* of its certificate, for equal names */
	const struct tls_cert *cert;
	struct pair *pair;
};

struct tls_certs {
	_Atomic unsigned refs;
	struct tls_cert_list list;
	struct name *names; /* sorted, each once */
	size_t name_count;
	struct pair *pairs;
	size_t pair_count;
	const struct tls_cert **ending; /* those that are shown, by their ends */
	size_t ending_count;
	STACK_OF(X509) * client_ca;
	SSL_CTX *fallback;
};

/* ---- one SSL_CTX --------------------------------------------------------------------------- */

/* A session may be resumed under the same names, kinds of keys and authorities for clients. A
 * renewed certificate goes on with the sessions of the old one. */
static bool
set_context_id(const struct tls_certs *s, const struct pair *p, bool required, SSL_CTX *ctx)
{
	unsigned char id[EVP_MAX_MD_SIZE], one[EVP_MAX_MD_SIZE];
	unsigned n = 0, k;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool fine = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL);
	for (int kind = 0; fine && kind < TLS_KINDS; kind++) {
		const struct tls_cert *c = p->of[kind];
		fine = EVP_DigestUpdate(md, &kind, sizeof kind);
		for (unsigned i = 0; fine && c && i < c->name_count; i++)
			fine = EVP_DigestUpdate(md, c->names[i], strlen(c->names[i]) + 1);
	}
	for (int i = 0; fine && s->client_ca && i < sk_X509_num(s->client_ca); i++)
		fine = X509_digest(sk_X509_value(s->client_ca, i), EVP_sha256(), one, &k) &&
		       EVP_DigestUpdate(md, one, k);
	fine = fine && EVP_DigestUpdate(md, &required, sizeof required) &&
	       EVP_DigestFinal_ex(md, id, &n) &&
	       SSL_CTX_set_session_id_context(ctx, id, n < 32 ? n : 32);
	EVP_MD_CTX_free(md);
	return fine;
}

static bool
ask_clients(const struct tls_certs *s, bool required, SSL_CTX *ctx)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	for (int i = 0; i < sk_X509_num(s->client_ca); i++) {
		X509 *ca = sk_X509_value(s->client_ca, i);
		if (!X509_STORE_add_cert(store, ca) || !SSL_CTX_add_client_CA(ctx, ca))
			return false;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
			   NULL);
	return true;
}

static SSL_CTX *
new_context(const struct tls_certs_options *o)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx)
		return NULL;
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_PRIORITIZE_CHACHA);
	/* Not ENABLE_PARTIAL_WRITE: our BIO takes all, also where the client has what we write as one
	 * record sent in smaller ones (RFC 6066 4). */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (o->in_kernel)
		SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_early_data(ctx, 0);
	SSL_CTX_set_num_tickets(ctx, 1);
	if (!SSL_CTX_set_min_proto_version(ctx, o->only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) ||
	    !SSL_CTX_set_ciphersuites(ctx, ciphers_1_3) ||
	    !SSL_CTX_set_cipher_list(ctx, ciphers_1_2) ||
	    !SSL_CTX_set1_groups_list(ctx, (uintptr_t)groups)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

static const char *
last_reason(void)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());
	return why ? why : "OpenSSL does not say why";
}

static bool
use(SSL_CTX *ctx, const struct tls_cert *c)
{
	ERR_clear_error();
	return SSL_CTX_use_cert_and_key(ctx, c->leaf, c->key, c->chain, 1) == 1;
}

/* Such as one with a key that is too short for OpenSSL. */
static void
drop_unusable(struct tls_certs *s, const struct tls_certs_options *o, struct tls_problems *problems)
{
	SSL_CTX *ctx = new_context(o);
	for (size_t i = 0; ctx && i < s->list.n;) {
		const struct tls_cert *c = &s->list.v[i];
		if (use(ctx, c)) {
			i++;
			continue;
		}
		tls_problems_tell(problems, c->of, "the certificate in %s cannot be used: %s",
				  c->path, last_reason());
		tls_cert_list_drop(&s->list, i);
	}
	SSL_CTX_free(ctx);
	ERR_clear_error();
}

static bool
open_pair(const struct tls_certs *s, struct pair *p, const struct tls_certs_options *o,
	  struct tls_problems *problems)
{
	p->ctx = new_context(o);
	bool fine = p->ctx != NULL;
	for (int kind = 0; fine && kind < TLS_KINDS; kind++)
		fine = !p->of[kind] || use(p->ctx, p->of[kind]);
	fine = fine && set_context_id(s, p, o->client_required, p->ctx) &&
	       (!s->client_ca || ask_clients(s, o->client_required, p->ctx));
	if (!fine)
		tls_problems_tell(problems, 0, "OpenSSL refuses our settings: %s", last_reason());
	else if (o->prepare)
		o->prepare(p->ctx, o->arg);
	ERR_clear_error();
	return fine;
}

/* ---- names --------------------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->text, y->text);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static void
collect_names(struct tls_certs *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->list.n; i++)
		n += s->list.v[i].name_count;
	s->names = mem_zalloc((n + 1) * sizeof *s->names);
	for (size_t i = 0; i < s->list.n; i++)
		for (unsigned k = 0; k < s->list.v[i].name_count; k++)
			s->names[s->name_count++] = (struct name){
				.text = s->list.v[i].names[k], .order = i, .cert = &s->list.v[i]};
	qsort(s->names, s->name_count, sizeof *s->names, by_name);
}

static bool
is_better(const struct tls_cert *a, const struct tls_cert *b, int64_t now_s)
{
	bool valid = tls_cert_is_valid(a, now_s), other = tls_cert_is_valid(b, now_s);
	return valid != other ? valid : a->until > b->until;
}

static struct pair *
pair_for(struct tls_certs *s, const struct pair *like)
{
	for (size_t i = 0; i < s->pair_count; i++)
		if (memcmp(s->pairs[i].of, like->of, sizeof like->of) == 0)
			return &s->pairs[i];
	s->pairs[s->pair_count] = *like;
	return &s->pairs[s->pair_count++];
}

/* Clients take the newer kind of key where they can, so one that is not valid must not stand beside one
 * of another kind that is. */
static void
leave_invalid(struct pair *p, int64_t now_s)
{
	bool valid = false;
	for (int kind = 0; kind < TLS_KINDS; kind++)
		valid |= p->of[kind] && tls_cert_is_valid(p->of[kind], now_s);
	for (int kind = 0; valid && kind < TLS_KINDS; kind++)
		if (p->of[kind] && !tls_cert_is_valid(p->of[kind], now_s))
			p->of[kind] = NULL;
}

/* Of each kind the one that is valid, and for the longest time, answers for a name. */
static void
make_pairs(struct tls_certs *s, int64_t now_s)
{
	size_t kept = 0;
	s->pairs = mem_zalloc((s->name_count + 1) * sizeof *s->pairs);
	for (size_t i = 0; i < s->name_count;) {
		struct pair p = {0};
		struct name *first = &s->names[i];
		for (; i < s->name_count && strcmp(s->names[i].text, first->text) == 0; i++) {
			const struct tls_cert *c = s->names[i].cert;
			if (!p.of[c->kind] || is_better(c, p.of[c->kind], now_s))
				p.of[c->kind] = c;
		}
		leave_invalid(&p, now_s);
		s->names[kept] = *first;
		s->names[kept++].pair = pair_for(s, &p);
	}
	s->name_count = kept;
}

static struct pair *
find_exactly(const struct tls_certs *s, const char *name)
{
	size_t low = 0, high = s->name_count;
	while (low < high) {
		size_t at = (low + high) / 2;
		int order = strcmp(name, s->names[at].text);
		if (order == 0)
			return s->names[at].pair;
		if (order < 0)
			high = at;
		else
			low = at + 1;
	}
	return NULL;
}

static struct pair *
find(const struct tls_certs *s, const char *name)
{
	char star[TLS_NAME_BYTES + 1];
	struct pair *p = find_exactly(s, name);
	const char *dot = strchr(name, '.');
	if (p || !dot || dot == name || strlen(dot) + 1 >= sizeof star)
		return p;
	star[0] = '*';
	strcpy(star + 1, dot);
	return find_exactly(s, star);
}

/* ---- a whole set --------------------------------------------------------------------------- */

static int
by_end(const void *a, const void *b)
{
	const struct tls_cert *x = *(const struct tls_cert *const *)a;
	const struct tls_cert *y = *(const struct tls_cert *const *)b;
	return (x->until > y->until) - (x->until < y->until);
}

/* One that is not valid now is used all the same, for the clock may be wrong, and a client may be told to
 * look away. It needs no word where valid ones answer for all its names: an ACME client may keep the old
 * ones. */
static void
judge_times(struct tls_certs *s, int64_t now_s, struct tls_problems *problems)
{
	s->ending = mem_zalloc((s->list.n + 1) * sizeof *s->ending);
	for (size_t i = 0; i < s->list.n; i++) {
		struct tls_cert *c = &s->list.v[i];
		c->shown = c->name_count == 0;
		for (unsigned k = 0; !c->shown && k < c->name_count; k++)
			c->shown = find_exactly(s, c->names[k])->of[c->kind] == c;
		if (c->shown)
			s->ending[s->ending_count++] = c;
		if (c->shown && !tls_cert_is_valid(c, now_s))
			tls_cert_warn_time(c, now_s, problems);
	}
	qsort(s->ending, s->ending_count, sizeof(void *), by_end);
}

static void
read_client_ca(struct tls_certs *s, const struct tls_certs_options *o,
	       struct tls_problems *problems)
{
	struct tls_pem p = {0};
	unsigned before = problems->told;
	tls_pem_read(&p, o->client_ca, o->path_count, problems);
	s->client_ca = sk_X509_new_null();
	for (size_t i = 0; i < p.n; i++)
		for (int k = 0; k < sk_X509_num(p.v[i].certificates); k++) {
			X509 *ca = sk_X509_value(p.v[i].certificates, k);
			X509_up_ref(ca);
			sk_X509_push(s->client_ca, ca);
		}
	if (problems->told == before && sk_X509_num(s->client_ca) == 0)
		tls_problems_tell(problems, o->path_count,
				  "%s holds no certificate; name the file of those who issue "
				  "clients' certificates, in PEM form",
				  o->client_ca);
	tls_pem_fini(&p);
}

/* The first certificate, and those of other kinds that share its first name. */
static SSL_CTX *
find_fallback(const struct tls_certs *s)
{
	const struct tls_cert *first = s->list.n ? &s->list.v[0] : NULL;
	struct pair *p = first && first->name_count ? find_exactly(s, first->names[0]) : NULL;
	return p ? p->ctx : s->pairs[0].ctx;
}

static void
open_contexts(struct tls_certs *s, const struct tls_certs_options *o, struct tls_problems *problems)
{
	unsigned before = problems->told;
	if (s->pair_count == 0) { /* one without any name, or none at all */
		if (s->list.n)
			s->pairs[0].of[s->list.v[0].kind] = &s->list.v[0];
		s->pair_count = 1;
	}
	for (size_t i = 0; i < s->pair_count; i++)
		if (!open_pair(s, &s->pairs[i], o, problems))
			return;
	if (problems->told == before)
		s->fallback = find_fallback(s);
}

struct tls_certs *
tls_certs_load(const struct tls_certs_options *o, struct tls_problems *problems)
{
	struct tls_certs *s = NEW(struct tls_certs);
	struct tls_pem p = {0};
	unsigned before = problems->told;
	atomic_init(&s->refs, 1);
	for (unsigned i = 0; i < o->path_count; i++) {
		tls_pem_read(&p, o->paths[i], i, problems);
	}
	if (o->self_signed)
		tls_self_add(&p, problems);
	tls_cert_match(&p, &s->list, problems);
	tls_pem_fini(&p);
	drop_unusable(s, o, problems);
	if (s->list.n == 0 && problems->told == before)
		tls_problems_tell(problems, 0,
				  "there is no certificate in %s; put one there, with its key",
				  o->path_count ? o->paths[0] : "tls.certificates");
	if (o->lenient)
		before = problems->told;
	if (o->client_ca)
		read_client_ca(s, o, problems);
	collect_names(s);
	make_pairs(s, o->now_s);
	judge_times(s, o->now_s, problems);
	if (problems->told == before)
		open_contexts(s, o, problems);
	if (problems->told != before)
		tls_certs_unref(&s);
	return s;
}

struct tls_certs *
tls_certs_ref(struct tls_certs *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void
tls_certs_unref(struct tls_certs **sp)
{
	struct tls_certs *s = *sp;
	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < s->pair_count; i++)
		SSL_CTX_free(s->pairs[i].ctx);
	free(s->pairs);
	free(s->ending);
	free(s->names);
	sk_X509_pop_free(s->client_ca, X509_free);
	tls_cert_list_fini(&s->list);
	free(s);
}

size_t
tls_certs_count(const struct tls_certs *s)
{
	return s->list.n;
}

const struct tls_cert *
tls_certs_ending(const struct tls_certs *s, size_t n)
{
	return n < s->ending_count ? s->ending[n] : NULL;
}

/* ---- asking it ----------------------------------------------------------------------------- */

SSL_CTX *
tls_certs_find(const struct tls_certs *s, const char *name)
{
	const struct pair *p = *name ? find(s, name) : NULL;
	return p ? p->ctx : s->fallback;
}

bool
tls_certs_cover(const struct tls_certs *s, const SSL *ssl, const char *name)
{
	const X509 *used = SSL_get_certificate(ssl);
	for (size_t i = 0; i < s->list.n; i++)
		if (s->list.v[i].leaf == used)
			return tls_cert_covers(&s->list.v[i], name);
	return false;
}
