/* tls.c - reads and writes through OpenSSL. Its queue of errors is the thread's: it is emptied
 * before each call, else the error of one connection would end another. */
#include "proxy/wire/tls.h"

#include "proxy/base/mem.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/tls_bio.h"
#include "proxy/wire/tls_certs.h"
#include "proxy/wire/tls_name.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <xxhash.h>

void
tls_desk_init(struct tls_desk *d)
{
	*d = (struct tls_desk){
		.raw = mem_alloc(TLS_RAW_BYTES),
		.batch = mem_alloc(TLS_BATCH_BYTES),
		.gather = mem_alloc(TLS_RECORD_BYTES),
	};
}

void
tls_desk_fini(struct tls_desk *d)
{
	free(d->raw);
	free(d->batch);
	free(d->gather);
	*d = (struct tls_desk){0};
}

/* ---- life ---------------------------------------------------------------------------------- */

/* These must hold between two calls. O(1). */
static void
check(const struct tls *t)
{
	const struct tls_desk *d = t->desk;
	assert(t->ssl && t->certs && t->fd >= 0);
	assert(t->in_at <= t->in.n && t->out_at <= t->out.n);
	assert(tls_unsent(t) <= TLS_UNSENT_MOST);
	assert(d->raw_of != t || (d->view.n > 0 && t->in_at == t->in.n)); /* in one place */
	assert(d->batch_bytes == 0 && !t->gathers); /* the desk is anybody's */
	assert(t->record == 0 || t->write_broken);
	assert(t->chatter <= TLS_CHATTER_MOST);
}

static void
on_info(const SSL *ssl, int where, int result)
{
	struct tls *t = SSL_get_app_data(ssl);
	(void)result;
	if ((where & SSL_CB_ACCEPT_LOOP) == SSL_CB_ACCEPT_LOOP && t->established &&
	    t->chatter < TLS_CHATTER_MOST)
		t->chatter++;
}

struct tls *
tls_create(struct tls_desk *d, struct tls_certs *certs, int fd)
{
	struct tls *t = NEW(struct tls);
	t->desk = d;
	t->fd = fd;
	t->certs = tls_certs_ref(certs);
	ERR_clear_error();
	t->ssl = SSL_new(tls_certs_find(certs, ""));
	BIO *b = t->ssl ? tls_bio_create(t) : NULL;
	if (!b) {
		tls_destroy(&t);
		return NULL;
	}
	SSL_set_bio(t->ssl, b, b);
	SSL_set_accept_state(t->ssl);
	SSL_set_app_data(t->ssl, t);
	SSL_set_info_callback(t->ssl, on_info);
	return t;
}

void
tls_say_end(struct tls *t)
{
	ERR_clear_error();
	if (t->established && t->end != TLS_BROKEN && !t->write_broken && tls_flush(t) == 1)
		SSL_shutdown(t->ssl);
}

void
tls_destroy(struct tls **tp)
{
	struct tls *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	if (t->desk->raw_of == t)
		t->desk->raw_of = NULL;
	if (t->ssl) /* sessions are the client's to keep: there is no cache to take it out of */
		SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(t->ssl);
	tls_certs_unref(&t->certs);
	buf_fini(&t->in);
	buf_fini(&t->out);
	free(t);
}

/* ---- handshake ----------------------------------------------------------------------------- */

enum tls_step
tls_accept(struct tls *t)
{
	check(t);
	assert(!t->established);
	ERR_clear_error();
	t->drained = false;
	t->gathers = true; /* a flight of messages is one write */
	int r = SSL_accept(t->ssl);
	t->gathers = false;
	if (tls_bio_flush(t) < 0)
		return TLS_FAILED;
	if (r == 1) {
		t->established = true;
		return TLS_DONE;
	}
	int why = SSL_get_error(t->ssl, r);
	return why == SSL_ERROR_WANT_READ ? TLS_WAITS : TLS_FAILED;
}

/* ---- data ---------------------------------------------------------------------------------- */

/* Nothing was read: why. */
static void
note_end(struct tls *t, int r)
{
	switch (SSL_get_error(t->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		break;
	case SSL_ERROR_ZERO_RETURN:
		t->end = TLS_ENDED;
		break;
	default:
		t->end = TLS_BROKEN;
		break;
	}
}

ssize_t
tls_recv(struct tls *t, char *p, size_t max, bool *more)
{
	size_t got = 0;
	check(t);
	bool open = t->end == TLS_OPEN || tls_bio_has_input(t);
	t->drained = false;
	while (open && got < max) {
		ERR_clear_error();
		size_t want = max - got < 1 << 30 ? max - got : 1 << 30;
		int r = SSL_read(t->ssl, p + got, (int)want);
		if (r <= 0) {
			note_end(t, r);
			break;
		}
		got += (size_t)r;
		/* A record that left room is read whole. */
		if (t->drained && (size_t)r < want && !tls_bio_has_input(t))
			break;
	}
	*more = t->end == TLS_OPEN ? got == max || !t->drained : got > 0;
	if (got)
		return (ssize_t)got;
	errno = t->end == TLS_OPEN ? EAGAIN : ECONNRESET;
	return t->end == TLS_ENDED ? 0 : -1;
}

bool
tls_look(struct tls *t)
{
	char byte;
	check(t);
	t->drained = false;
	ERR_clear_error();
	int r = t->end == TLS_OPEN ? SSL_peek(t->ssl, &byte, 1) : 1;
	if (r <= 0)
		note_end(t, r);
	return t->end != TLS_OPEN;
}

/* The next bytes of the pieces from `at` on, as many as a record carries: in place where one piece
 * has them, else gathered. */
static struct str
next_record(struct tls_desk *d, const struct iovec *iov, unsigned n, unsigned *i, size_t *at)
{
	const struct iovec *v = &iov[*i];
	size_t here = v->iov_len - *at, bytes = 0;
	if (here >= TLS_RECORD_BYTES || *i + 1 == n) {
		bytes = here < TLS_RECORD_BYTES ? here : TLS_RECORD_BYTES;
		struct str r = {(const char *)v->iov_base + *at, bytes};
		*at += bytes;
		return r;
	}
	while (*i < n && bytes < TLS_RECORD_BYTES) {
		v = &iov[*i];
		here = v->iov_len - *at;
		here = here < TLS_RECORD_BYTES - bytes ? here : TLS_RECORD_BYTES - bytes;
		memcpy(d->gather + bytes, (const char *)v->iov_base + *at, here);
		bytes += here;
		*at += here;
		if (*at == v->iov_len && ++*i < n)
			*at = 0;
	}
	return (struct str){d->gather, bytes};
}

ssize_t
tls_send(struct tls *t, const struct iovec *iov, unsigned n)
{
	size_t total = 0, done = 0, at = 0;
	unsigned i = 0;
	check(t);
	int flushed = tls_flush(t);
	if (flushed <= 0) {
		errno = flushed ? EPIPE : EAGAIN;
		return -1;
	}
	for (unsigned k = 0; k < n; k++)
		total += iov[k].iov_len;
	for (unsigned records = 0; done < total && !t->write_broken; records++) {
		while (at == iov[i].iov_len) {
			at = 0;
			i++;
			assert(i < n);
		}
		struct str r = next_record(t->desk, iov, n, &i, &at);
		/* Two records go out in one call, if there is more than one. */
		t->gathers = done + r.n < total && records % TLS_BATCH_RECORDS == 0;
		ERR_clear_error();
		int k = SSL_write(t->ssl, r.p, (int)r.n);
		t->gathers = false;
		if (k != (int)r.n) {
			t->write_broken = true;
			break;
		}
		done += r.n;
		if (t->out_at < t->out.n)
			break;
	}
	flushed = tls_bio_flush(t);
	check(t);
	if (flushed < 0) {
		errno = EPIPE;
		return -1;
	}
	assert(done > 0 || total == 0);
	return (ssize_t)done;
}

int
tls_flush(struct tls *t)
{
	if (t->out_at == t->out.n && !t->write_broken)
		return 1;
	return tls_bio_flush(t);
}

/* ---- facts --------------------------------------------------------------------------------- */

void
tls_link(const struct tls *t, struct stream_link *out)
{
	const unsigned char *p = NULL;
	unsigned n = 0;
	SSL_get0_alpn_selected(t->ssl, &p, &n);
	out->resumed = SSL_session_reused(t->ssl);
	out->version = SSL_get_version(t->ssl);
	out->cipher = SSL_get_cipher_name(t->ssl);
	out->name = SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name);
	out->protocol = (struct str){(const char *)p, n};
}

bool
tls_is_in_kernel(const struct tls *t)
{
	return t->in_kernel;
}

bool
tls_speaks(const struct tls *t, struct str protocol)
{
	const unsigned char *p = NULL;
	unsigned n = 0;
	SSL_get0_alpn_selected(t->ssl, &p, &n);
	return str_eq((struct str){(const char *)p, n}, protocol);
}

static uint64_t
id_of(struct str text)
{
	return XXH3_64bits(text.p, text.n) | 1;
}

void
tls_note_asked(struct tls *t, const char *name)
{
	t->asked = *name ? id_of(str_of(name)) : 0;
}

size_t
tls_unsent(const struct tls *t)
{
	return t->out.n - t->out_at;
}

bool
tls_is_for(struct tls *t, struct str host)
{
	char name[TLS_NAME_BYTES];
	uint64_t id = id_of(host);
	if (host.n == 0 || id == t->covered)
		return true;
	size_t n = tls_name_plain(host, name);
	if (n == 0)
		return false;
	if (t->asked != id_of((struct str){name, n}) && !tls_name_is_address(name) &&
	    !tls_certs_cover(t->certs, t->ssl, name))
		return false;
	t->covered = id;
	return true;
}
