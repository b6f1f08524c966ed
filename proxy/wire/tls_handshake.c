/* tls_handshake.c - who comes in by TLS, who does not, and why. */
#include "proxy/wire/tls_handshake.h"

#include "proxy/wire/clients.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/h1.h"
#include "proxy/wire/h2.h"
#include "proxy/wire/tls.h"
#include "proxy/wire/tls_server.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

static void
count(struct conn *c, enum metric m)
{
	metrics_add(c->wire->o.metrics, m, 1);
}

/* ---- how it ends --------------------------------------------------------------------------- */

/* The first error that OpenSSL noted, as a counter. */
static enum metric
kind_of_failure(const struct conn *c, unsigned long error)
{
	if (c->tls->end != TLS_OPEN && !error)
		return METRIC_TLS_LEFT;
	switch (ERR_GET_REASON(error)) {
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
		return METRIC_TLS_PLAIN;
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_NO_SUITABLE_KEY_SHARE:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case SSL_R_VERSION_TOO_LOW:
	case SSL_R_NO_APPLICATION_PROTOCOL:
		return METRIC_TLS_NOTHING_SHARED;
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
		return METRIC_TLS_CERTIFICATE;
	default:
		return METRIC_TLS_PROTOCOL;
	}
}

/* It did not know that TLS is spoken here: told in its own words, as long as it listens. */
static void
answer_plain(struct conn *c)
{
	conn_say(c, STR("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
			"Content-Length: 32\r\nConnection: close\r\n\r\n"
			"Ask by https:// here, not http.\n"));
	conn_linger(c);
}

static void
fail(struct conn *c)
{
	unsigned long error = ERR_peek_error();
	enum metric kind = kind_of_failure(c, error);
	ERR_clear_error();
	count(c, kind);
	conn_end_handshake(c);
	if (kind == METRIC_TLS_PLAIN)
		answer_plain(c);
	else
		conn_free(c);
}

/* ---- how it goes on ------------------------------------------------------------------------ */

static void
count_success(struct conn *c)
{
	const SSL *ssl = c->tls->ssl;
	count(c, METRIC_TLS_HANDSHAKES);
	if (SSL_session_reused(ssl))
		count(c, METRIC_TLS_RESUMED);
	count(c, SSL_version(ssl) == TLS1_3_VERSION ? METRIC_TLS_1_3 : METRIC_TLS_1_2);
	if (tls_speaks(c->tls, STR("h2")))
		count(c, METRIC_TLS_H2);
	if (tls_is_in_kernel(c->tls))
		count(c, METRIC_TLS_KERNEL);
}

static void
succeed(struct conn *c)
{
	count_success(c);
	conn_end_handshake(c);
	c->front = tls_speaks(c->tls, STR("h2")) ? &h2_front : &h1_front;
	c->readable = true; /* its first request may have come along */
	conn_wait(c, WAIT_IDLE);
	c->front->drive(c);
}

static void
drive(struct conn *c)
{
	if (c->waiting == WAIT_LINGER) {
		conn_linger(c);
		return;
	}
	switch (tls_accept(c->tls)) {
	case TLS_DONE:
		succeed(c);
		break;
	case TLS_WAITS:
		break;
	case TLS_FAILED:
		fail(c);
		break;
	}
}

static void
on_timeout(struct conn *c)
{
	if (c->waiting == WAIT_HANDSHAKE)
		count(c, METRIC_TLS_TIMEOUT);
	conn_free(c);
}

/* Input is looked at once more; a client that is not in by now is not waited for. */
static void
drain(struct conn *c)
{
	if (c->waiting != WAIT_LINGER && tls_accept(c->tls) == TLS_DONE)
		succeed(c);
	else
		conn_free(c);
}

static void
check(const struct conn *c)
{
	assert(!c->session && c->tls);
	assert(c->waiting == WAIT_HANDSHAKE || c->waiting == WAIT_LINGER);
}

const struct front tls_handshake_front = {
	.drive = drive,
	.timeout = on_timeout,
	.is_slow = front_is_slow_early,
	.again = front_again_early,
	.close = conn_free,
	.drain = drain,
	.check = check,
};

/* ---- how it begins ------------------------------------------------------------------------- */

/* At the limit of all: the handshake of this worker that takes the longest makes room. */
static enum clients_entry
replace(struct conn *c, const struct sockaddr *peer)
{
	struct conn *oldest = c->wire->waits[WAIT_HANDSHAKE].first;
	if (!oldest)
		return CLIENTS_FULL;
	enum clients_entry in = clients_enter_full(tls_server_handshakes(c->listener->tls), peer);
	if (in == CLIENTS_IN) {
		count(oldest, METRIC_TLS_REFUSED);
		conn_free(oldest);
	}
	return in;
}

bool
tls_handshake_begin(struct conn *c)
{
	struct tls_server *s = c->listener->tls;
	struct sockaddr_storage peer;
	conn_peer_address(c, &peer);
	enum clients_entry in =
		clients_enter(tls_server_handshakes(s), (const struct sockaddr *)&peer);
	if (in == CLIENTS_FULL)
		in = replace(c, (const struct sockaddr *)&peer);
	c->shaking = in == CLIENTS_IN;
	struct tls_certs *certs = tls_server_certs(s);
	bool begun = c->shaking && conn_encrypt(c, certs);
	tls_certs_unref(&certs);
	if (!begun) {
		count(c, METRIC_TLS_REFUSED);
		conn_free(c);
		return false;
	}
	conn_wait(c, WAIT_HANDSHAKE);
	return true;
}
