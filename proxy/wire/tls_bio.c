/* tls_bio.c - few system calls, no record written twice. */
#include "proxy/wire/tls_bio.h"

#include "proxy/wire/tls_kernel.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* ---- in ------------------------------------------------------------------------------------ */

/* The worker's buffer is another's from now on. */
static void
keep_input(struct tls_desk *d)
{
	struct tls *t = d->raw_of;
	if (t && d->view.n) {
		assert(t->in.n == t->in_at);
		t->in.n = t->in_at = 0;
		buf_add_str(&t->in, d->view);
	}
	d->raw_of = NULL;
	d->view = (struct str){0};
}

bool
tls_bio_has_input(const struct tls *t)
{
	return t->desk->raw_of == t || t->in_at < t->in.n;
}

/* Bytes that are here: at most max, taken away. */
static size_t
take(struct tls *t, char *p, size_t max)
{
	struct tls_desk *d = t->desk;
	if (d->raw_of == t) {
		size_t n = max < d->view.n ? max : d->view.n;
		memcpy(p, d->view.p, n);
		d->view = str_from(d->view, n);
		if (d->view.n == 0)
			d->raw_of = NULL;
		return n;
	}
	size_t n = max < t->in.n - t->in_at ? max : t->in.n - t->in_at;
	if (n)
		memcpy(p, t->in.p + t->in_at, n);
	t->in_at += n;
	if (t->in_at == t->in.n) {
		buf_fini(&t->in);
		t->in_at = 0;
	}
	return n;
}

/* One recv into the worker's buffer; false: nothing came. */
static bool
receive(struct tls *t)
{
	struct tls_desk *d = t->desk;
	if (t->drained || t->end != TLS_OPEN)
		return false;
	keep_input(d);
	for (;;) {
		ssize_t n = recv(t->fd, d->raw, TLS_RAW_BYTES, 0);
		if (n > 0) {
			t->drained = n < TLS_RAW_BYTES;
			d->raw_of = t;
			d->view = (struct str){d->raw, (size_t)n};
			return true;
		}
		if (n < 0 && errno == EINTR)
			continue;
		t->drained = true;
		if (n == 0)
			t->end = TLS_ENDED;
		else if (errno != EAGAIN && errno != EWOULDBLOCK)
			t->end = TLS_BROKEN;
		return false;
	}
}

static int
on_read(BIO *b, char *p, int max)
{
	struct tls *t = BIO_get_data(b);
	BIO_clear_retry_flags(b);
	if (t->chatter >= TLS_CHATTER_MOST) {
		t->end = TLS_BROKEN;
		return -1;
	}
	if (!tls_bio_has_input(t) && !receive(t)) {
		if (t->end == TLS_OPEN)
			BIO_set_retry_read(b);
		return t->end == TLS_ENDED ? 0 : -1;
	}
	return (int)take(t, p, (size_t)max);
}

/* ---- out ----------------------------------------------------------------------------------- */

/* Sends what the socket takes: how much that was. */
static size_t
send_some(struct tls *t, const char *p, size_t n)
{
	size_t sent = 0;
	while (sent < n && !t->write_broken) {
		ssize_t k = send(t->fd, p + sent, n - sent, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (k < 0)
			t->write_broken = true;
		else
			sent += (size_t)k;
		if (k >= 0 && sent < n)
			break;
	}
	return sent;
}

/* Nothing overtakes what is kept. */
static void
send_or_keep(struct tls *t, const char *p, size_t n)
{
	size_t sent = t->out_at < t->out.n ? 0 : send_some(t, p, n);
	if (t->out.n - t->out_at + (n - sent) > TLS_UNSENT_MOST)
		t->write_broken = true;
	if (!t->write_broken)
		buf_add(&t->out, p + sent, n - sent);
}

static void
send_batch(struct tls *t)
{
	struct tls_desk *d = t->desk;
	size_t n = d->batch_bytes;
	d->batch_bytes = 0;
	if (n)
		send_or_keep(t, d->batch, n);
}

int
tls_bio_flush(struct tls *t)
{
	if (t->desk->batch_bytes)
		send_batch(t);
	if (t->out_at < t->out.n && !t->write_broken) {
		t->out_at += send_some(t, t->out.p + t->out_at, t->out.n - t->out_at);
		if (t->out_at == t->out.n) {
			buf_fini(&t->out);
			t->out_at = 0;
		}
	}
	return t->write_broken ? -1 : t->out_at == t->out.n;
}

/* ---- out, encrypted by the socket ----------------------------------------------------------- */

/* OpenSSL's words to a BIO for it, which openssl/bio.h has in a comment. */
enum { SET_KERNEL = 72, RECORD_BEGINS = 74, RECORD_ENDS = 75 };

/* From here on all that is sent is plain. Before it all must be out that is not. */
static bool
begin_in_kernel(struct tls *t, bool sends, const void *info)
{
	if (!sends || !info || t->in_kernel || tls_bio_flush(t) != 1)
		return false;
	t->in_kernel = tls_kernel_start(t->fd, info);
	return t->in_kernel;
}

/* One that carries no data does not wait, for nothing that is kept says of which kind it is: where
 * the socket is full the connection is over. So it is where keys are renewed, which kernels before
 * 6.14 do not know: it would go on with the old ones. */
static int
send_record(struct tls *t, const char *p, int n)
{
	bool renews = t->record == SSL3_RT_HANDSHAKE && n > 0 && p[0] == SSL3_MT_KEY_UPDATE;
	if (renews || tls_bio_flush(t) != 1 ||
	    !tls_kernel_send_record(t->fd, t->record, p, (size_t)n))
		t->write_broken = true;
	t->record = 0;
	return t->write_broken ? -1 : n;
}

/* ---- the method ---------------------------------------------------------------------------- */

static int
on_write(BIO *b, const char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	struct tls_desk *d = t->desk;
	BIO_clear_retry_flags(b);
	if (t->write_broken)
		return -1;
	if (t->record)
		return send_record(t, p, n);
	if (!t->gathers && d->batch_bytes == 0) {
		send_or_keep(t, p, (size_t)n);
		return t->write_broken ? -1 : n;
	}
	if (d->batch_bytes + (size_t)n > TLS_BATCH_BYTES)
		send_batch(t);
	if ((size_t)n > TLS_BATCH_BYTES) {
		send_or_keep(t, p, (size_t)n);
	} else {
		memcpy(d->batch + d->batch_bytes, p, (size_t)n);
		d->batch_bytes += (size_t)n;
	}
	if (!t->gathers)
		send_batch(t);
	return t->write_broken ? -1 : n;
}

static long
on_control(BIO *b, int what, long n, void *p)
{
	struct tls *t = BIO_get_data(b);
	switch (what) {
	case BIO_CTRL_FLUSH:
	case BIO_CTRL_DUP:
		return 1;
	case SET_KERNEL:
		return begin_in_kernel(t, n != 0, p);
	case BIO_CTRL_GET_KTLS_SEND:
		return t && t->in_kernel;
	case RECORD_BEGINS:
		t->record = (uint8_t)n;
		return 0;
	case RECORD_ENDS:
		t->record = 0;
		return 0;
	default:
		return 0;
	}
}

static BIO_METHOD *method;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_method(void)
{
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "twice socket");
	if (!method)
		return;
	BIO_meth_set_read(method, on_read);
	BIO_meth_set_write(method, on_write);
	BIO_meth_set_ctrl(method, on_control);
}

BIO *
tls_bio_create(struct tls *t)
{
	pthread_once(&once, make_method);
	BIO *b = method ? BIO_new(method) : NULL;
	if (b) {
		BIO_set_data(b, t);
		BIO_set_init(b, 1);
	}
	return b;
}
