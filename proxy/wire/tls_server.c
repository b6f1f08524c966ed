/* tls_server.c - makes certificates and keys into what handshakes use, all of it or nothing. */
#include "proxy/wire/tls_server.h"

#include "proxy/base/buf.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/tls.h"
#include "proxy/wire/tls_name.h"
#include "proxy/wire/tls_resume.h"
#include "proxy/wire/tls_tickets.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECRET_MOST = 4096 };

struct tls_server {
	pthread_mutex_t lock;
	struct tls_certs *certs; /* under lock */
	struct tls_tickets *tickets;
	struct clients *handshakes;
	_Atomic bool strict_host;
	bool h2;
};

/* ---- what OpenSSL asks --------------------------------------------------------------------- */

/* Before anything of the handshake is decided: the certificates for the name that is asked for. In
 * the callback for the name alone it would be too late for a session of another certificate. */
static int
on_hello(SSL *ssl, int *alert, void *arg)
{
	struct tls *t = SSL_get_app_data(ssl);
	const unsigned char *p;
	size_t n;
	char name[TLS_NAME_BYTES] = "";
	(void)alert;
	(void)arg;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n)) {
		struct str host = tls_name_of_hello(p, n);
		if (tls_name_plain(host, name) == 0)
			name[0] = '\0';
	}
	tls_note_asked(t, name);
	SSL_CTX *ctx = tls_certs_find(t->certs, name);
	if (ctx != SSL_get_SSL_CTX(ssl))
		SSL_set_SSL_CTX(ssl, ctx);
	return SSL_CLIENT_HELLO_SUCCESS;
}

/* RFC 7301 3.2: a client that offers only what is not spoken here is refused, so that nobody's mail
 * is taken for a request. */
static int
on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_bytes, const unsigned char *in,
	unsigned in_bytes, void *arg)
{
	static const unsigned char spoken[] = "\x02h2\x08http/1.1";
	const struct tls_server *s = arg;
	unsigned skipped = s->h2 ? 0 : 3;
	unsigned char *chosen = NULL;
	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_bytes, spoken + skipped,
				  (unsigned)sizeof spoken - 1 - skipped, in,
				  in_bytes) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static void
prepare(SSL_CTX *ctx, void *arg)
{
	struct tls_server *s = arg;
	tls_resume_use(s->tickets, ctx);
	SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, s);
}

/* ---- files --------------------------------------------------------------------------------- */

/* The secret of ticket keys; -1: told. */
static int
read_secret(const struct tls_server_options *o, struct buf *out, struct tls_problems *problems)
{
	unsigned of = o->certs.path_count + 1;
	if (!o->ticket_key)
		return 0;
	int fd = open(o->ticket_key, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf_room(out, SECRET_MOST), SECRET_MOST) : -1;
	int error = errno;
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		tls_problems_tell(problems, of, "cannot read %s: %s", o->ticket_key,
				  strerror(error));
		return -1;
	}
	buf_added(out, (size_t)n);
	if (out->n >= TLS_SECRET_LEAST)
		return 0;
	tls_problems_tell(problems, of,
			  "%s holds %zd bytes, fewer than %d; make it by openssl rand -out %s 48",
			  o->ticket_key, n, TLS_SECRET_LEAST, o->ticket_key);
	return -1;
}

static void
forget(struct buf *secret)
{
	if (secret->p)
		OPENSSL_cleanse(secret->p, secret->cap);
	buf_fini(secret);
}

int
tls_server_reload(struct tls_server *s, const struct tls_server_options *o,
		  struct tls_problems *problems)
{
	struct tls_certs_options co = o->certs;
	struct buf secret = {0};
	co.now_s = now_s();
	co.prepare = prepare;
	co.arg = s;
	struct tls_certs *certs = tls_certs_load(&co, problems);
	if (read_secret(o, &secret, problems) < 0 && !co.lenient)
		tls_certs_unref(&certs);
	if (!certs) {
		forget(&secret);
		return -1;
	}
	tls_tickets_set_secret(s->tickets, buf_str(&secret));
	forget(&secret);
	pthread_mutex_lock(&s->lock);
	struct tls_certs *old = s->certs;
	s->certs = certs;
	pthread_mutex_unlock(&s->lock);
	tls_certs_unref(&old);
	atomic_store_explicit(&s->strict_host, o->strict_host, memory_order_relaxed);
	clients_settle(s->handshakes, o->handshakes, o->handshakes_per_address);
	return 0;
}

size_t
tls_server_try(const struct tls_server_options *o, struct tls_problems *problems)
{
	struct tls_certs_options co = o->certs;
	struct buf secret = {0};
	co.now_s = now_s();
	co.lenient = true;
	struct tls_certs *certs = tls_certs_load(&co, problems);
	size_t usable = certs ? tls_certs_count(certs) : 0;
	read_secret(o, &secret, problems);
	forget(&secret);
	tls_certs_unref(&certs);
	return usable;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct tls_server *
tls_server_create(const struct tls_server_options *o, struct tls_problems *problems)
{
	struct tls_server *s = NEW(struct tls_server);
	pthread_mutex_init(&s->lock, NULL);
	s->h2 = o->h2;
	s->tickets = tls_tickets_create(o->ticket_period_s);
	s->handshakes = clients_create(&(struct clients_limits){
		.most = o->handshakes, .per_address = o->handshakes_per_address});
	if (tls_server_reload(s, o, problems))
		tls_server_destroy(&s);
	return s;
}

void
tls_server_destroy(struct tls_server **sp)
{
	struct tls_server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	tls_certs_unref(&s->certs);
	tls_tickets_destroy(&s->tickets);
	clients_destroy(&s->handshakes);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct tls_certs *
tls_server_certs(struct tls_server *s)
{
	pthread_mutex_lock(&s->lock);
	struct tls_certs *certs = tls_certs_ref(s->certs);
	pthread_mutex_unlock(&s->lock);
	return certs;
}

struct clients *
tls_server_handshakes(struct tls_server *s)
{
	return s->handshakes;
}

bool
tls_server_is_strict(const struct tls_server *s)
{
	return atomic_load_explicit(&s->strict_host, memory_order_relaxed);
}

void
tls_server_save_tickets(struct tls_server *s, struct buf *out)
{
	tls_tickets_save(s->tickets, out);
}

bool
tls_server_load_tickets(struct tls_server *s, struct str bytes)
{
	return tls_tickets_load(s->tickets, bytes);
}
