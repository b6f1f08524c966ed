/* dial.c - a libcurl multi handle on the event loop, for as long as it takes to connect. */
#include "proxy/origin/dial.h"

#include "proxy/base/mem.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <unistd.h>

struct dial {
	const struct origin *origin;
	CURLM *multi;
	CURL *easy;
	struct event_base *base;
	struct event *timer;
	dial_done_fn *done;
	void *ctx;
	int given; /* the socket that was handed out and is not to be closed here; -1: none */
	bool farewell;
	SSL *ssl; /* libcurl's */
	char error[CURL_ERROR_SIZE];
};

/* -- the event loop ---------------------------------------------------------------------------- */

/* The last thing done by whoever calls it: d may be gone afterwards. */
static void
turn(struct dial *d, curl_socket_t fd, int bits)
{
	int running, left;
	curl_multi_socket_action(d->multi, fd, bits, &running);
	CURLMsg *m = curl_multi_info_read(d->multi, &left);
	if (!m)
		return;
	CURLcode code = m->data.result;
	curl_socket_t open = CURL_SOCKET_BAD;
	if (code == CURLE_OK)
		curl_easy_getinfo(d->easy, CURLINFO_ACTIVESOCKET, &open);
	if (!d->origin->tls)
		d->given = open;
	d->done(d->ctx, code, open, d->error[0] ? d->error : curl_easy_strerror(code));
}

static void
on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	turn(arg, fd,
	     (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	turn(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
on_curl_timer(CURLM *multi, long ms, void *arg)
{
	struct dial *d = arg;
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	(void)multi;
	if (ms < 0)
		evtimer_del(d->timer);
	else
		evtimer_add(d->timer, &tv);
	return 0;
}

static int
on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct dial *d = arg;
	struct event *e = known;
	(void)easy;
	if (e)
		event_free(e);
	e = NULL;
	if (what != CURL_POLL_REMOVE) {
		short events = EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) |
			       (what & CURL_POLL_OUT ? EV_WRITE : 0);
		e = event_new(d->base, fd, events, on_socket_ready, d);
		event_add(e, NULL);
	}
	curl_multi_assign(d->multi, fd, e);
	return 0;
}

static int
on_curl_close(void *arg, curl_socket_t fd)
{
	struct dial *d = arg;
	return fd == d->given ? 0 : close(fd);
}

/* -- TLS --------------------------------------------------------------------------------------- */

static void
on_tls_event(const SSL *ssl, int where, int alert)
{
	struct dial *d = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	d->ssl = (SSL *)(uintptr_t)ssl;
	if (where == SSL_CB_READ_ALERT && (alert & 0xff) == SSL3_AD_CLOSE_NOTIFY)
		d->farewell = true;
}

/* Certificates come from what the origin has read: libcurl would read the file again for
 * every connection. And libcurl does not tell a closure alert from an end without one. */
static CURLcode
on_tls_context(CURL *easy, void *ctx, void *arg)
{
	struct dial *d = arg;
	(void)easy;
	origin_tls_use(&d->origin->files, ctx);
	SSL_CTX_set_app_data((SSL_CTX *)ctx, d);
	SSL_CTX_set_info_callback(ctx, on_tls_event);
	return CURLE_OK;
}

ssize_t
dial_send(struct dial *d, const char *p, size_t n)
{
	size_t sent = 0;
	CURLcode r = curl_easy_send(d->easy, p, n, &sent);
	if (r == CURLE_OK)
		return (ssize_t)sent;
	errno = r == CURLE_AGAIN ? EAGAIN : EPIPE;
	return -1;
}

ssize_t
dial_recv(struct dial *d, char *p, size_t n)
{
	size_t got = 0;
	CURLcode r = curl_easy_recv(d->easy, p, n, &got);
	if (r == CURLE_OK)
		return (ssize_t)got;
	errno = r == CURLE_AGAIN ? EAGAIN : ECONNRESET;
	return -1;
}

void
dial_end(struct dial *d)
{
	ERR_clear_error();
	if (d->ssl)
		SSL_shutdown(d->ssl);
}

bool
dial_farewell(const struct dial *d)
{
	return d->farewell;
}

/* -- life -------------------------------------------------------------------------------------- */

static void
set_options(struct dial *d, CURLSH *share)
{
	CURL *e = d->easy;
	const struct origin *o = d->origin;
	curl_easy_setopt(e, CURLOPT_CURLU, o->place);
	curl_easy_setopt(e, CURLOPT_CONNECT_TO, o->connect_to);
	curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->socket_path);
	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_SHARE, share);
	curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, d->error);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_curl_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, d);
	curl_easy_setopt(e, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, d);
}

struct dial *
dial_create(struct event_base *base, const struct origin *o, CURLSH *share, dial_done_fn *done,
	    void *ctx)
{
	struct dial *d = NEW(struct dial);
	*d = (struct dial){.origin = o, .base = base, .done = done, .ctx = ctx, .given = -1};
	d->timer = evtimer_new(base, on_timer, d);
	d->multi = curl_multi_init();
	d->easy = curl_easy_init();
	assert(d->timer && d->multi && d->easy);
	set_options(d, share);
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETDATA, d);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERDATA, d);
	curl_multi_add_handle(d->multi, d->easy);
	return d;
}

void
dial_destroy(struct dial **pd)
{
	struct dial *d = *pd;
	if (!d)
		return;
	curl_multi_remove_handle(d->multi, d->easy);
	curl_multi_cleanup(d->multi);
	curl_easy_cleanup(d->easy);
	event_free(d->timer);
	free(d);
	*pd = NULL;
}
